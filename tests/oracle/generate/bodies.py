"""The contents of resource blocks: repetition, arguments and nested blocks."""

from .choices import KEYS
from .configuration import BOOL, LAB, N, REQUIRED, S, Argument, Block, Reference
from .values import Values


class Bodies(Values):
    """Bodies of resources."""

    def repetition(self, b, data=False):
        """Adds count or for_each; returns (kind, keys)."""
        c = self.random.random()
        chain = [x for x in self.module_now.res if x.rep in ("for_each", "count") and x.mode == "managed"]
        if chain and self.chance(0.2) and not data:
            x = self.pick(chain)
            if x.rep == "count":
                b.items.insert(0, Argument("count", f"length({x.at})"))
                return "count", list(x.keys)
            b.items.insert(0, Argument("for_each", self.pick([x.at, f"toset(keys({x.at}))"])))
            self.loops = [Reference("each.key", S)] + ([Reference("each.value.id", S, "u")] if "keys" not in b.items[0].expr else [Reference("each.value", S)])
            return "for_each", list(x.keys)
        if self.features["count"] and c < 0.3:
            n = self.pick([0, 1, 2, 2, 3])
            text = str(n)
            if self.chance(0.25):
                vs = [v for v in self.module_now.refs if v.type == N and not v.marks]
                if vs:
                    text = f"min(max({self.pick(vs).text}, 0), 2)"
                    b.items.insert(0, Argument("count", text if self.chance(0.9) else f"floor({text})"))
                    return "count?", []
            if self.chance(0.1):
                text = f"var.{self.bool_variable()} ? {n} : {n}"
            b.items.insert(0, Argument("count", text))
            return "count", list(range(n))
        if self.features["for_each"] and c < 0.65:
            ks = sorted(self.random.sample(KEYS, self.random.choice([0, 1, 2, 2, 3])))
            form = self.random.random()
            if form < 0.4:
                b.items.insert(0, Argument("for_each", "toset([" + ", ".join(f'"{k}"' for k in ks) + "])"))
                self.loops = [Reference("each.key", S), Reference("each.value", S)]
            elif form < 0.75:
                t = self.pick([S, S, N, ("object", (("name", S, None), ("size", N, None)))])
                parts = []
                for k in ks:
                    parts.append(f'"{k}" = ' + (self.lit(t) if self.chance(0.6) else self.expr(t, 1, frozenset("u"))[0]))
                b.items.insert(0, Argument("for_each", "{ " + ", ".join(parts) + " }" if parts else "{}"))
                self.loops = [Reference("each.key", S)]
                if t == S or t == N:
                    self.loops.append(Reference("each.value", t, "u"))
                else:
                    self.loops += [Reference("each.value.name", S, "u"), Reference("each.value.size", N, "u")]
            else:
                cands = [v for v in self.module_now.refs if v.type in (("set", S), ("map", S), ("list", S)) and not v.marks]
                if cands:
                    v = self.pick(cands)
                    b.items.insert(0, Argument("for_each", f"toset({v.text})" if v.type[0] == "list" else v.text))
                    self.loops = [Reference("each.key", S), Reference("each.value", S)]
                    return "for_each?", []
                b.items.insert(0, Argument("for_each", '{ for k in ["' + '", "'.join(ks or ["a"]) + '"] : k => upper(k) }'))
                ks = ks or ["a"]
                self.loops = [Reference("each.key", S), Reference("each.value", S)]
            return "for_each", ks
        if self.features["enabled"] and c < 0.8:
            return "enabled", []
        return None, []

    def maybe_null(self, text):
        """Sometimes null in place of the expression."""
        return text if not (self.features["null"] and self.chance(0.12)) else self.pick(["null", f"{self.lit(BOOL)} ? {text} : null"])

    def body(self, type_, b, rep):
        """Adds the arguments and nested blocks of a resource."""
        each = self.loops[0].text if rep and rep.startswith("for_each") else "count.index" if rep and rep.startswith("count") else None
        name = f'"{self.unique()}' + (f"-${{{each}}}" if each and each != "count.index" else "-${count.index}" if each else "") + '"'
        known = frozenset("us")
        if type_ == "terraform_data":
            if self.chance(0.85):
                b.items.append(Argument("input", self.expr(self.type(2), 3, known)[0]))
            if self.chance(0.3):
                b.items.append(Argument("triggers_replace", self.expr(self.type(1), 2, known)[0]))
            return
        for attr, t in LAB[type_].items():
            if attr in REQUIRED[type_]:
                if attr == "name" or attr == "title":
                    text = name
                    if self.chance(0.2) and type_ != "lab_singleton":
                        more = self.expr(S, 1, known)[0]
                        text = name[:-1] + "${" + more + '}"' if "\\" not in more and "<<" not in more else name
                    b.items.append(Argument(attr, text))
                else:
                    b.items.append(Argument(attr, self.expr(S, 2, known)[0]))
            elif self.chance(0.3 if type_ != "lab_any" else 0.9):
                text = self.expr(t, 2, known)[0]
                if attr == "size" and type_ == "oldlab_box":
                    text = self.pick(["1", "2", "3", "length(\"abc\")"])
                b.items.append(Argument(attr, self.maybe_null(text)))
        if type_ == "lab_thing":
            if self.features["nested"] and self.chance(0.5):
                reps = []
                for _ in range(self.random.randint(1, 2)):
                    reps.append(f"{{ zone = {self.expr(S, 1, known)[0]}" + (f", weight = {self.lit(N)}" if self.chance(0.5) else "") + " }")
                b.items.append(Argument("replicas", "[" + ", ".join(reps) + "]"))
            if self.features["nested"] and self.chance(0.4):
                b.items.append(Argument("limits", "{ " + self.pick(["cpu = 2", "memory = 128", f"cpu = {self.expr(N, 1, known)[0]}", "cpu = null"]) + " }"))
            if self.features["ephemeral"] and self.chance(0.4):
                b.items += [Argument("secret_wo", self.expr(S, 1, frozenset("use"))[0]), Argument("secret_wo_version", self.pick(["1", "2"]))]
            if self.features["fail"] and self.module_now is self.root and self.chance(0.75):
                b.items.append(Argument("fail_on", "var.fail"))
            if self.chance(0.25):
                self.nested(b, "rule", lambda: [Argument("port", self.pick(["80", "443", self.expr(N, 1, known)[0]]))] + ([Argument("cidr", self.expr(S, 1, known)[0])] if self.chance(0.4) else []), "port")
            if self.chance(0.25):
                self.nested(b, "step", lambda: [Argument("command", self.expr(S, 1, known)[0])] + ([Argument("on", self.expr(S, 0, known)[0])] if self.chance(0.3) else []), "command")
        if type_ == "oldlab_box":
            if self.chance(0.25):
                b.items.append(Block("lid", [], [Argument("color", self.expr(S, 1, known)[0])] + ([Argument("lock", "true")] if self.chance(0.4) else [])))
            if self.chance(0.3):
                self.nested(b, "item", lambda: [Argument("name", f'"{self.unique()}"')] + ([Argument("count", self.pick(["1", "2"]))] if self.chance(0.5) else []), "name")
            if self.features["dynamic"] and self.chance(0.3):
                src = self.expr(("list", ("list", N)), 1, known)[0]
                b.items.append(Block("dynamic", ["shelf"], [Argument("for_each", src), Block("content", [], [
                    Block("dynamic", ["slot"], [Argument("for_each", "shelf.value"), Argument("iterator", "s"), Block("content", [], [Argument("width", self.pick(["s.key", "shelf.key", "floor(s.value)"]))])])])]))
            elif self.chance(0.2):
                b.items.append(Block("shelf", [], [Block("slot", [], [Argument("width", self.pick(["1", "2"]))]) for _ in range(self.random.randint(0, 2))]))
            if self.features["timeouts"] and self.chance(0.3):
                b.items.append(Block("timeouts", [], [Argument("create", '"2m"')]))
        if self.features["wrong"] and self.chance(0.25):
            self.spoil(b)

    def spoil(self, b):
        """Makes one mistake in a block."""
        c = self.random.randint(0, 5)
        if c == 0:
            b.items.append(Argument("nonsense", "1"))
        elif c == 1 and b.items:
            a = self.pick(b.items)
            if isinstance(a, Argument):
                a.expr = self.pick(["[]", "{}", '"x"', "var.nope", "local.missing", "terraform_data.none.id"])
        elif c == 2:
            b.items.append(Block("mystery", [], []))
        elif c == 3:
            b.items = [i for i in b.items if not isinstance(i, Argument) or self.chance(0.6)]
        elif c == 4:
            b.set("depends_on", "[terraform_data.ghost]")
        else:
            b.set("count", self.pick(['"two"', "-1", "1.5", "null", "[]"]))

    def nested(self, b, type_, make, argument):
        """Adds nested blocks of a type, written out or dynamic."""
        if self.features["dynamic"] and self.chance(0.6):
            src, _ = self.expr(self.pick([("list", S), ("map", S)]), 1, frozenset("us"))
            it = type_
            items = [Argument("for_each", src)]
            if self.chance(0.25):
                items.append(Argument("iterator", "it"))
                it = "it"
            value = {"port": f"length({it}.value)", "command": f'"${{{it}.key}}-${{{it}.value}}"', "name": f'"{self.unique()}-${{{it}.key}}"'}[argument]
            items.append(Block("content", [], [Argument(argument, value)]))
            b.items.append(Block("dynamic", [type_], items))
        else:
            for _ in range(self.random.randint(1, 2)):
                b.items.append(Block(type_, [], make()))
