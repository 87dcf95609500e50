"""Expressions of a wanted type."""
import re

from .choices import KEYS, Choices
from .configuration import ANY, BOOL, N, S, Reference


class Expressions(Choices):
    """Expressions over the declarations of the current module."""

    def refs(self, t, allow):
        """The references of this type with allowed marks."""
        out = []
        for r in self.module_now.refs + self.loops:
            if r.marks <= allow and (r.type == t or (t == S and r.type in (N, BOOL) and self.random.random() < 0.3) or t == ANY):
                out.append(r)
        return out

    def expr(self, t, d=2, allow=frozenset("us")):
        """Text and marks of an expression of this type."""
        if not self.features["unknown"]:
            allow = allow - {"u"}
        if not self.features["sensitive"]:
            allow = allow - {"s"}
        c = self.random.random()
        found = self.refs(t, allow)
        if found and c < (0.5 if d > 0 else 0.65):
            r = self.pick(found[-8:] if self.chance(0.5) else found)
            return r.text, r.marks
        if d <= 0 or c > 0.8:
            return self.lit(t), frozenset()
        return self.compound(t, d, allow)

    def join(self, form, *args):
        """Fills a template with expressions, with parentheses where operators need them."""
        marks = frozenset()
        texts = []
        operators = re.search(r"\{\} [-+*%<>=!&|?]|[-+*%<>=&|?:] \{\}", form)
        for text, m in args:
            texts.append(f"({text})" if operators and re.search(r" [-+*%<>=!&|?]", text) and not re.fullmatch(r'"[^"]*"|\([^()]*\)', text) else text)
            marks |= m
        return form.format(*texts), marks

    def compound(self, t, d, allow):
        """An expression of this type over smaller ones, with its marks."""
        def smaller(x, depth=d - 1):
            return self.expr(x, depth, allow)
        kind = t[0]
        if self.chance(0.1):
            return self.join("{} ? {} : {}", smaller(BOOL), smaller(t), smaller(t))
        if self.chance(0.06):
            return self.join("try({}, {})", smaller(t), smaller(t, 0))
        if self.features["sensitive"] and "s" in allow and self.chance(0.06):
            text, marks = smaller(t)
            return f"sensitive({text})", marks | {"s"}
        if self.features["for"] and kind in ("list", "set") and self.chance(0.35):
            return self.for_sequence(t, smaller)
        if self.features["for"] and kind == "map" and self.chance(0.35):
            return self.for_map(t, smaller)
        make = {"string": self.string, "number": self.numeric, "bool": self.boolean, "list": self.sequence, "set": self.set_of,
                "map": self.mapping, "object": self.object_of, "tuple": self.tuple_of}.get(kind)
        return make(t, smaller) if make else self.expr(self.type(2), d, allow)

    def for_sequence(self, t, smaller):
        """A `for` that produces a list or a set."""
        inner = self.type(0) if t[1][0] not in ("string", "number", "bool") else t[1]
        source, marks = smaller(("list", inner))
        v = "vwxyz"[min(4, len(self.loops))]
        self.loops.append(Reference(v, inner, marks))
        body, more = smaller(t[1])
        filtered = self.join(" if {}", smaller(BOOL, 0)) if self.chance(0.3) else ("", frozenset())
        self.loops.pop()
        text = f"[for {v} in {source} : {body}{filtered[0]}]"
        return (f"toset({text})" if t[0] == "set" else text), marks | more | filtered[1]

    def for_map(self, t, smaller):
        """A `for` that produces a map."""
        source, marks = smaller(("map", S))
        k, v = "klmno"[min(4, len(self.loops))], "vwxyz"[min(4, len(self.loops))]
        self.loops += [Reference(k, S, marks), Reference(v, S, marks)]
        body, more = smaller(t[1])
        self.loops = self.loops[:-2]
        key = self.pick([k, f"upper({k})", f'"${{{k}}}-x"'])
        return f"{{ for {k}, {v} in {source} : {key} => {body} }}", marks | more

    def string(self, t, smaller):
        """A string: template, function or named value."""
        c = self.random.randint(0, 17)
        if c <= 5:
            form = self.pick(["{}", "x-{}", "{}-y", "{}"]).replace("{}", "${{{}}}") + self.pick(["", ".", ":z"])
            return self.join('"' + form + '"', smaller(self.pick([S, S, N, BOOL])))
        if c == 6:
            form = self.pick(["upper({})", "lower({})", "title({})", "trimspace({})", "md5({})", "base64encode({})", "strrev({})", "sha1({})", "chomp({})"])
            return self.join(form, smaller(S))
        if c == 7:
            return self.join('join("{}", {{}})'.format(self.pick(["-", ",", ""])), smaller(("list", S)))
        if c == 8:
            return self.join('format("%s/%v", {}, {})', smaller(S), smaller(self.pick([S, N])))
        if c == 9:
            return self.join('replace({}, "e", "_")', smaller(S))
        if c == 10:
            return self.join("jsonencode({})", smaller(self.type(2)))
        if c == 11:
            return self.join('lookup({}, "a", {})', smaller(("map", S)), smaller(S, 0))
        if c == 12:
            return self.join('coalesce({}, "z")', smaller(S))
        if c == 13:
            return self.join('element(concat({}, ["e"]), 0)', smaller(("list", S)))
        if c == 14:
            return self.join("tostring({})", smaller(self.pick([N, BOOL])))
        if c == 15 and self.features["provider_functions"] and self.lab:
            return self.join("provider::lab::upper({})", smaller(S))
        if c == 16:
            return self.pick(["path.module", "terraform.workspace", "basename(path.module)", "path.root", "tofu.workspace"]), frozenset()
        return self.join('"%{{ if {} }}{}%{{ else }}no%{{ endif }}"', smaller(BOOL), (self.pick(["yes", "${1 + 1}", "a"]), frozenset()))

    def numeric(self, t, smaller):
        """A number: operator or function."""
        c = self.random.randint(0, 6)
        if c <= 1:
            return self.join("{} " + self.pick(["+", "-", "*"]) + " {}", smaller(N), smaller(N))
        if c == 2:
            return self.join("length({})", smaller(self.pick([("list", S), ("map", S), S, ("set", S)])))
        if c == 3:
            return self.join(self.pick(["max({}, {})", "min({}, {})"]), smaller(N), smaller(N, 0))
        if c == 4:
            return self.join(self.pick(["floor({})", "ceil({})", "abs({})", "signum({})", "-({})"]), smaller(N))
        if c == 5 and self.features["provider_functions"] and self.lab:
            return self.join("provider::lab::sum({}, {})", smaller(N), smaller(N, 0))
        return self.join("{} % 4", smaller(N, 0))

    def boolean(self, t, smaller):
        """A bool: comparison or logic."""
        c = self.random.randint(0, 6)
        if c == 0:
            return self.join("{} == {}", smaller(S), smaller(S))
        if c == 1:
            return self.join("{} " + self.pick(["<", ">", "<=", ">=", "!="]) + " {}", smaller(N), smaller(N, 0))
        if c == 2:
            return self.join("contains({}, {})", smaller(("list", S)), smaller(S, 0))
        if c == 3:
            return self.join("({} " + self.pick(["&&", "||"]) + " {})", smaller(BOOL), smaller(BOOL, 0))
        if c == 4:
            return self.join("!({})", smaller(BOOL))
        if c == 5:
            return self.join("can({})", smaller(self.type(1)))
        return self.join('startswith({}, "x")', smaller(S))

    def sequence(self, t, smaller):
        """A list: a literal or a function call."""
        c = self.random.randint(0, 7)
        if c <= 2:
            parts = [smaller(t[1]) for _ in range(self.random.randint(1, 3))]
            return self.join("[" + ", ".join(["{}"] * len(parts)) + "]", *parts)
        if c == 3:
            return self.join("concat({}, {})", smaller(t), smaller(t, 0))
        if c == 4 and t[1] == S:
            return self.join(self.pick(["sort({})", "distinct({})", "compact({})", "reverse({})"]), smaller(t))
        if c == 5 and t[1] == S:
            return self.join("keys({})", smaller(("map", S)))
        if c == 6 and t[1] == S:
            return self.join('split("-", {})', smaller(S))
        if c == 7:
            return self.join("values({})", smaller(("map", t[1])))
        return self.join("tolist([{}])", smaller(t[1]))

    def set_of(self, t, smaller):
        """A set from a list."""
        return self.join("toset({})", smaller(("list", t[1])))

    def mapping(self, t, smaller):
        """A map: a literal, merged or converted."""
        c = self.random.randint(0, 3)
        if c <= 1:
            keys = self.random.sample(KEYS[:4], self.random.randint(1, 2))
            parts = [smaller(t[1]) for _ in keys]
            return self.join("{{ " + ", ".join(f"{x} = {{}}" for x in keys) + " }}", *parts)
        if c == 2:
            return self.join("merge({}, {})", smaller(t), smaller(t, 0))
        return self.join("tomap({})", smaller(t))

    def object_of(self, t, smaller):
        """An object, sometimes without an optional attribute."""
        parts = [(n, smaller(x)) for n, x, optional in t[1] if optional is None or self.chance(0.6)]
        form = "{{ " + ", ".join(f"{n} = {{}}" for n, _ in parts) + " }}" if parts else "{{}}"
        return self.join(form, *[p for _, p in parts])

    def tuple_of(self, t, smaller):
        """A tuple literal."""
        parts = [smaller(x) for x in t[1]]
        return self.join("[" + ", ".join(["{}"] * len(parts)) + "]", *parts)

    def condition(self, refs, allow=frozenset("us")):
        """A condition over one of these references, usually true."""
        if not refs or self.chance(0.12):
            text = self.expr(BOOL, 1, allow)[0]
            if re.search(r"\b(var|local|module|data|self|each|count|terraform_data|lab_\w+|oldlab_\w+)\.", text) or self.features["wrong"]:
                return text
            return f'terraform.workspace != "" || {text}'
        r = self.pick(refs)
        if r.type == S:
            return self.pick(['{0} != "nope"', "length({0}) > 0", 'can(regex(".*", {0}))', "{0} == {0}", "length({0}) < 400", "length({0}) < 4"] if self.chance(0.5) else ['{0} != "nope"']).format(r.text)
        if r.type == N:
            return self.pick(["{0} < 100000", "{0} >= 0", "{0} == {0}", "{0} < 100000", "{0} < 100000", "{0} < 3"]).format(r.text)
        if r.type == BOOL:
            return self.pick(["{0} || true", "{0} || true", "{0}", "!{0} || true"]).format(r.text)
        if r.type[0] in ("list", "set", "map"):
            return self.pick(["length({0}) >= 0", "length({0}) < 30", "length({0}) < 30", "length({0}) < 3", "can(length({0}))"]).format(r.text)
        return f"can({r.text})"
