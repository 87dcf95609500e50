"""Random choices: names, types and literals."""
from .configuration import ANY, BOOL, N, S, Reference

WORDS = ["web", "db", "edge", "core", "node", "site", "unit", "hub", "cell", "port", "gate", "lamp"]
KEYS = ["a", "b", "c", "d", "x1", "y-2"]
TEXTS = ["one", "two", "red", "blue", "Ünïcode", "a b", "", "x-1", "007", "true", "12", "tail ", "q/z", "100%", "line\\nbreak", "tab\\tq", "\\\"q\\\"", "$${no}"]


class Choices:
    """Random choices for all other parts of the generator."""

    def chance(self, p):
        """True with this probability."""
        return self.random.random() < p

    def pick(self, xs):
        """One of these items."""
        return self.random.choice(list(xs))

    def fresh(self, m=None):
        """A name that the module does not use yet."""
        m = m or self.module_now
        for _ in range(50):
            n = self.pick(WORDS) + ("" if self.chance(0.5) else self.pick(["_x", "-y", "2", "_main"]))
            if n not in m.names:
                m.names.add(n)
                return n
        self.counter += 1
        return f"n{self.counter}"

    def unique(self):
        """A text that is unique in the scenario."""
        self.counter += 1
        return f"{self.pick(WORDS)}{self.counter}"

    def text(self):
        """A literal string."""
        return '"' + self.pick(TEXTS if self.chance(0.35) else TEXTS[:4]) + '"'

    def number(self):
        """A literal number."""
        return self.pick(["0", "1", "2", "3", "7", "10", "42", "-1", "0.5", "1.50", "1e3", "12345678901234567890", "3.14159265358979"] if self.chance(0.4) else ["1", "2", "3", "5"])

    def type(self, d=2):
        """A type constraint, at most `d` levels deep."""
        k = self.random.random()
        if d == 0 or k < 0.55:
            return self.pick([S, S, N, BOOL])
        if k < 0.67:
            return ("list", self.type(d - 1))
        if k < 0.75:
            return ("set", self.pick([S, S, N]))
        if k < 0.87:
            return ("map", self.type(d - 1))
        if k < 0.97:
            names = self.random.sample(["name", "size", "on", "tags", "inner"], self.random.randint(1, 3))
            out = []
            for n in names:
                t = self.type(d - 1)
                opt = None
                if self.features["optional"] and self.chance(0.4):
                    opt = self.lit(t, 1) if self.chance(0.5) else ""
                out.append((n, t, opt))
            return ("object", tuple(out))
        return ("tuple", tuple(self.type(0) for _ in range(self.random.randint(1, 3))))

    def lit(self, t, d=2):
        """A literal of this type."""
        k = t[0]
        if k == "string":
            return self.text()
        if k == "number":
            return self.number()
        if k == "bool":
            return self.pick(["true", "false"])
        if k in ("list", "set"):
            return "[" + ", ".join(self.lit(t[1], d - 1) for _ in range(self.random.choice([0, 1, 2, 2, 3]))) + "]"
        if k == "tuple":
            return "[" + ", ".join(self.lit(x, d - 1) for x in t[1]) + "]"
        if k == "map":
            ks = self.random.sample(KEYS[:4], self.random.choice([0, 1, 2, 2]))
            return "{ " + ", ".join(f"{x} = {self.lit(t[1], d - 1)}" for x in ks) + " }" if ks else "{}"
        if k == "object":
            parts = [f"{n} = {self.lit(x, d - 1)}" for n, x, opt in t[1] if opt is None or self.chance(0.5)]
            return "{ " + ", ".join(parts) + " }" if parts else "{}"
        return self.lit(self.type(1), d)
