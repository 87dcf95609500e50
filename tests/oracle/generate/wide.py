"""The wide family: every block, command, flag and kind of file, mostly valid."""
from .wide_commands import WideCommands

# The probabilities of features that are more or less frequent in the wide family than in the first family.
SHARES = {"ephemeral": 0.3, "override": 0.2, "json": 0.25, "wrong": 0.03, "provider_for_each": 0.25, "check": 0.35, "modules": 0.55, "enabled": 0.2}
EMPTY = 0.04  # sometimes state commands run first in a directory without a state


class Wide(WideCommands):
    """A scenario of the wide family."""

    def __init__(self, seed):
        super().__init__(seed)
        self.placed, self.breakable, self.write_only_block = [], False, None
        if not self.lab and self.chance(0.5):
            self.lab = True
        for feature, share in SHARES.items():
            self.features[feature] = self.chance(share)

    def build(self):
        """Builds the usual configuration and the extras."""
        super().build()
        self.enrich()

    def begin(self):
        """Creates the objects that import blocks name. Sometimes commands run before any state exists."""
        super().begin()
        self.steps[1:1] = self.placed
        if self.chance(EMPTY):
            self.steps[1:1] = [{"run": ["state", "list"]}, {"run": ["show"]}, {"run": ["output"]}, {"run": ["workspace", "list"]}]
        if self.chance(EMPTY):
            self.steps[0:0] = [{"run": ["validate"]}, {"run": ["plan"]}, {"run": ["output"]}]
        if self.chance(0.15):
            self.steps.append({"run": ["apply", "-no-color", "-input=false", "-auto-approve", *self.flags], "raw": True})
            if self.chance(0.5):
                self.run("state", "pull")

    def scenario(self):
        """The case, with a title that names the wide family."""
        case = super().scenario()
        case["title"] = case["title"].replace("generated", "wide", 1)
        return case
