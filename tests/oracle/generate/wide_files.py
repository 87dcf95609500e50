"""Files of the wide family: values in layers, overrides of every block, templates, encryption, states of others."""
import json

import hcl

from .choices import KEYS
from .configuration import BOOL, N, S, Argument, Block, Reference, Resource, render
from .steps import Steps

PASSPHRASE = "correct-horse-battery-staple"
ITERATIONS = 200000  # the minimum of OpenTofu, so that scenarios do not spend their time on encryption
OTHER_STATE = {"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "1a9e3c1e-6f1e-4d3e-9a53-0d8f53a1c001",
               "outputs": {"name": {"value": "other", "type": "string"}, "ports": {"value": [80, 443], "type": ["list", "number"]},
                           "secret": {"value": "hidden", "type": "string", "sensitive": True}}, "resources": [], "check_results": None}


class WideFiles(Steps):
    """Adds files and blocks to a configuration."""

    def enrich(self):
        """Adds some of the extras to the usual configuration."""
        root = self.root
        self.module_now, self.loops = root, []
        self.placed = []  # objects that exist in the store before the first command
        for chance, add in ((0.25, self.layered_values), (0.15, self.wide_override), (0.2, self.templates), (0.1, self.other_state),
                            (0.06, self.encryption), (0.2, self.early_blocks), (0.25, self.write_only), (0.25, self.nested_check),
                            (0.15, self.constant_source), (0.25, self.keyed_module), (0.2, self.console_names), (0.1, self.provider_extras)):
            if self.chance(chance):
                add()
        if self.chance(0.08):
            root.json |= set(root.files)

    def layered_values(self):
        """Sets one variable in every possible source, to test their precedence."""
        name = self.fresh(self.root)
        t = self.pick([S, S, N, ("list", S), ("map", N), ("object", (("name", S, None), ("size", N, "7")))])
        self.root.add(Block("variable", [name], [Argument("type", {"object": "object({ name = string, size = optional(number, 7) })"}.get(t[0]) or self.type_of(t)),
                                                 Argument("default", self.lit(t))]))
        self.root.add(Block("output", [f"{name}_given"], [Argument("value", f"var.{name}")]))
        self.root.refs.append(Reference(f"var.{name}", t))
        plain = lambda: self.plain_literal(t)  # noqa: E731
        for file in ("terraform.tfvars", "a.auto.tfvars", "b.auto.tfvars"):
            if self.chance(0.4):
                self.extra[file] = self.extra.get(file, "") + f"{name} = {plain()}\n"
        for file in ("terraform.tfvars.json", "c.auto.tfvars.json"):
            if self.chance(0.3) and file not in self.extra:
                self.extra[file] = json.dumps({name: hcl.literal(plain())}) + "\n"
        if self.chance(0.4):
            v = plain()
            self.env[f"TF_VAR_{name}"] = json.loads(v) if v.startswith('"') else v
        if self.chance(0.5):
            self.extra["given.tfvars"] = f"{name} = {plain()}\n"
            self.flags.append("-var-file=given.tfvars")
        if self.chance(0.3):
            self.extra["given.tfvars.json"] = json.dumps({name: hcl.literal(plain())}) + "\n"
            self.flags.append("-var-file=given.tfvars.json")
        if self.chance(0.4):
            v = plain()
            self.flags.append(f"-var={name}={json.loads(v) if v.startswith(chr(34)) else v}")
        self.random.shuffle(self.flags)

    def type_of(self, t):
        """The text of a simple type."""
        return t[0] if len(t) == 1 else f"{t[0]}({t[1][0]})"

    def plain_literal(self, t):
        """A literal without escapes."""
        if t == S:
            return f'"{self.pick(KEYS)}{self.random.randrange(9)}"'
        if t == N:
            return str(self.random.randrange(100))
        if t[0] == "list":
            return "[" + ", ".join(f'"{k}"' for k in self.random.sample(KEYS, self.random.randrange(3))) + "]"
        if t[0] == "map":
            return "{ " + ", ".join(f"{k} = {self.random.randrange(9)}" for k in self.random.sample(KEYS[:4], self.random.randrange(1, 3))) + " }"
        return f'{{ name = "{self.pick(KEYS)}" }}'

    def wide_override(self):
        """Override files over more kinds of blocks, in both syntaxes."""
        root, out = self.root, []
        self.module_now, self.loops = root, []
        for b in root.blocks():
            if b.type == "module" and self.chance(0.4):
                source = b.attr("source")
                out.append(Block("module", b.labels, [Argument("source", source.expr)] + ([Argument("count", "1")] if b.attr("count") else [])))
            elif b.type == "provider" and not b.attr("alias") and self.chance(0.5):
                out.append(Block("provider", b.labels, [Argument("region", '"override"')]))
            elif b.type == "data" and b.labels[0] == "lab_echo" and self.chance(0.4):
                out.append(Block("data", b.labels, [Argument("value", '"over"')]))
            elif b.type == "locals" and b.items and self.chance(0.3):
                out.append(Block("locals", [], [Argument(b.items[-1].name, b.items[-1].expr)]))
            elif b.type == "resource" and b.labels[0] == "lab_thing" and self.chance(0.3):
                life = Block("lifecycle", [], [Argument("ignore_changes", self.pick(["[color]", "all"]))])
                out.append(Block("resource", b.labels, [Argument("color", '"grey"')] + ([life] if self.chance(0.5) else [])))
            elif b.type == "variable" and b.attr("default") and self.chance(0.3):
                out.append(Block("variable", b.labels, [Argument("description", '"said later"')]))
            elif b.type == "output" and self.chance(0.2):
                out.append(Block("output", b.labels, [Argument("description", '"told"')]))
        if not out:
            return
        if self.chance(0.4):
            try:
                self.extra["z_override.tf.json"] = json.dumps(hcl.to_json(render(out)), indent=2, ensure_ascii=False) + "\n"
                return
            except hcl.Unreadable:
                pass
        root.files[self.pick(["override.tf", "b_override.tf", "override.tofu"])] = out

    def templates(self):
        """Adds files that the configuration reads."""
        self.extra["tpl/greeting.tftpl"] = "Hello ${name}!\n%{ for p in ports ~}\n- ${p}%{ if p == 80 } (web)%{ endif }\n%{ endfor ~}\nend\n"
        self.extra["tpl/data.json"] = json.dumps({"ports": [80, 8080], "on": True}) + "\n"
        self.extra["tpl/data.yaml"] = "name: yaml\nlist:\n  - 1\n  - two\n"
        name = self.fresh(self.root)
        value = self.pick(['templatefile("${path.module}/tpl/greeting.tftpl", { name = %s, ports = [80, 443] })' % self.expr(S, 0, frozenset("u"))[0],
                           'jsondecode(file("${path.module}/tpl/data.json")).ports', 'yamldecode(file("tpl/data.yaml"))', 'sort(fileset(path.module, "tpl/*"))',
                           'filesha256("tpl/data.json")', '{ for f in fileset("tpl", "*.json") : f => filemd5("tpl/${f}") }', 'fileexists("tpl/none")'])
        self.root.add(Block("output", [name], [Argument("value", value)]))
        if self.chance(0.5):
            n = self.fresh(self.root)
            b = Block("resource", ["terraform_data", n], [Argument("input", value)])
            self.root.add(b)
            self.root.res.append(Resource("managed", "terraform_data", n, None, [], b))

    def other_state(self):
        """Reads the outputs of another configuration."""
        self.extra["other/terraform.tfstate"] = json.dumps(OTHER_STATE, indent=2) + "\n"
        name = self.fresh(self.root)
        items = [Argument("backend", '"local"'), Argument("config", '{ path = "${path.module}/other/terraform.tfstate" }')]
        if self.chance(0.3):
            items.append(Argument("defaults", '{ extra = "none" }'))
        self.root.add(Block("data", ["terraform_remote_state", name], items))
        at = f"data.terraform_remote_state.{name}.outputs"
        self.root.refs += [Reference(f"{at}.name", S), Reference(f"{at}.ports[0]", N)]
        self.root.add(Block("output", [f"from_{name}"], [Argument("value", self.pick([f"{at}.ports", f"{at}.name", f"upper({at}.name)"]))]))
        if self.chance(0.3):
            self.root.add(Block("output", [f"hidden_{name}"], [Argument("value", f"{at}.secret"), Argument("sensitive", "true")]))

    def encryption(self):
        """Encrypts state and plan with a passphrase."""
        key = Block("key_provider", ["pbkdf2", "main"], [Argument("passphrase", f'"{PASSPHRASE}"'), Argument("iterations", str(ITERATIONS))])
        method = Block("method", ["aes_gcm", "main"], [Argument("keys", "key_provider.pbkdf2.main")])
        target = lambda n: Block(n, [], [Argument("method", "method.aes_gcm.main")])  # noqa: E731
        b = Block("encryption", [], [key, method, target("state")] + ([target("plan")] if self.chance(0.5) else []))
        if self.chance(0.3):
            self.env["TF_ENCRYPTION"] = render(b.items)
        else:
            self.root.add(Block("terraform", [], [b]), self.pick(["main.tf", "encryption.tf"]))

    def early_blocks(self):
        """Adds blocks about addresses before the first apply: valid, usually without effect."""
        root, kind = self.root, self.pick(["moved", "moved", "removed", "import", "import"])
        managed = [x for x in root.res if x.mode == "managed"]
        if kind == "moved" and managed:
            x = self.pick(managed)
            root.add(Block("moved", [], [Argument("from", f"{x.type}.{self.fresh(root)}"), Argument("to", x.at)]))
        elif kind == "removed":
            life = Block("lifecycle", [], [Argument("destroy", self.pick(["true", "false"]))])
            root.add(Block("removed", [], [Argument("from", f"terraform_data.{self.fresh(root)}"), life]))
        elif kind == "import" and self.lab:
            self.place_import()

    def place_import(self):
        """Adds an object in the store, and an import block for it."""
        root, name = self.root, self.fresh(self.root)
        object_id = "lab-00000000c0%02x" % self.random.randrange(256)
        self.placed.append({"write": {f"store/things/{object_id}.json": json.dumps({"name": f"there-{name}", "size": self.pick([1, 6]), "color": "red"})}})
        b = Block("resource", ["lab_thing", name], [Argument("name", f'"there-{name}"'), Argument("color", '"red"')])
        root.add(b)
        root.res.append(Resource("managed", "lab_thing", name, None, [], b))
        how = self.pick([Argument("id", f'"{object_id}"'), Argument("id", f'lower("{object_id.upper()}")'), Argument("identity", f'{{ name = "there-{name}" }}')])
        root.add(Block("import", [], [Argument("to", f"lab_thing.{name}"), how]))

    def write_only(self):
        """Uses ephemeral values in a write-only argument."""
        if not self.lab:
            return
        root = self.root
        token, name, secret = (self.fresh(root) for _ in range(3))
        root.add(Block("ephemeral", ["lab_token", token], [Argument("name", f'"{token}"')] + ([Argument("count", "1")] if self.chance(0.2) else [])))
        indexed = f"ephemeral.lab_token.{token}" + ("[0]" if root.blocks("ephemeral")[-1].attr("count") else "")
        root.add(Block("variable", [secret], [Argument("type", "string"), Argument("ephemeral", "true"), Argument("default", self.pick(["null", '"given"']))]))
        value = self.pick([f"{indexed}.token", f"var.{secret}", f'"${{{indexed}.token}}-x"'])
        b = Block("resource", ["lab_thing", name], [Argument("name", f'"wo-{name}"'), Argument("secret_wo", value), Argument("secret_wo_version", "1")])
        root.add(b)
        root.res.append(Resource("managed", "lab_thing", name, None, [], b))
        self.write_only_block = b

    def nested_check(self):
        """Adds a check with its own data source, which may fail."""
        root, name = self.root, self.fresh(self.root)
        items = []
        if self.lab and self.chance(0.6):
            items.append(Block("data", ["lab_echo", "seen"], [Argument("value", self.expr(S, 1, frozenset("u"))[0])]))
            condition = self.pick(['data.lab_echo.seen.result != "never"', "can(data.lab_echo.seen.result)", 'data.lab_echo.seen.result == "never"'])
        else:
            condition = self.condition([x for x in root.refs if not x.marks & {"e", "s"}], frozenset("u"))
        items.append(Block("assert", [], [Argument("condition", condition), Argument("error_message", f'"Check {name} does not hold."')]))
        root.add(Block("check", [name], items))

    def constant_source(self):
        """Adds a module with a computed source."""
        if not self.root.calls:
            return
        name, _, _, child = self.pick(self.root.calls)
        b = next((b for b in self.root.blocks("module") if b.labels == [name]), None)
        if b is None or child.path.count("/") != 1:
            return
        local = self.fresh(self.root)
        self.root.add(Block("locals", [], [Argument(local, f'"{child.path.split("/")[1]}"')]))
        b.set("source", f'"./mods/${{local.{local}}}"')

    def keyed_module(self):
        """Adds a provider with for_each, and passes it to a module with the same keys."""
        if not self.lab or self.keyed or "mods/keyed" in self.mods:
            return
        root, keys = self.root, sorted(self.random.sample(KEYS[:4], 2))
        root.add(Block("locals", [], [Argument("spots", "[" + ", ".join(f'"{k}"' for k in keys) + "]")]))
        root.add(Block("provider", ["lab"], [Argument("alias", '"spot"'), Argument("for_each", "toset(local.spots)"), Argument("region", "each.key")]))
        self.extra["mods/keyed/main.tf"] = ('terraform {\n  required_providers {\n    lab = {\n      source = "weft.test/lab/lab"\n    }\n  }\n}\n'
                                            'variable "name" {\n  type = string\n}\nresource "lab_widget" "w" {\n  title = var.name\n}\n'
                                            'data "lab_region" "here" {}\noutput "region" {\n  value = data.lab_region.here.name\n}\n')
        name = self.fresh(root)
        used = keys if self.chance(0.7) else keys[:1]
        each = "toset([" + ", ".join(f'"{k}"' for k in used) + "])"
        root.add(Block("module", [name], [Argument("source", '"./mods/keyed"'), Argument("for_each", each), Argument("name", f'"{name}-${{each.key}}"'),
                                          Argument("providers", "{\n    lab = lab.spot[each.key]\n  }")]))
        root.add(Block("output", [f"regions_{name}"], [Argument("value", f"{{ for k, m in module.{name} : k => m.region }}")]))

    def console_names(self):
        """Adds an output of every simple type, for commands that print them."""
        for n, (t, text) in enumerate((("o_list", '["a", "b"]'), ("o_map", "{ k = 1, l = 2 }"), ("o_object", '{ name = "x", on = true, none = null }'),
                                       ("o_text", '"two\\nlines"'), ("o_number", "1.5"), ("o_bool", "false"), ("o_set", 'toset(["z", "y"])'),
                                       ("o_nested", '{ a = [{ b = { c = [1, "x"] } }], "odd key" = {} }'))):
            if t not in self.root.names and self.chance(0.6):
                self.root.names.add(t)
                self.root.add(Block("output", [t], [Argument("value", text)] + ([Argument("sensitive", "true")] if self.chance(0.15) else [])))

    def provider_extras(self):
        """Adds a provider configuration that fails depending on a variable."""
        if not self.lab or any(b.labels == ["lab"] and not b.attr("alias") for b in self.root.blocks("provider")):
            return
        self.root.add(Block("variable", ["broken"], [Argument("type", "string"), Argument("default", "null")]))
        self.root.add(Block("provider", ["lab"], [Argument("fail_configure", "var.broken")]))
        self.breakable = True
