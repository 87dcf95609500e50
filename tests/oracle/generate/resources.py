"""Managed, data and ephemeral resources."""

from .bodies import Bodies
from .configuration import ANY, COMPUTED, LAB, N, S, Argument, Block, Reference, Resource


class Resources(Bodies):
    """Resources of every mode."""

    def types(self):
        """The resource types to choose from. Frequent ones occur several times."""
        out = ["terraform_data"] * (3 if not self.lab else 2)
        if self.lab:
            out += ["lab_thing"] * 5 + ["lab_widget", "lab_link", "lab_any"] + (["lab_singleton"] if self.module_now is self.root else [])
        if self.old:
            out += ["oldlab_box"] * 4
        return out

    def expose(self, m, mode, type_, name, rep, keys):
        """The references of other blocks to this resource."""
        at = ("" if mode == "managed" else mode + ".") + f"{type_}.{name}"
        attrs = {}
        if mode == "managed":
            attrs = {k: (t, "u") for k, t in COMPUTED[type_].items()}
            if type_ == "terraform_data":
                attrs["id"] = (S, "u")
            for k, t in LAB.get(type_, {}).items():
                if k in ("name", "title", "size") and k not in attrs and type_ != "lab_any":
                    attrs[k] = (t, "u" if k == "size" else "")
                if k == "secret":
                    attrs[k] = (S, "sn")
        elif type_ == "lab_region":
            attrs = {"name": (S, "")}
        elif type_ == "lab_things":
            attrs = {"names": (("list", S), "u"), "ids": (("map", S), "u")}
        elif type_ == "lab_echo":
            attrs = {"result": (ANY, "u")}
        elif type_ in ("lab_thing", "oldlab_box"):
            attrs = {"id": (S, "u"), "size": (N, "u")}
        elif mode == "ephemeral":
            attrs = {"token": (S, "e")}
        for k, (t, marks) in attrs.items():
            if t == ANY or "n" in marks:
                continue
            if rep is None:
                m.refs.append(Reference(f"{at}.{k}", t, marks))
            elif rep == "count" and keys:
                m.refs.append(Reference(f"{at}[{keys[0]}].{k}", t, marks))
                if t == S and "." not in k and "[" not in k:
                    m.refs.append(Reference(f"{at}[*].{k}", ("list", S), marks))
            elif rep == "for_each" and keys:
                m.refs.append(Reference(f'{at}["{keys[0]}"].{k}', t, marks))
                if t == S:
                    m.refs.append(Reference(f"{{ for k, v in {at} : k => v.{k} }}", ("map", S), marks))
                    m.refs.append(Reference(f"values({at})[*].{k}", ("list", S), marks))
            elif rep == "enabled":
                m.refs.append(Reference(f"try({at}.{k}, {self.lit(t)})", t, marks))
            elif rep == "for_each?" and t == S:
                m.refs.append(Reference(f"[for v in {at} : v.{k}]", ("list", S), marks))
            elif rep == "count?" and t == S:
                m.refs.append(Reference(f"{at}[*].{k}", ("list", S), marks))

    def resource(self, m, type_=None):
        """Adds a managed resource."""
        self.module_now, self.loops = m, []
        type_ = type_ or self.pick(self.types())
        name = self.fresh()
        b = Block("resource", [type_, name])
        rep, keys = self.repetition(b)
        if rep and rep.startswith("count"):
            self.loops = [Reference("count.index", N)]
        before = list(m.refs)
        self.body(type_, b, rep)
        if type_.startswith("lab") and m is self.root and self.aliases and self.chance(0.5):
            p = self.pick(self.aliases)
            if self.keyed and p.startswith(self.keyed[0]):
                p = f"{self.keyed[0]}[each.key]" if rep == "for_each" and set(keys) <= set(self.keyed[1]) else f'{self.keyed[0]}["{self.keyed[1][0]}"]'
            b.items.append(Argument("provider", p))
        elif type_.startswith("lab") and getattr(m, "alias", None) and self.chance(0.5):
            b.items.append(Argument("provider", m.alias))
        others = [r for r in m.res if r.mode != "ephemeral"]
        if self.features["depends"] and others and self.chance(0.2):
            b.items.append(Argument("depends_on", "[" + self.pick(others).at + "]"))
        life = []
        if rep == "enabled":
            v = self.pick(["true", "false", "var." + self.bool_variable()])
            life.append(Argument("enabled", v))
        if self.features["lifecycle"] and self.chance(0.5):
            if self.chance(0.35):
                life.append(Argument("create_before_destroy", self.pick(["true", "true", "false"])))
            if self.chance(0.12):
                life.append(Argument("prevent_destroy", self.pick(["true", "false"])))
            if self.chance(0.3):
                attrs = [i.name for i in b.items if isinstance(i, Argument) and i.name in {**LAB.get(type_, {}), "input": 1, "triggers_replace": 1}] or ["all"]
                life.append(Argument("ignore_changes", self.pick(["all", f"[{self.pick(attrs)}]", f"[{self.pick(attrs)}]"]) if attrs != ["all"] else "all"))
            if self.features["trigger"] and self.chance(0.35):
                trig = [r for r in m.res if r.mode == "managed"]
                if trig:
                    t = self.pick(trig)
                    text = t.at + ("[0]" if t.rep == "count" and t.keys and self.chance(0.5) else "")
                    if t.rep is None and t.type in ("lab_thing", "oldlab_box") and self.chance(0.4):
                        text += ".size"
                    life.append(Argument("replace_triggered_by", f"[{text}]"))
            if self.chance(0.08):
                life.append(Argument("destroy", "false"))
        if self.features["conditions"] and self.chance(0.4):
            kind = self.pick(["precondition", "postcondition"])
            if kind == "postcondition":
                refs = [Reference("self.id", S)] + ([Reference("self.size", N)] if type_ in ("lab_thing", "oldlab_box") else [])
            else:
                refs = [x for x in before if not x.marks & {"e", "s"}] + self.loops
            life.append(Block(kind, [], [Argument("condition", self.condition(refs)), Argument("error_message", self.pick(['"Condition of ' + name + ' failed."', self.expr(S, 1, frozenset("u"))[0]]))]))
        if life:
            b.items.append(Block("lifecycle", [], life))
        if self.features["provisioner"] and self.chance(0.3) and type_ in ("terraform_data", "lab_thing"):
            when = self.chance(0.4)
            fails = self.chance(0.15)
            cmd = '"echo ' + ("gone" if when else "made") + f' {name} >> log-{name}.txt' + (" && exit 3" if fails else "") + '"'
            items = [Argument("command", cmd)]
            if when:
                items.append(Argument("when", "destroy"))
            if fails and self.chance(0.5):
                items.append(Argument("on_failure", "continue"))
            if self.chance(0.3):
                items[0].expr = '"printenv MARK >> log-' + name + '.txt"'
                items.append(Argument("environment", "{ MARK = self.id == \"\" ? \"no\" : \"yes\" }"))
            b.items.append(Block("provisioner", ["local-exec"], items))
        m.add(b, self.pick(["main.tf", "main.tf", "more.tf"]) if m is self.root else "main.tf")
        self.loops = []
        self.expose(m, "managed", type_, name, rep, keys)
        m.res.append(Resource("managed", type_, name, rep, keys, b))
        return b

    def data(self, m):
        """Adds a data resource."""
        self.module_now, self.loops = m, []
        kinds = ["lab_region", "lab_things", "lab_echo", "lab_thing"] if self.lab else []
        if self.old:
            kinds.append("oldlab_box")
        if not kinds:
            return
        type_ = self.pick(kinds)
        name = self.fresh()
        b = Block("data", [type_, name])
        rep, keys = (None, [])
        if type_ in ("lab_echo", "lab_region") and self.chance(0.4):
            rep, keys = self.repetition(b, True)
            if rep == "enabled":
                b.items.append(Block("lifecycle", [], [Argument("enabled", self.pick(["true", "false"]))]))
            if rep and rep.startswith("count"):
                self.loops = [Reference("count.index", N)]
        if type_ == "lab_echo":
            b.items.append(Argument("value", self.expr(self.type(2), 2)[0]))
        elif type_ == "lab_things":
            if self.chance(0.3):
                b.items.append(Argument("color", self.expr(S, 1, frozenset("u"))[0]))
        elif type_ in ("lab_thing", "oldlab_box"):
            made = [r for r in m.res if r.mode == "managed" and r.type == type_ and r.rep is None]
            if not made:
                return
            r = self.pick(made)
            b.items.append(Argument("name", f"{r.at}.name" if self.chance(0.6) else next(i.expr for i in r.block.items if isinstance(i, Argument) and i.name == "name")))
            if self.chance(0.7):
                b.items.append(Argument("depends_on", f"[{r.at}]"))
        if type_.startswith("lab") and m is self.root and self.aliases and self.chance(0.3):
            p = self.pick(self.aliases)
            if self.keyed and p.startswith(self.keyed[0]):
                p = f'{self.keyed[0]}["{self.keyed[1][0]}"]'
            b.items.append(Argument("provider", p))
        managed = [r for r in m.res if r.mode == "managed"]
        if not b.attr("depends_on") and managed and self.features["depends"] and self.chance(0.35):
            b.items.append(Argument("depends_on", f"[{self.pick(managed).at}]"))
        if self.features["conditions"] and self.chance(0.3) and not b.block("lifecycle"):
            cond = {"lab_region": 'self.name != "nope"', "lab_things": "length(self.names) >= 0", "lab_echo": "self.at > 0"}.get(type_, 'self.id != ""')
            b.items.append(Block("lifecycle", [], [Block("postcondition", [], [Argument("condition", cond), Argument("error_message", '"data is bad"')])]))
        m.add(b)
        self.loops = []
        self.expose(m, "data", type_, name, rep, keys)
        m.res.append(Resource("data", type_, name, rep, keys, b))

    def ephemeral(self, m):
        """Adds an ephemeral resource."""
        self.module_now, self.loops = m, []
        name = self.fresh()
        b = Block("ephemeral", ["lab_token", name], [Argument("name", self.expr(S, 1, frozenset("e"))[0] if self.chance(0.5) else f'"{name}"')])
        m.add(b)
        self.expose(m, "ephemeral", "lab_token", name, None, [])
        m.res.append(Resource("ephemeral", "lab_token", name, None, [], b))
