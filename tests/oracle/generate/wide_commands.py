"""Commands and flags of the wide family."""
import json
import re

from .configuration import S, Argument, Block, Resource
from .wide_files import WideFiles

QUESTIONS = ['1 + 2', '"a" == "a"', 'upper("x")', 'var.{v}', 'local.{l}', '{r}', 'module.{m}', 'type({r})', '[for x in [1, 2] : x * 2]', '{{ a = 1, "b c" = [true, null] }}',
             'sensitive("x")', 'tolist([])', 'toset(["b", "a"])', 'jsonencode({{ a = [1, null] }})', '<<EOT\nline\nEOT', 'terraform.workspace', 'path.module', 'null',
             '1/3', 'tomap({{ k = "v" }})', '"multi\\nline"', 'try(nope.x, "fallback")', 'undeclared.thing', 'var.nothing', 'format("%05.1f", 3.14159)', 'cidrsubnet("10.0.0.0/8", 8, 2)',
             'regexall("[a-z]+", "ab 12 cd")', 'setproduct(["a"], [1, 2])', 'timeadd("2024-01-01T00:00:00Z", "1h")', 'can(tonumber("x"))', '"${{1 + 1}} %{{ if true }}yes%{{ endif }}"',
             'base64encode("é")', 'flatten([[1], [2, [3]]])', '1 +', 'length("x', 'issensitive(sensitive(1))', 'one([])', 'coalescelist([], ["x"])', 'substr("hello", 1, 3)']
PLAN_FLAGS = ["-parallelism=1", "-parallelism=4", "-lock=false", "-lock-timeout=1s", "-compact-warnings", "-concise", "-consolidate-warnings=false",
              "-consolidate-errors", "-refresh=true", "-deprecation=module:none", "-deprecation=module:local", "-show-sensitive", "-no-color"]


