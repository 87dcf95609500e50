"""Modules, their calls, providers, and the whole configuration as files."""
import json

import hcl

from .choices import KEYS
from .configuration import N, S, Argument, Block, Module, Reference, render
from .resources import Resources


class Modules(Resources):
    """The whole configuration."""

    def module(self, path, depth):
        """Makes a child module."""
        m = Module(path)
        m.alias = None
        self.mods[path] = m
        r = self.random
        if self.lab and self.chance(0.6) or self.old:
            items = []
            if self.lab:
                alias = ""
                if self.features["alias"] and self.chance(0.5):
                    m.alias = "lab.other"
                    alias = "\n      configuration_aliases = [lab.other]"
                items.append(Argument("lab", '{\n      source = "weft.test/lab/lab"' + alias + "\n    }"))
            if self.old:
                items.append(Argument("oldlab", '{\n      source = "weft.test/lab/oldlab"\n    }'))
            m.add(Block("terraform", [], [Block("required_providers", [], items)]))
        elif self.lab:
            m.add(Block("terraform", [], [Block("required_providers", [], [Argument("lab", '{\n      source = "weft.test/lab/lab"\n    }')])]))
        self.variables(m, r.randint(0, 3))
        if self.chance(0.5):
            self.locals(m, r.randint(1, 2))
        for _ in range(r.randint(1, 2)):
            self.resource(m)
        if self.features["data"] and self.chance(0.4):
            self.data(m)
        if depth < 2 and self.chance(0.25):
            sub = self.module(path + "/sub", depth + 1)
            self.call(m, sub, "./sub")
        self.outputs(m, r.randint(1, 3))
        if self.features["check"] and self.chance(0.2):
            self.check(m)
        self.module_now = m
        return m

    def call(self, m, child, source):
        """Adds a call of a child module."""
        self.module_now, self.loops = m, []
        name = self.fresh()
        b = Block("module", [name], [Argument("source", f'"{source}"')])
        rep, keys = self.repetition(b)
        if rep == "enabled":
            b.items.append(Block("lifecycle", [], [Argument("enabled", self.pick(["true", "true", "false"]))]))
        if rep and rep.startswith("count"):
            self.loops = [Reference("count.index", N)]
        for vname, t, marks, has_default in child.variables:
            if not has_default or self.chance(0.6):
                allow = frozenset("use") if "e" in marks else frozenset("us")
                text, _ = self.expr(t, 2, allow)
                b.items.append(Argument(vname, text))
        self.loops = []
        providers = []
        if child.alias:
            p = self.pick(self.aliases or ["lab"]) if m is self.root else "lab"
            if m is self.root and self.keyed and p.startswith(self.keyed[0]):
                p = f'{self.keyed[0]}["{self.keyed[1][0]}"]' if not (rep == "for_each" and set(keys) <= set(self.keyed[1])) else f"{self.keyed[0]}[each.key]"
            providers.append(f"lab.other = {p}")
            if self.chance(0.4):
                providers.append("lab = lab")
        if providers:
            b.items.append(Argument("providers", "{\n" + "".join(f"    {p}\n" for p in providers) + "  }"))
        others = [r for r in m.res if r.mode == "managed"]
        if self.features["depends"] and others and self.chance(0.15):
            b.items.append(Argument("depends_on", f"[{self.pick(others).at}]"))
        m.add(b)
        at = f"module.{name}"
        for oname, t, marks in child.outputs:
            marks = set(marks) | {"u"}
            if rep is None:
                m.refs.append(Reference(f"{at}.{oname}", t, marks))
            elif rep == "count" and keys:
                m.refs.append(Reference(f"{at}[{keys[0]}].{oname}", t, marks))
                m.refs.append(Reference(f"{at}[*].{oname}", ("list", t), marks))
            elif rep == "for_each" and keys:
                m.refs.append(Reference(f'{at}["{keys[0]}"].{oname}', t, marks))
                m.refs.append(Reference(f"[for v in {at} : v.{oname}]", ("list", t), marks))
            elif rep == "enabled":
                m.refs.append(Reference(f"try({at}.{oname}, {self.lit(t)})", t, marks))
        m.calls.append((name, rep, keys, child))

    def providers(self):
        """Adds the requirements and configurations of providers."""
        m = self.root
        items = []
        if self.lab:
            v = self.pick(["", "", "\n      version = \"~> 1.0\"", "\n      version = \"1.0.0\"", "\n      version = \">= 1.0, < 2.0\""])
            items.append(Argument("lab", '{\n      source = "weft.test/lab/lab"' + v + "\n    }"))
        if self.old:
            items.append(Argument("oldlab", '{\n      source = "weft.test/lab/oldlab"\n    }'))
        if items:
            m.add(Block("terraform", [], [Block("required_providers", [], items)]), self.pick(["main.tf", "versions.tf"]))
        if not self.lab:
            return
        self.module_now = m
        if self.chance(0.85 if self.features["alias"] or self.features["provider_for_each"] else 0.4):
            items = [Argument("region", self.pick(['"ams"', self.expr(S, 1, frozenset("s"))[0]]))]
            if self.chance(0.3):
                items.append(Argument("token", self.expr(S, 1, frozenset("use"))[0]))
            if self.chance(0.3):
                items.append(Block("settings", [], [Argument("retries", "2"), Argument("tags", self.lit(("map", S)))]))
            m.add(Block("provider", ["lab"], items))
        if self.features["alias"]:
            for n in self.random.sample(["east", "west"], self.random.randint(1, 2)):
                m.add(Block("provider", ["lab"], [Argument("alias", f'"{n}"'), Argument("region", f'"{n}"')]))
                self.aliases.append(f"lab.{n}")
        if self.features["provider_for_each"]:
            ks = sorted(self.random.sample(KEYS[:4], 2))
            src = "toset([" + ", ".join(f'"{k}"' for k in ks) + "])" if self.chance(0.6) else "{ " + ", ".join(f'{k} = "{k}-land"' for k in ks) + " }"
            m.add(Block("provider", ["lab"], [Argument("alias", '"by"'), Argument("for_each", src), Argument("region", "each.value")]))
            self.aliases.append("lab.by")
            self.keyed = ("lab.by", ks)

    def build(self):
        """Makes the whole configuration."""
        r, m = self.random, self.root
        if self.features["fail"] and self.lab:
            m.add(Block("variable", ["fail"], [Argument("type", "string"), Argument("default", "null")]))
        else:
            self.features["fail"] = False
        self.variables(m, r.randint(0, 4))
        self.providers()
        self.locals(m, r.choice([0, 1, 2, 3]))
        self.module_now = m
        if self.features["language"] and self.chance(0.5):
            m.add(Block("terraform", [], [Argument("required_version", '">= 1.6"')]), "terraform.tofu" if self.chance(0.3) else "main.tf")
        if self.features["ephemeral"] and self.lab and self.chance(0.6):
            self.ephemeral(m)
        paths = []
        if self.features["modules"]:
            for n in r.sample(["net", "app", "box"], r.choice([1, 1, 2])):
                paths.append("mods/" + n)
        plan = ["r"] * r.randint(1, 4) + ["d"] * (r.randint(1, 2) if self.features["data"] else 0) + [p for p in paths]
        if paths and self.chance(0.2):
            plan.append(paths[0])
        r.shuffle(plan)
        for p in plan:
            if p == "r":
                self.resource(m)
            elif p == "d":
                self.data(m)
            else:
                child = self.mods.get(p) or self.module(p, 1)
                self.call(m, child, "./" + p)
                self.module_now = m
        self.outputs(m, r.randint(0, 4))
        if self.features["check"]:
            self.check(m)
        if self.features["override"]:
            self.override()
        self.values()
        if self.features["json"]:
            target = self.pick([m] + list(self.mods.values()))
            target.json.add(self.pick(target.files))
        for f in list(m.files):
            r.shuffle(m.files[f])
        if self.features["tofu"]:
            f = self.pick(m.files)
            if f.endswith(".tf") and f not in m.json:
                m.files[f[:-3] + ".tofu"] = m.files.pop(f)

    def override(self):
        """Adds a file that overrides parts of the root module."""
        m = self.root
        cands = [b for b in m.blocks() if b.type in ("variable", "output", "resource", "locals") and b.items]
        if not cands:
            return
        out = []
        for b in self.random.sample(cands, min(len(cands), self.random.choice([1, 1, 2]))):
            self.module_now, self.loops = m, []
            if b.type == "variable" and b.attr("default"):
                out.append(Block("variable", b.labels, [Argument("default", b.attr("default").expr), Argument("description", '"overridden"')]))
            elif b.type == "output":
                out.append(Block("output", b.labels, [Argument("value", self.text())]))
            elif b.type == "locals":
                out.append(Block("locals", [], [Argument(b.items[0].name, self.text())]))
            elif b.type == "resource" and b.labels[0] in ("lab_thing", "oldlab_box"):
                out.append(Block("resource", b.labels, [Argument("size", "5")] + ([Block("lifecycle", [], [Argument("create_before_destroy", "true")])] if self.chance(0.4) else [])))
        if out:
            m.files[self.pick(["override.tf", "x_override.tf"])] = out

    def tree(self):
        """The files of the configuration."""
        out = dict(self.extra)
        for m in [self.root, *self.mods.values()]:
            for f, blocks in m.files.items():
                text = render(blocks)
                name = (m.path + "/" if m.path else "") + f
                if f in m.json and f.endswith(".tf"):
                    try:
                        out[name + ".json"] = json.dumps(hcl.to_json(text), indent=2, ensure_ascii=False) + "\n"
                        continue
                    except hcl.Unreadable:
                        pass
                out[name] = text
        return out
