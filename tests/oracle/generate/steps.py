"""The commands of a scenario."""
import json
import random
import re

from .changes import Changes
from .configuration import BOOL, N, S, Argument, Block, Module, Resource, render


class Steps(Changes):
    """A configuration, and the commands of a user."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        r = self.random
        f = lambda p: r.random() < p  # noqa: E731
        self.lab = f(0.6)
        self.old = f(0.22)
        if not self.lab and not self.old and f(0.2):
            self.lab = True
        self.features = {k: f(p) for k, p in {
            "modules": 0.45, "count": 0.4, "for_each": 0.45, "enabled": 0.12, "data": 0.4, "lifecycle": 0.5, "conditions": 0.35, "sensitive": 0.35,
            "ephemeral": 0.15, "validation": 0.3, "alias": 0.3, "provider_for_each": 0.15, "dynamic": 0.3, "check": 0.25, "provisioner": 0.2,
            "override": 0.1, "json": 0.12, "tfvars": 0.4, "unknown": 0.6, "functions": 0.6, "null": 0.3, "tofu": 0.06, "fail": 0.3,
            "deprecated": 0.06, "provider_functions": 0.15, "nested": 0.3, "workspace": 0.08, "wrong": 0.12, "env": 0.12, "timeouts": 0.3,
            "for": 0.6, "heredoc": 0.15, "language": 0.1, "optional": 0.4, "import": 0.2, "depends": 0.4, "trigger": 0.3, "dataread": 0.3,
        }.items()}
        self.root = Module("")
        self.mods = {}
        self.env = {}
        self.counter = 0
        self.aliases = []      # default-provider alternatives of lab in the root: text after provider =
        self.keyed = None      # (alias, keys) of a provider with for_each
        self.loops = []
        self.module_now = self.root

    def addresses(self, m=None, prefix="", single=False):
        """All addresses of resources and resource instances, including those in child modules."""
        m = m or self.root
        out = []
        for x in m.res:
            if x.mode == "ephemeral":
                continue
            out.append((x, prefix + x.at))
            for k in x.keys:
                out.append((x, prefix + x.at + (f"[{k}]" if isinstance(k, int) else f'["{k}"]')))
        for name, rep, keys, child in m.calls:
            for k in (keys or ([None] if rep in (None, "enabled") else [])):
                p = f"module.{name}" + ("" if k is None else f"[{k}]" if isinstance(k, int) else f'["{k}"]')
                out += self.addresses(child, prefix + p + ".")
        return out

    def address(self, managed=True, instance=False):
        """One address for an option of a command."""
        xs = [(x, a) for x, a in self.addresses() if (not managed or x.mode == "managed") and (not instance or not x.keys or a.endswith("]"))]
        return self.pick(xs)[1] if xs else None

    # commands

    def run(self, *args):
        """Adds one command."""
        self.steps.append({"run": list(args)})

    def plan(self, *flags, out=None):
        """Adds a plan. Returns the name of its file if it is saved."""
        if out is None:
            out = self.chance(0.75)
        args = ["plan", *self.flags, *flags]
        if out:
            self.plans += 1
            args.append(f"-out=p{self.plans}")
        self.run(*args)
        return f"p{self.plans}" if out else None

    def apply(self, *flags):
        """Adds an apply, with or without a saved plan."""
        if self.chance(0.55):
            p = self.plan(*flags, out=True)
            self.run("apply", p)
        else:
            self.run("apply", *self.flags, *flags)

    def overlay(self):
        """Adds the changed files as a step, or returns False if nothing has changed."""
        now = self.tree()
        changed = {k: v for k, v in now.items() if self.last.get(k) != v}
        gone = [k for k in self.last if k not in now]
        if not changed and not gone:
            return False
        step = {}
        if changed:
            tree = f"files.{len(self.trees)}"
            self.trees[tree] = changed
            step["files"] = tree
        if gone:
            step["remove"] = gone
        self.steps.append(step)
        self.last = now
        return True

    def settle_pending(self):
        """Creates the objects that an import block names."""
        if self.pending:
            self.steps.append(self.pending)
            self.pending = None

    # acts: commands between two plans

    def act_evolve(self, act):
        """Changes the configuration and applies it."""
        times = self.random.choice([1, 1, 2, 3]) if act == "evolve" else 4
        done = [x for x in (self.evolve() for _ in range(times)) if x]
        self.settle_pending()
        if done and self.overlay():
            self.notes += done
            again = any("module" in d for d in done)
            if again or self.chance(0.1):
                self.run("init")
            if self.chance(0.3):
                self.run("validate")
            if self.chance(0.3):
                self.plan()
            self.apply()

    def act_drift(self, act):
        """Changes objects outside of the engine."""
        if not (self.lab or self.old):
            return
        folder, change = self.pick([("things", {"size": 9}), ("things", {"color": "grey"}), ("things", {"labels": {"drift": "yes"}}), ("boxes", {"size": 8}),
                                    ("things", {"zone": "zone-z"}), ("widgets", {"size": 3}), ("things", {"secret": "leak"}), ("things", {"tags": ["t1"]})])
        self.steps.append({"edit": {f"store/{folder}/*.json": change}})
        self.notes.append("drift")
        d = self.random.random()
        if d < 0.35:
            self.plan("-refresh-only")
        if d < 0.2:
            self.run("apply", *self.flags, "-refresh-only")
        elif d > 0.9:
            self.run("refresh", *self.flags)
        self.plan(*(["-detailed-exitcode"] if self.chance(0.3) else []))
        if self.chance(0.6):
            self.apply()

    def act_gone(self, act):
        """Removes objects outside of the engine."""
        if not (self.lab or self.old):
            return
        self.steps.append({"delete": [self.pick(["store/things/*.json", "store/things/*.json", "store/boxes/*.json", "store/links/*.json"])]})
        self.notes.append("gone")
        if self.chance(0.4):
            self.plan("-refresh-only")
        self.apply()

    def act_refresh_only(self, act):
        """Refreshes the state."""
        self.apply("-refresh-only")

    def act_targeting(self, act):
        """-target or -exclude."""
        a = self.address(managed=False)
        if not a:
            return
        if self.chance(0.5) and self.evolve():
            self.overlay()
        self.settle_pending()
        if self.chance(0.25) and "." in a:
            a = ".".join(a.split(".")[:2]) if a.startswith("module.") else a
        self.apply(f"-{act}={a}")
        self.notes.append(act)
        self.plan()

    def act_replace(self, act):
        """-replace of an instance."""
        a = self.address(instance=self.chance(0.8))
        if a:
            self.apply(f"-replace={a}")
            self.notes.append(act)

    def act_state(self, act):
        """A command on the state."""
        a = self.address(instance=True)
        b = self.address(instance=True)
        what = self.random.random()
        if a and what < 0.3:
            self.run("state", "rm", a)
            self.plan()
        elif a and what < 0.6:
            t = re.sub(r'\[[^\]]*\]$', "", a)
            self.run("state", "mv", a, self.pick([t.rsplit(".", 1)[0] + ".moved_here", b or a, t + "[7]"]))
            self.plan()
        elif a and what < 0.8:
            self.run("state", "show", a)
            self.run("show")
        else:
            self.run("state", "list", *([re.sub(r'\[[^\]]*\]$', "", a)] if a and self.chance(0.4) else []))
            self.run("state", "pull")
        self.notes.append("state")

    def act_taint(self, act):
        """Runs taint and untaint."""
        a = self.address(instance=True)
        if not a:
            return
        self.run("taint", a)
        if self.chance(0.3):
            self.run("untaint", a)
        if self.chance(0.3):
            self.plan()
        self.apply()
        self.notes.append(act)

    def act_outputs(self, act):
        """Shows outputs and the state."""
        self.run("output", *(["-json"] if self.chance(0.5) else []))
        outs = [b.labels[0] for b in self.root.blocks("output")]
        if outs and self.chance(0.6):
            self.run("output", *(["-raw"] if self.chance(0.4) else []), self.pick(outs))
        self.run("show", *(["-json"] if self.chance(0.6) else []))
        if self.chance(0.15):
            self.run("providers")

    def act_var(self, act):
        """Changes the value of a variable."""
        vs = [v for v in self.root.variables if v[1] in (S, N, BOOL)]
        if not vs:
            return
        v = self.pick(vs)
        value = {S: self.pick(["new", "x-1", "two", ""]), N: self.pick(["2", "4", "abc"]), BOOL: self.pick(["true", "false"])}[v[1]]
        if self.chance(0.3):
            self.steps.append({"write": {"given.hcl": f"{v[0]} = " + (json.dumps(value) if v[1] == S else value) + "\n"}})
            self.apply("-var-file=given.hcl")
        else:
            self.apply(f"-var={v[0]}={value}")
        self.notes.append("var")
        self.plan()

    def act_fail(self, act):
        """Makes the provider fail for some commands."""
        if not self.features["fail"]:
            return
        op = self.pick(["update", "delete", "create", "read"])
        self.run("apply", *self.flags, f"-var=fail={op}")
        if self.evolve():
            self.overlay()
        self.run("apply", *self.flags, f"-var=fail={op}")
        self.plan()
        self.notes.append("fail " + op)
        self.apply()

    def act_noop(self, act):
        """Checks whether there is anything to do."""
        self.plan("-detailed-exitcode")

    def act_import(self, act):
        """Runs the import command."""
        if not self.lab:
            return
        name = self.fresh(self.root)
        b = Block("resource", ["lab_thing", name], [Argument("name", f'"imp-{name}"')])
        self.root.add(b)
        self.root.res.append(Resource("managed", "lab_thing", name, None, [], b))
        self.overlay()
        self.steps.append({"write": {"store/things/lab-00000000beef.json": json.dumps({"name": f"imp-{name}"})}})
        self.run("import", *self.flags, f"lab_thing.{name}", "lab-00000000beef")
        self.plan()
        self.notes.append("import command")

    def act_workspace(self, act):
        """Switches to another workspace and back."""
        self.spaces += 1
        self.run("workspace", "new", f"other{self.spaces}")
        self.plan()
        if self.chance(0.5):
            self.apply()
        self.run("workspace", "list")
        self.run("workspace", "select", "default")
        self.plan()
        self.notes.append("workspace")

    def act_destroyplan(self, act):
        """Makes a saved plan that destroys, and may apply it."""
        p = self.plan("-destroy", *([f"-target={self.address()}"] if self.chance(0.3) and self.address() else []), out=True)
        if self.chance(0.4):
            self.run("apply", p)
            self.apply()

    def act_norefresh(self, act):
        """Applies without a refresh."""
        self.apply("-refresh=false")

    def act_console(self, act):
        """Evaluates expressions in the console."""
        self.module_now, self.loops = self.root, []
        lines = "".join(self.expr(self.type(2), 2, frozenset("u"))[0] + "\n" for _ in range(3))
        self.steps.append({"run": ["console"], "stdin": lines})

    ACTS = ["evolve"] * 13 + ["drift", "gone", "refresh-only", "target", "exclude", "replace", "state", "taint", "outputs", "var",
                              "fail", "fail", "noop", "import", "workspace", "destroyplan", "console", "norefresh", "evolve2"]
    ACT_METHODS = {"evolve2": "act_evolve", "refresh-only": "act_refresh_only", "target": "act_targeting", "exclude": "act_targeting"}

    def act(self):
        """Adds one of the acts."""
        act = self.pick(self.ACTS)
        getattr(self, self.ACT_METHODS.get(act, "act_" + act))(act)

    def begin(self):
        """From an empty directory to the first apply."""
        self.trees = {"files": self.tree()}
        self.last = self.trees["files"]
        self.steps = [{"run": ["init"]}]
        self.plans, self.spaces, self.notes, self.pending = 0, 0, [], None
        if self.chance(0.5):
            self.run("validate")
        if self.features["fail"] and self.chance(0.5):
            self.run("apply", *self.flags, "-var=fail=" + self.pick(["create", "create-partial", "plan"]))
            if self.chance(0.5):
                self.plan()
        if self.chance(0.15):
            a = self.address()
            if a:
                self.apply(self.pick(["-target=", "-exclude="]) + a)
        self.apply()
        if self.chance(0.3):
            self.plan(*(["-detailed-exitcode"] if self.chance(0.5) else []))

    def finish(self):
        """Shows the result, destroys, and reads the ledger of the providers."""
        if self.chance(0.25):
            self.run("output", "-json")
        if self.chance(0.3):
            p = self.plan(out=True)
            if self.chance(0.4):
                self.run("show", p)
        if self.chance(0.3):
            self.run("show", "-json")
        if self.chance(0.5):
            self.run("destroy", *self.flags)
        if self.lab or self.old:
            self.steps.append({"ledger": True})
        text = "".join(render(f) for m in [self.root, *self.mods.values()] for f in m.files.values())
        for name in sorted(set(re.findall(r"log-[\w-]+\.txt", text)))[:2]:
            self.steps.append({"read": name})

    def scenario(self):
        """The whole case in the format of a conformance case."""
        self.build()
        self.begin()
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            self.act()
        self.finish()
        case = {"title": "generated: " + (", ".join(self.notes) or "plain"), "topics": sorted(k for k, v in self.features.items() if v),
                "providers": (["lab"] if self.lab else []) + (["oldlab"] if self.old else []), "steps": self.steps, "trees": self.trees}
        if self.env:
            case["env"] = self.env
        return case