class WideCommands(WideFiles):
    """The commands of a user, with every command."""

    def some_flags(self):
        """Flags that do not change the result."""
        return [self.pick(PLAN_FLAGS)] if self.chance(0.3) else []

    def plan(self, *flags, out=None):
        """Adds a plan with more flags than usual. Some plans are read as text."""
        if not flags and out is None and self.chance(0.2):
            self.steps.append({"run": ["plan", "-no-color", "-input=false", *self.flags], "raw": True})
            return None
        return super().plan(*flags, *self.some_flags(), out=out)

    def root_outputs(self):
        """The names of the outputs of the root module."""
        return [b.labels[0] for b in self.root.blocks("output")]

    # acts

    def act_show_all(self, act):
        """Runs every command that shows the state."""
        for _ in range(self.random.randint(1, 3)):
            c = self.random.randrange(8)
            a = self.address(instance=True, managed=self.chance(0.8))
            if c == 0:
                self.run("show")
            elif c == 1:
                self.run("show", "-json")
            elif c == 2 and a:
                self.run("state", "show", *(["-show-sensitive"] if self.chance(0.2) else []), a)
            elif c == 3:
                self.run("state", "list", *([f"-id={self.pick(['lab-000000000000', 'nothing'])}"] if self.chance(0.2) else []),
                         *([re.sub(r"\[[^\]]*\]$", "", a)] if a and self.chance(0.5) else []))
            elif c == 4:
                self.run("state", "pull")
            elif c == 5:
                p = self.plan(out=True)
                self.run("show", *(["-json"] if self.chance(0.5) else []), p)
            elif c == 6:
                self.run("show", "-no-color", "terraform.tfstate")
            else:
                self.run("show", *(["-show-sensitive"] if self.chance(0.5) else []))

    def act_output_all(self, act):
        """Runs every command that shows outputs."""
        names = self.root_outputs()
        for _ in range(self.random.randint(1, 4)):
            name = self.pick(names) if names and self.chance(0.9) else "nothing_there"
            self.run("output", *self.pick([[], ["-json"], [name], ["-json", name], ["-raw", name], ["-raw", name], ["-show-sensitive"], ["-show-sensitive", name]]))

    def act_questions(self, act):
        """Evaluates expressions over all objects in the console."""
        r = self.address(managed=self.chance(0.7), instance=self.chance(0.6)) or "terraform_data.none"
        names = {"v": (self.root.variables or [("none",)])[0][0], "l": next((i.name for b in self.root.blocks("locals") for i in b.items), "none"),
                 "m": self.root.calls[0][0] if self.root.calls else "none", "r": r if not r.startswith("module.") else f"module.{self.root.calls[0][0]}"}
        for q in self.random.sample(QUESTIONS, self.random.randint(2, 4)):
            self.steps.append({"run": ["console", *self.flags], "stdin": q.format(**names) + "\n"})

    def act_state_edit(self, act):
        """Runs commands that edit the state."""
        a, b = self.address(instance=True), self.address(instance=True)
        c = self.random.randrange(9)
        if c == 0 and a:
            self.run("state", "rm", *(["-dry-run"] if self.chance(0.4) else []), a, *([b] if b and b != a and self.chance(0.4) else []))
        elif c == 1 and a:
            base = re.sub(r"\[[^\]]*\]$", "", a)
            to = self.pick([base.rsplit(".", 1)[0] + ".elsewhere", base + '["k"]', base + "[3]", "module.made." + base.split("module.")[-1].split(".", 1)[-1]
                            if base.startswith("module.") else "module.made." + base])
            self.run("state", "mv", *(["-dry-run"] if self.chance(0.3) else []), a, to)
        elif c == 2 and self.root.calls:
            self.run("state", "mv", f"module.{self.pick(self.root.calls)[0]}", "module.taken")
        elif c == 3 and self.root.calls:
            self.run("state", "rm", f"module.{self.pick(self.root.calls)[0]}")
        elif c == 4 and self.lab:
            self.run("state", "replace-provider", "-auto-approve", self.pick(["weft.test/lab/lab", "weft.test/lab/none"]), self.pick(["weft.test/lab/oldlab", "weft.test/lab/lab"]))
            self.run("state", "pull")
            if self.chance(0.5):
                self.run("state", "replace-provider", "-auto-approve", "weft.test/lab/oldlab", "weft.test/lab/lab")
        elif c == 5:
            self.run("state", "push", *(["-force"] if self.chance(0.6) else []), "terraform.tfstate.backup")
            self.run("state", "pull")
        elif c == 6:
            self.run("state", "rm", self.pick(["terraform_data.nothing", "module.nothing", "nonsense", 'lab_thing.x["none"]']))
        elif c == 7 and a:
            self.run(self.pick(["taint", "untaint"]), *(["-allow-missing"] if self.chance(0.5) else []), self.pick([a, "terraform_data.nothing"]))
        else:
            self.steps.append({"write": {"pushed.tfstate": json.dumps(self.small_state(), indent=2) + "\n"}})
            self.run("state", "push", *(["-force"] if self.chance(0.7) else []), "pushed.tfstate")
            self.run("state", "list")
        self.notes.append("state edit")
        self.plan()

    def small_state(self):
        """Replaces the state with one that is written by hand."""
        object_ = {"mode": "managed", "type": "terraform_data", "name": "pushed", "provider": 'provider["terraform.io/builtin/terraform"]',
                   "instances": [{"schema_version": 0, "attributes": {"id": "by-hand", "input": None, "output": None, "triggers_replace": None}, "sensitive_attributes": []}]}
        return {"version": 4, "terraform_version": "1.12.6", "serial": self.random.choice([1, 500]), "lineage": self.pick(["", "7d7a3a52-0000-4000-8000-000000000001"]),
                "outputs": {"pushed": {"value": "yes", "type": "string"}}, "resources": [object_], "check_results": None}

    def act_spaces(self, act):
        """Uses several workspaces."""
        self.spaces += 1
        name = f"space{self.spaces}"
        self.run("workspace", "show")
        self.run("workspace", *self.pick([["new", name], ["select", "-or-create", name], ["select", "-or-create=true", name]]))
        if self.chance(0.6):
            self.apply()
        self.run("workspace", "list")
        c = self.random.randrange(4)
        if c == 0:
            self.run("workspace", "delete", name)
        elif c == 1:
            self.run("workspace", "new", name)
        elif c == 2:
            self.run("workspace", "select", "missing")
        self.run("workspace", "select", "default")
        self.run("workspace", "delete", *(["-force"] if self.chance(0.5) else []), name)
        self.run("workspace", "list")
        self.plan()
        self.notes.append("workspaces")

    def act_files_of_targets(self, act):
        """Reads targets from a file."""
        a, b = self.address(managed=False), self.address(managed=False)
        if not a:
            return
        word = self.pick(["target", "exclude"])
        self.steps.append({"write": {"chosen.txt": f"# chosen\n{a}\n" + (f"{b}\n" if b and self.chance(0.4) else "")}})
        self.apply(f"-{word}-file=chosen.txt")
        self.plan()
        self.notes.append(word + " file")

    def act_two_targets(self, act):
        """Uses several targets or exclusions, with a change."""
        word = self.pick(["target", "exclude", "replace"])
        found = {a for a in (self.address(managed=word == "replace", instance=word == "replace") for _ in range(2)) if a}
        if not found:
            return
        if self.chance(0.5) and self.evolve():
            self.overlay()
        self.settle_pending()
        self.apply(*sorted(f"-{word}={a}" for a in found))
        self.plan()
        self.notes.append(f"several {word}")

    def act_destroy_some(self, act):
        """Destroys a part."""
        a = self.address(managed=False)
        if a:
            self.run("destroy", *self.flags, self.pick(["-target=", "-exclude="]) + a)
            self.plan()
            self.notes.append("destroy some")

    def act_stale(self, act):
        """Saves a plan, changes something, and applies the plan."""
        p = self.plan(out=True)
        if self.evolve() and self.overlay():
            self.settle_pending()
            self.run("init")
            self.run("apply", *self.flags)
        self.run("apply", p)
        self.notes.append("stale")

    def act_state_files(self, act):
        """Names state files with options."""
        c = self.random.randrange(4)
        if c == 0:
            self.run("apply", *self.flags, "-state=elsewhere.tfstate")
            self.run("output", "-state=elsewhere.tfstate", "-json")
            self.run("state", "list", "-state=elsewhere.tfstate")
        elif c == 1:
            self.run("apply", *self.flags, "-backup=kept.tfstate")
            self.steps.append({"list": "*.tfstate*"})
        elif c == 2:
            self.run("apply", *self.flags, "-state-out=result.tfstate")
            self.steps.append({"list": "*.tfstate*"})
        else:
            self.run("show", "terraform.tfstate.backup")
        self.notes.append("state files")

    def act_lost_state(self, act):
        """Loses the state, or adds an object that the configuration lacks."""
        if self.chance(0.4):
            self.steps.append({"delete": ["terraform.tfstate"]})
        else:
            self.steps.append({"edit": {"terraform.tfstate": {"outputs": {"stray": {"value": "x", "type": "string"}}}}})
        self.plan()
        self.apply()
        self.notes.append("lost state")

    def act_look(self, act):
        """Runs commands that only read."""
        for _ in range(self.random.randint(1, 3)):
            c = self.random.randrange(9)
            if c == 0:
                self.run("providers")
            elif c == 1:
                self.run("graph", *self.pick([[], ["-type=plan"], ["-type=apply"], ["-type=plan-destroy"]]))
            elif c == 2:
                self.run("get")
            elif c == 3:
                self.run("fmt", *self.pick([["-check"], ["-diff", "-check"], ["-recursive", "-check"]]))
            elif c == 4:
                self.run("validate")
            elif c == 5:
                self.run("init", *self.pick([["-upgrade"], ["-reconfigure"], ["-backend=false"], ["-lockfile=readonly"], ["-get=false"]]))
            elif c == 6:
                self.run("workspace", "show")
            elif c == 7:
                self.run("force-unlock", "-force", "nothing")
            else:
                self.steps.append({"list": "*"})

    def act_json_into(self, act):
        """Prints text, and writes events into a file."""
        self.steps.append({"run": ["plan", "-input=false", "-no-color", "-json-into=events.json", *self.flags], "raw": True})

    def act_provider_fault(self, act):
        """The provider cannot be configured for some commands."""
        if not self.breakable:
            return
        self.run("plan", *self.flags, "-var=broken=quota is used up")
        self.run("apply", *self.flags, "-var=broken=quota is used up")
        self.apply()
        self.notes.append("provider fault")

    def act_new_secret(self, act):
        """Changes the version of a write-only argument."""
        if not self.write_only_block:
            return
        self.write_only_block.set("secret_wo_version", "2")
        if self.overlay():
            self.apply()
            self.plan("-detailed-exitcode")
            self.notes.append("write-only")

    def act_import_two(self, act):
        """Adds import blocks with keys in their addresses, then removes them."""
        if not self.lab:
            return
        self.placed = []
        self.place_import()
        self.steps += self.placed
        self.overlay()
        self.plan()
        self.apply()
        self.notes.append("import block")

    def act_generate(self, act):
        """Generates configuration for an import block."""
        if not self.lab:
            return
        root, name = self.root, self.fresh(self.root)
        object_id = "lab-00000000d0%02x" % self.random.randrange(256)
        self.steps.append({"write": {f"store/things/{object_id}.json": json.dumps({"name": f"gen-{name}", "size": 3, "labels": {"a": "b"}})}})
        root.add(Block("import", [], [Argument("to", f"lab_thing.{name}"), Argument("id", f'"{object_id}"')]), "generate.tf")
        self.overlay()
        self.run("plan", *self.flags, "-generate-config-out=generated.tf")
        self.steps.append({"read": "generated.tf"})
        self.apply()
        root.res.append(Resource("managed", "lab_thing", name, None, [], Block("resource", ["lab_thing", name], [Argument("name", f'"gen-{name}"')])))
        self.notes.append("generate")

    def act_output_change(self, act):
        """Changes outputs only: adds, retypes, hides and removes them."""
        outs = self.root.blocks("output")
        if outs and self.chance(0.7):
            b = self.pick(outs)
            if not b.attr("ephemeral"):
                self.module_now, self.loops = self.root, []
                b.set("value", self.expr(self.type(2), 1, frozenset("u"))[0])
        else:
            self.outputs(self.root, 1)
        if self.overlay():
            self.plan("-detailed-exitcode")
            self.apply()
            self.run("output")
            self.notes.append("outputs change")

    def act_refused(self, act):
        """Uses combinations of options that are refused."""
        a = self.address(instance=True) or "terraform_data.x"
        self.run("plan", *self.pick([["-destroy", "-refresh-only"], ["-refresh-only", "-refresh=false"], [f"-target={a}", f"-exclude={a}"], ["-target=not an address"],
                                     [f"-replace={a}", "-destroy"], ["-var=nothing=1"], ["-var-file=missing.tfvars"], ["-replace=data.lab_region.x"], ["-var", "broken"],
                                     ["-nonsense"], ["positional"], ["-out="]]))

    WIDE_ACTS = ["show_all"] * 4 + ["output_all"] * 4 + ["questions"] * 5 + ["state_edit"] * 8 + ["spaces"] * 3 + ["files_of_targets"] * 2 + ["two_targets"] * 3 + \
        ["destroy_some"] * 2 + ["stale"] * 2 + ["state_files"] * 2 + ["lost_state"] * 2 + ["look"] * 4 + ["json_into", "provider_fault", "new_secret", "new_secret"] + \
        ["import_two"] * 2 + ["generate", "output_change", "output_change", "refused", "refused"]

    def act(self):
        """Adds one of the acts, including the usual ones."""
        if self.chance(0.4):
            return super().act()
        act = self.pick(self.WIDE_ACTS)
        return getattr(self, "act_" + act)(act)
