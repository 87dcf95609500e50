"""Changes of a configuration between two runs."""
import json
import re

from .choices import KEYS
from .configuration import LAB, REQUIRED, S, Argument, Block, Reference, Resource, render
from .modules import Modules


class Changes(Modules):
    """The changes that a user makes to a configuration."""

    def replace_text(self, m, old, new):
        """Replaces an address in all expressions of a module."""
        pattern = re.compile(r"(?<![\w.-])" + re.escape(old) + r"(?![\w-])")

        def go(items):
            for i in items:
                if isinstance(i, Argument):
                    i.expr = pattern.sub(new.replace("\\", r"\\"), i.expr)
                else:
                    go(i.items)
        for f in m.files.values():
            go(f)

    def used(self, m, at):
        """Whether a module mentions this address."""
        text = "".join(render(f) for f in m.files.values())
        return len(re.findall(r"(?<![\w.-])" + re.escape(at) + r"(?![\w-])", text)) > 0

    def evolve(self):
        """Makes one change and returns its name, or None if there was nothing to change."""
        m = self.pick([self.root, self.root, *self.mods.values()])
        managed = [x for x in m.res if x.mode == "managed"]
        kind = self.pick(["attr", "attr", "attr", "remove", "rename", "repeat", "repeat", "lifecycle", "variable", "output", "module", "alias", "import",
                          "add", "reshape", "toggle", "unoutput", "local", "into", "keys", "retype", "imports"])
        self.module_now, self.loops = m, []
        if kind in ("attr", "toggle"):
            return self.change_argument(m, managed, kind) if managed else None
        if kind in ("keys", "remove", "rename", "repeat", "lifecycle", "into", "retype"):
            return getattr(self, "change_" + kind)(m, managed) if managed else None
        return getattr(self, "change_" + kind)(m)

    def take_out(self, m, b):
        """Removes a block from its file."""
        for f in m.files.values():
            if b in f:
                f.remove(b)

    def change_argument(self, m, managed, kind):
        """Changes or removes the value of an argument of a resource."""
        x = self.pick(managed)
        b = x.block
        self.loops = [Reference("each.key", S)] if x.rep and x.rep.startswith("for_each") else []
        if x.type == "terraform_data":
            name = self.pick(["input", "input", "triggers_replace"])
            t = self.type(2)
        else:
            name = self.pick(list(LAB[x.type]))
            t = LAB[x.type][name]
        early = m.refs
        m.refs = [v for v in m.refs if v.text.startswith(("var.",))]
        if kind == "toggle" and b.attr(name) and name not in REQUIRED.get(x.type, []):
            b.drop(name)
        else:
            b.set(name, self.expr(t, 2)[0] if name not in ("name", "title") or x.rep else f'"{self.unique()}"')
        m.refs = early
        return f"{kind} {name}"

    def change_keys(self, m, managed):
        """Changes the instances of a resource."""
        xs = [x for x in managed if x.rep in ("count", "for_each") and x.block.attr(x.rep)]
        if not xs:
            return None
        x = self.pick(xs)
        if x.rep == "count":
            x.keys = list(range(self.pick([0, 1, 2, 3])))
            x.block.set("count", str(len(x.keys)))
        else:
            x.keys = sorted(set(self.random.sample(KEYS, 2)))
            x.block.set("for_each", "toset([" + ", ".join(f'"{k}"' for k in x.keys) + "])")
        return "keys"

    def change_remove(self, m, managed):
        """Removes a resource, with or without a removed block."""
        x = self.pick(managed)
        self.take_out(m, x.block)
        m.res.remove(x)
        self.purge(m, x.at)
        if self.chance(0.45):
            items = [Argument("from", x.at)]
            if self.chance(0.8):
                items.append(Block("lifecycle", [], [Argument("destroy", self.pick(["true", "false"]))]))
            m.add(Block("removed", [], items))
            return "removed"
        return "remove"

    def change_rename(self, m, managed):
        """Renames a resource, with or without a moved block."""
        x = self.pick(managed)
        new = self.fresh(m)
        old = x.at
        self.replace_text(m, old, f"{x.type}.{new}")
        x.block.labels[1] = new
        x.name = new
        self.rename_refs(m, old, x.at)
        if self.chance(0.75):
            m.add(Block("moved", [], [Argument("from", old), Argument("to", x.at)]))
        return "rename"

    def change_repeat(self, m, managed):
        """Changes a resource from one object to several, from count to for_each, or back."""
        x = self.pick(managed)
        b = x.block
        if x.rep is None:
            self.replace_text(m, x.at, x.at + "[0]") if not self.chance(0.1) else None
            self.drop_refs(m, x.at)
            b.items.insert(0, Argument("count", self.pick(["1", "2"])))
            x.rep, x.keys = "count", [0]
            return "to count"
        if x.rep == "count":
            b.drop("count")
            b.items.insert(0, Argument("for_each", 'toset(["a", "b"])'))
            self.replace_text(m, "count.index", "each.key")
            self.purge(m, x.at)
            if self.chance(0.6):
                m.add(Block("moved", [], [Argument("from", x.at + "[0]"), Argument("to", x.at + '["a"]')]))
            x.rep, x.keys = "for_each", ["a", "b"]
            return "to for_each"
        if x.rep == "for_each" and not any("each." in i.expr for i in self.all_attrs(b)):
            b.drop("for_each")
            self.purge(m, x.at)
            if x.keys and self.chance(0.6):
                m.add(Block("moved", [], [Argument("from", f'{x.at}["{x.keys[0]}"]'), Argument("to", x.at)]))
            x.rep, x.keys = None, []
            return "to single"
        return None

    def change_lifecycle(self, m, managed):
        """Changes the lifecycle of a resource."""
        x = self.pick(managed)
        life = x.block.block("lifecycle")
        if not life:
            life = Block("lifecycle")
            x.block.items.append(life)
        c = self.random.randint(0, 4)
        if c == 0:
            life.set("create_before_destroy", self.pick(["true", "false"]))
        elif c == 1:
            life.set("ignore_changes", "all")
        elif c == 2:
            life.set("prevent_destroy", self.pick(["true", "false"]))
        elif c == 3:
            life.set("destroy", self.pick(["false", "true"]))
        else:
            life.items = [i for i in life.items if isinstance(i, Argument) and i.name == "enabled"]
        return "lifecycle"

    def change_variable(self, m):
        """Changes the default of a variable."""
        if not m.blocks("variable"):
            return None
        b = self.pick(m.blocks("variable"))
        t = next((v[1] for v in m.variables if v[0] == b.labels[0]), None)
        if t:
            b.set("default", self.lit(t))
            return "default"
        return None

    def change_output(self, m):
        """Adds an output to the root module."""
        self.outputs(self.root, 1)
        return "output"

    def change_unoutput(self, m):
        """Removes an output of the root module, or makes it sensitive."""
        if not self.root.blocks("output"):
            return None
        b = self.pick(self.root.blocks("output"))
        if self.chance(0.5):
            self.take_out(self.root, b)
            return "no output"
        b.set("sensitive", "true")
        return "output sensitive"

    def change_module(self, m):
        """Renames or removes a module call, or adds a count."""
        root = self.root
        if not root.calls:
            return None
        i = self.random.randrange(len(root.calls))
        name, rep, keys, child = root.calls[i]
        b = next((b for b in root.blocks("module") if b.labels == [name]), None)
        if b is None:
            return None
        c = self.random.random()
        if c < 0.4:
            new = self.fresh(root)
            self.replace_text(root, f"module.{name}", f"module.{new}")
            self.rename_refs(root, f"module.{name}", f"module.{new}")
            b.labels = [new]
            root.calls[i] = (new, rep, keys, child)
            if self.chance(0.75):
                root.add(Block("moved", [], [Argument("from", f"module.{name}"), Argument("to", f"module.{new}")]))
            return "rename module"
        if c < 0.7:
            self.take_out(root, b)
            self.purge(root, f"module.{name}")
            root.calls.pop(i)
            if self.chance(0.4):
                life = Block("lifecycle", [], [Argument("destroy", self.pick(["true", "false"]))])
                root.add(Block("removed", [], [Argument("from", f"module.{name}"), life]))
            return "no module"
        if rep is None:
            b.items.insert(1, Argument("count", "1"))
            self.replace_text(root, f"module.{name}", f"module.{name}[0]")
            self.drop_refs(root, f"module.{name}")
            root.calls[i] = (name, "count", [0], child)
            return "module to count"
        return None

    def change_alias(self, m):
        """Changes the provider configuration of a resource of the root module."""
        if not (self.lab and self.root.res):
            return None
        xs = [x for x in self.root.res if x.type.startswith("lab") and x.mode == "managed"]
        if not xs:
            return None
        x = self.pick(xs)
        if x.block.attr("provider") and self.chance(0.5):
            x.block.drop("provider")
        elif self.aliases:
            p = self.pick(self.aliases)
            x.block.set("provider", f'{p}["{self.keyed[1][0]}"]' if self.keyed and p == self.keyed[0] else p)
        else:
            return None
        return "alias"

    def change_import(self, m):
        """Adds an import block for an existing object."""
        if not self.lab:
            return None
        root = self.root
        name = self.fresh(root)
        n = f"old-{name}"
        object_id = "lab-0000000000%02x" % self.random.randrange(256)
        b = Block("resource", ["lab_thing", name], [Argument("name", f'"{n}"')] + ([Argument("size", "4")] if self.chance(0.4) else []))
        root.add(b)
        root.res.append(Resource("managed", "lab_thing", name, None, [], b))
        how = Argument("id", f'"{object_id}"') if self.chance(0.8) else Argument("identity", f'{{ name = "{n}" }}')
        root.add(Block("import", [], [Argument("to", f"lab_thing.{name}"), how]))
        self.pending = {"write": {f"store/things/{object_id}.json": json.dumps({"name": n, "size": self.pick([1, 4])})}}
        return "import"

    def change_retype(self, m, managed):
        """Changes a widget to a thing with a moved block."""
        xs = [x for x in managed if x.type == "lab_widget"]
        if not xs:
            return None
        x = self.pick(xs)
        old = x.at
        x.type = x.block.labels[0] = "lab_thing"
        for i in x.block.items:
            if isinstance(i, Argument) and i.name == "title":
                i.name = "name"
            if isinstance(i, Block) and i.type == "lifecycle":
                i.items = [y for y in i.items if not (isinstance(y, Argument) and y.name == "ignore_changes")]
        self.replace_text(m, old, x.at)
        self.rename_refs(m, old, x.at)
        self.replace_text(m, x.at + ".title", x.at + ".name")
        m.add(Block("moved", [], [Argument("from", old), Argument("to", x.at)]))
        return "retype"

    def change_imports(self, m):
        """Adds an import block with for_each."""
        if not self.lab:
            return None
        root = self.root
        name = self.fresh(root)
        b = Block("resource", ["lab_thing", name], [Argument("for_each", 'toset(["p", "q"])'), Argument("name", f'"{name}-${{each.key}}"')])
        root.add(b)
        root.res.append(Resource("managed", "lab_thing", name, "for_each", ["p", "q"], b))
        ids = {k: "lab-00000000%s%03x" % (k.replace("p", "a").replace("q", "b"), self.random.randrange(4096)) for k in "pq"}
        each = Argument("for_each", '{ p = "%s", q = "%s" }' % (ids["p"], ids["q"]))
        root.add(Block("import", [], [each, Argument("to", f"lab_thing.{name}[each.key]"), Argument("id", "each.value")]))
        self.pending = {"write": {f"store/things/{i}.json": json.dumps({"name": f"{name}-{k}"}) for k, i in ids.items()}}
        return "imports"

    def change_add(self, m):
        """Adds a resource to the root module."""
        self.resource(self.root)
        return "add"

    def change_reshape(self, m):
        """Converts a file between native and JSON syntax."""
        files = [f for f in m.files if f.endswith(".tf")]
        if not files:
            return None
        m.json ^= {self.pick(files)}
        return "syntax"

    def change_local(self, m):
        """Changes the literal of a local value."""
        blocks = [b for b in m.blocks("locals") if b.items]
        if not blocks:
            return None
        a = self.pick(self.pick(blocks).items)
        if re.fullmatch(r'"[^"]*"|\d+', a.expr):
            a.expr = self.text() if a.expr[0] == '"' else "9"
            return "local"
        return None

    def change_into(self, m, managed):
        """Moves a resource of the root module into a child module."""
        root = self.root
        if m is not root or not root.calls:
            return None
        name, rep, keys, child = self.pick(root.calls)
        xs = [x for x in managed if x.type == "terraform_data" and x.rep is None]
        if not xs or rep is not None:
            return None
        x = self.pick(xs)
        if any(re.search(r"\b(var|local|module|data|terraform_data|lab_\w+|oldlab_\w+)\.", i.expr) for i in self.all_attrs(x.block)):
            return None
        self.take_out(root, x.block)
        root.res.remove(x)
        self.purge(root, x.at)
        if x.name in {b.labels[1] for b in child.blocks("resource")}:
            return None
        child.add(x.block)
        child.res.append(x)
        root.add(Block("moved", [], [Argument("from", x.at), Argument("to", f"module.{name}.{x.at}")]))
        return "into module"

    def all_attrs(self, b):
        """All arguments of a block, including nested ones."""
        for i in b.items:
            if isinstance(i, Argument):
                yield i
            else:
                yield from self.all_attrs(i)

    def rename_refs(self, m, old, new):
        """Updates the references of a module after a rename."""
        for v in m.refs:
            v.text = re.sub(r"(?<![\w.-])" + re.escape(old) + r"(?![\w-])", lambda _: new, v.text)

    def drop_refs(self, m, at):
        """Removes the references to an address."""
        m.refs = [v for v in m.refs if not re.search(r"(?<![\w.-])" + re.escape(at) + r"(?![\w-])", v.text)]

    def purge(self, m, at):
        """Replaces expressions that mention a removed address, so that the configuration stays valid."""
        self.drop_refs(m, at)
        pattern = re.compile(r"(?<![\w.-])" + re.escape(at) + r"(?![\w-])")
        instead = {"count": "1", "for_each": 'toset(["a"])', "condition": "length(terraform.workspace) > 0"}

        def without(items):
            keep = []
            for i in items:
                if isinstance(i, Argument):
                    if pattern.search(i.expr):
                        if i.name in ("depends_on", "replace_triggered_by", "from", "to"):
                            continue
                        i.expr = instead.get(i.name, '"gone"')
                else:
                    if i.type in ("moved", "removed", "import") and any(pattern.search(x.expr) for x in self.all_attrs(i)):
                        continue
                    i.items = without(i.items)
                keep.append(i)
            return keep
        for f in m.files:
            m.files[f] = without(m.files[f])
