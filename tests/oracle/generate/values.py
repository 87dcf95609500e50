"""Variables, locals, outputs and checks, and the values that a user provides."""
import json
import re

import hcl

from .configuration import ANY, BOOL, N, S, Argument, Block, Reference, type_text
from .expressions import Expressions


class Values(Expressions):
    """The named values of a module."""

    def variables(self, m, n):
        """Adds input variables."""
        self.module_now = m
        for _ in range(n):
            name = self.fresh()
            t = self.type(2) if self.chance(0.9) else ANY
            items, marks = [], ""
            actual = t
            if t != ANY or self.chance(0.5):
                items.append(Argument("type", type_text(t)))
            if t == ANY:
                actual = S
            has_default = m is self.root and self.chance(0.75) or self.chance(0.5)
            default = self.lit(actual)
            if self.features["null"] and has_default and self.chance(0.25):
                if self.chance(0.5):
                    items.append(Argument("nullable", "false"))
                else:
                    default, marks = "null", "n"
            if has_default:
                items.append(Argument("default", default))
            if self.chance(0.2):
                items.append(Argument("description", '"about ' + name + '"'))
            if self.features["sensitive"] and self.chance(0.3):
                items.append(Argument("sensitive", "true"))
                marks += "s"
            if self.features["ephemeral"] and self.chance(0.25):
                items.append(Argument("ephemeral", "true"))
                marks += "e"
            if self.features["deprecated"] and self.chance(0.4):
                items.append(Argument("deprecated", '"use something else"'))
            ref = Reference(f"var.{name}", actual, marks)
            if self.features["validation"] and self.chance(0.5) and "n" not in marks:
                others = [v for v in m.refs if v.text.startswith("var.") and not v.marks]
                c = self.condition([ref])
                if others and self.chance(0.2):
                    c = f"{c} || {self.condition(others)}"
                if f"var.{name}" in c:
                    items.append(Block("validation", [], [Argument("condition", c), Argument("error_message", self.pick(['"Bad value."', f'"Bad: ${{jsonencode(var.{name})}}."' if "s" not in marks and "e" not in marks else '"Bad"']))]))
            m.add(Block("variable", [name], items), self.pick(["main.tf", "variables.tf"]) if m is self.root else "main.tf")
            if "n" in marks:
                m.refs.append(Reference(f"try(coalesce(var.{name}), {self.lit(actual)})" if actual == S else f"var.{name} == null", actual if actual == S else BOOL, set(marks) - {"n"}))
            else:
                m.refs.append(ref)
                if actual[0] == "object" and actual[1]:
                    for k, x, opt in actual[1]:
                        if opt != "":
                            m.refs.append(Reference(f"var.{name}.{k}", x, marks))
            m.variables.append((name, actual, marks, has_default))

    def bool_variable(self):
        """Adds a variable that selects a behavior."""
        name = self.fresh()
        self.module_now.add(Block("variable", [name], [Argument("type", "bool"), Argument("default", self.pick(["true", "true", "false"]))]))
        return name

    def locals(self, m, n):
        """Adds a block of local values."""
        self.module_now = m
        if not n:
            return
        b = Block("locals")
        for _ in range(n):
            name = self.fresh()
            t = self.type(2)
            text, marks = self.expr(t, 3, frozenset("use") if self.features["ephemeral"] else frozenset("us"))
            b.items.append(Argument(name, text))
            if t[0] in ("string", "number", "bool"):
                m.refs.append(Reference(f"local.{name}", t, marks))
            elif t[0] in ("list", "set", "map"):
                conv = {"list": "tolist", "set": "toset", "map": "tomap"}[t[0]]
                m.refs.append(Reference(f"local.{name}" if self.chance(0.5) else f"{conv}(local.{name})", t, marks))
        m.add(b, self.pick(["main.tf", "locals.tf"]) if m is self.root else "main.tf")

    def outputs(self, m, n):
        """Adds output values."""
        self.module_now, self.loops = m, []
        for _ in range(n):
            name = self.fresh()
            t = self.type(2)
            allow = frozenset("us") if m is self.root or not self.features["ephemeral"] else frozenset("use")
            if m.refs and self.chance(0.5):
                r = self.pick([x for x in m.refs if x.marks <= allow] or [Reference('"x"', S)])
                text, marks, t = r.text, r.marks, r.type
            else:
                text, marks = self.expr(t, 2, allow)
            items = [Argument("value", text)]
            if "s" in marks or (self.features["sensitive"] and self.chance(0.15)):
                items.append(Argument("sensitive", "true"))
                marks |= {"s"}
            if "e" in marks:
                items.append(Argument("ephemeral", "true"))
            if self.features["deprecated"] and m is not self.root and self.chance(0.4):
                items.append(Argument("deprecated", '"old output"'))
            if self.features["conditions"] and self.chance(0.25):
                items.append(Block("precondition", [], [Argument("condition", self.condition([x for x in m.refs if not x.marks & {"e", "s"}], frozenset("u"))), Argument("error_message", f'"Output {name} is bad."')]))
            if self.features["depends"] and m.res and self.chance(0.1):
                items.append(Argument("depends_on", f"[{self.pick(m.res).at}]"))
            m.add(Block("output", [name], items), self.pick(["main.tf", "outputs.tf"]) if m is self.root else "main.tf")
            m.outputs.append((name, t, marks))

    def check(self, m):
        """Adds a check block."""
        self.module_now, self.loops = m, []
        name = self.fresh()
        items = []
        refs = [x for x in m.refs if not x.marks & {"e", "s"}]
        if self.lab and self.chance(0.3):
            items.append(Block("data", ["lab_things", "found"]))
            refs = [Reference("data.lab_things.found.names", ("list", S))]
        for _ in range(self.random.randint(1, 2)):
            items.append(Block("assert", [], [Argument("condition", self.condition(refs, frozenset("u"))), Argument("error_message", self.pick([f'"Check {name}."', self.expr(S, 1, frozenset("u"))[0]]))]))
        m.add(Block("check", [name], items))

    def values(self):
        """Files and environment variables with values for required root variables, and for some others."""
        m = self.root
        given = {}
        for name, t, marks, has_default in m.variables:
            if not has_default or (self.features["tfvars"] and self.chance(0.3)):
                given[name] = self.lit(t)
        self.extra = {}
        self.flags = []
        if not given:
            return
        how = self.random.random()
        if self.features["env"] and how < 0.6:
            name = self.pick(given)
            v = given.pop(name)
            if re.fullmatch(r'"[^"\\$]*"', v):
                v = v[1:-1]
            self.env[f"TF_VAR_{name}"] = v
        if given and self.chance(0.15):
            name = self.pick(given)
            v = given[name]
            if re.fullmatch(r'"[^"\\$]*"', v):
                v = v[1:-1]
            self.flags.append(f"-var={name}={v}")
            if self.chance(0.7):
                given.pop(name)
        if given and self.features["json"] and self.chance(0.5):
            try:
                self.extra["terraform.tfvars.json"] = json.dumps({k: hcl.literal(v) for k, v in given.items()}, ensure_ascii=False) + "\n"
                given = {}
            except (hcl.Unreadable, ValueError):
                pass
        text = "".join(f"{k} = {v}\n" for k, v in given.items())
        if self.features["wrong"] and self.chance(0.2):
            text += "undeclared_thing = 1\n"
        if text:
            self.extra[self.pick(["terraform.tfvars", "terraform.tfvars", "x.auto.tfvars"])] = text
