"""The elements of a generated configuration: blocks, arguments, types, and the schemas of the providers."""

S, N, BOOL, ANY = ("string",), ("number",), ("bool",), ("any",)


class Argument:
    def __init__(self, name, expr):
        self.name, self.expr = name, expr


class Block:
    def __init__(self, type_, labels=(), items=()):
        self.type, self.labels, self.items = type_, list(labels), list(items)

    def attr(self, name):
        return next((i for i in self.items if isinstance(i, Argument) and i.name == name), None)

    def block(self, type_):
        return next((i for i in self.items if isinstance(i, Block) and i.type == type_), None)

    def set(self, name, expr):
        a = self.attr(name)
        if a:
            a.expr = expr
        else:
            at = next((n for n, i in enumerate(self.items) if isinstance(i, Block)), len(self.items))
            self.items.insert(at, Argument(name, expr))

    def drop(self, name):
        self.items = [i for i in self.items if not (isinstance(i, Argument) and i.name == name)]


def render(blocks, indent=""):
    out = []
    for b in blocks:
        if isinstance(b, Argument):
            out.append(f"{indent}{b.name} = {b.expr}\n")
            continue
        head = " ".join([b.type, *(f'"{x}"' for x in b.labels)])
        if not b.items:
            out.append(f"{indent}{head} {{\n{indent}}}\n")
        else:
            out.append(f"{indent}{head} {{\n{render(b.items, indent + '  ')}{indent}}}\n")
    return "".join(out)


def type_text(t):
    k = t[0]
    if k in ("list", "set", "map"):
        return f"{k}({type_text(t[1])})"
    if k == "tuple":
        return "tuple([" + ", ".join(type_text(x) for x in t[1]) + "])"
    if k == "object":
        parts = []
        for name, x, opt in t[1]:
            parts.append(f"{name} = " + (type_text(x) if opt is None else f"optional({type_text(x)}" + (f", {opt})" if opt else ")")))
        return "object({ " + ", ".join(parts) + " })"
    return k


class Reference:
    def __init__(self, text, type_, marks=""):
        self.text, self.type, self.marks = text, type_, frozenset(marks)


class Resource:
    """A managed or data resource as the generator knows it."""

    def __init__(self, mode, type_, name, rep, keys, block):
        self.mode, self.type, self.name, self.rep, self.keys, self.block = mode, type_, name, rep, keys, block

    @property
    def at(self):
        return ("" if self.mode == "managed" else self.mode + ".") + f"{self.type}.{self.name}"


class Module:
    def __init__(self, path):
        self.path, self.files, self.refs, self.res, self.calls, self.variables, self.outputs = path, {}, [], [], [], [], []
        self.json, self.names = set(), set()

    def add(self, block, file="main.tf"):
        self.files.setdefault(file, []).append(block)
        return block

    def blocks(self, type_=None):
        return [b for f in self.files.values() for b in f if type_ in (None, b.type)]


LAB = {
    "lab_thing": {"name": S, "size": N, "color": S, "zone": S, "labels": ("map", S), "tags": ("set", S), "notes": ("list", S), "secret": S},
    "lab_widget": {"title": S, "size": N},
    "lab_link": {"from": S, "to": S, "weight": N},
    "lab_any": {"value": ANY},
    "lab_singleton": {"name": S, "value": S},
    "oldlab_box": {"name": S, "size": N, "kind": S, "labels": ("map", S), "tags": ("set", S), "body": S, "password": S},
}
REQUIRED = {"lab_thing": ["name"], "lab_widget": ["title"], "lab_link": ["from", "to"], "lab_any": [], "lab_singleton": ["name"], "oldlab_box": ["name"]}
COMPUTED = {"lab_thing": {"id": S, "zone": S, "region": S, "revision": N, "endpoint.host": S, "endpoint.port": N}, "lab_widget": {"id": S},
            "lab_link": {"id": S}, "lab_any": {"id": S, "echo": ANY}, "lab_singleton": {"id": S},
            "oldlab_box": {"id": S, "kind": S, "generation": N, "status[0].state": S}, "terraform_data": {"id": S}}
FOLDER = {"lab_thing": "things", "lab_widget": "widgets", "lab_link": "links", "lab_any": "anys", "lab_singleton": "singletons", "oldlab_box": "boxes"}
