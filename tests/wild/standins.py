"""Stand-ins for unavailable providers, so that examples that need them can at least be validated. The schema of such a
program is what the available configurations write and read. Both tools get the same one.
"""
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Arguments of a resource block that belong to the language, not to its schema.
META = {"count", "for_each", "provider", "depends_on", "lifecycle", "provisioner", "connection", "enabled", "alias",
        "version", "providers"}
NAME = re.compile(r'[\w-]+|"[^"]*"')
READ = re.compile(r"\.([a-z][a-z0-9_]*)\b")
BLANK = re.compile(r"(?:\s+|#[^\n]*|//[^\n]*|/\*.*?\*/)+", re.S)
HEREDOC = re.compile(r"<<-?([\w-]+)\n")
SOURCE = re.compile(r'^\s*([\w-]+)\s*=\s*\{([^}]*)\}', re.M)


class Block:
    """A block or a file: the names of its attributes, and its blocks with their labels."""

    def __init__(self):
        self.attributes, self.blocks = set(), []


class Reader:
    """Reads the outline of an HCL file: the positions of attributes and blocks."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def blank(self):
        if found := BLANK.match(self.text, self.at):
            self.at = found.end()

    def body(self):
        block = Block()
        while True:
            self.blank()
            name = NAME.match(self.text, self.at)
            if not name:
                self.at += 1
                return block
            self.at = name.end()
            self.spaces()
            labels = []
            while label := NAME.match(self.text, self.at):
                labels.append(label.group().strip('"'))
                self.at = label.end()
                self.spaces()
            if self.text[self.at:self.at + 1] == "{":
                self.at += 1
                block.blocks.append((name.group(), labels, self.body()))
            else:
                block.attributes.add(name.group().strip('"'))
                self.expression()

    def spaces(self):
        while self.text[self.at:self.at + 1] in (" ", "\t"):
            self.at += 1

    def expression(self):
        """Skips to the end of the line on which no bracket is open."""
        depth = 0
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.string()
                continue
            if heredoc := HEREDOC.match(self.text, self.at):
                end = re.compile(rf"^[ \t]*{heredoc[1]}[ \t]*$", re.M).search(self.text, heredoc.end())
                self.at = end.end() if end else len(self.text)
                continue
            if character in "#/" and BLANK.match(self.text, self.at):
                self.at = BLANK.match(self.text, self.at).end()
                if depth == 0:
                    return
                continue
            depth += (character in "([{") - (character in ")]}")
            if depth < 0 or depth == 0 and character == "\n":
                return
            self.at += 1

    def string(self):
        """Skips a quoted text with the expressions inside it."""
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\":
                self.at += 2
            elif self.text.startswith(("${", "%{"), self.at):
                self.at += 2
                depth = 1
                while depth and self.at < len(self.text):
                    if self.text[self.at] == '"':
                        self.string()
                        continue
                    depth += (self.text[self.at] == "{") - (self.text[self.at] == "}")
                    self.at += 1
            else:
                self.at += 1
        self.at += 1


def written(block, into):
    """Adds the contents of a block to a schema."""
    into["attributes"] |= block.attributes - META
    for name, labels, inner in block.blocks:
        if name == "dynamic" and labels:
            name = labels[0]
            inner = next((content for kind, _, content in inner.blocks if kind == "content"), inner)
        if name not in META:
            written(inner, into["blocks"].setdefault(name, {"attributes": set(), "blocks": {}}))


def plain(schema, read=frozenset()):
    """A schema as JSON. The name of a nested block is not also an attribute."""
    return {"attributes": sorted((schema["attributes"] | read) - set(schema["blocks"]) - META),
            "blocks": {name: plain(inner) for name, inner in sorted(schema["blocks"].items())}}


class StandIns:
    """The provider requirements of the configurations below a folder."""

    def __init__(self, base):
        self.sources, self.read = {}, {}
        self.schemas = {"resource": {}, "data": {}, "provider": {}}
        for path in sorted(Path(base).rglob("*.tf")):
            text, checkout = path.read_text(errors="replace"), path.relative_to(base).parts[0]
            read, kinds = self.read.setdefault(checkout, (set(), set()))
            read |= set(READ.findall(text))
            for kind, labels, block in Reader(text).body().blocks:
                if kind in self.schemas and labels:
                    kinds.add(labels[0])
                    written(block, self.schemas[kind].setdefault(labels[0], {"attributes": set(), "blocks": {}}))
            for name, inner in SOURCE.findall(text):
                source = re.search(r'source\s*=\s*"([\w.-]+/[\w-]+)"', inner)
                if source:
                    versions = re.search(r'version\s*=\s*"([^"]*)"', inner)
                    self.sources.setdefault((source[1].lower(), name), set()).update(
                        re.findall(r"(?:>=|~>|=|^)\s*v?(\d+(?:\.\d+)*)", versions[1]) if versions else [])

    def schema(self, source, name):
        prefix = name.split("-")[0] + "_"
        # The results that are read: every name after a dot in a checkout with resources of the provider.
        reads = set().union(*(read for read, kinds in self.read.values() if any(k.startswith(prefix) for k in kinds)))
        return {"source": f"registry.terraform.io/{source}",
                "provider": plain(self.schemas["provider"].get(name) or {"attributes": set(), "blocks": {}}),
                **{kind: {of: plain(schema, reads) for of, schema in sorted(self.schemas[kind].items())
                          if of.startswith(prefix)} for kind in ("resource", "data")}}

    def lay_out(self, place, add):
        """Builds the program and adds a package for each requested version. Returns what was added."""
        program, added = place / "program", []
        for (source, name), versions in sorted(self.sources.items()):
            namespace, kind = source.split("/")[-2:]
            text = json.dumps(self.schema(source, name), indent=1)
            for version in sorted(versions | {"1.0.0"}):
                version = ".".join((version.split(".") + ["0", "0"])[:3])
                folder = place / namespace / kind / version
                if not add(namespace, kind, version, folder):
                    continue
                if not program.exists():
                    subprocess.run(["go", "build", "-buildvcs=false", "-o", program, "."], cwd=HERE / "standin", check=True)
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "schema.json").write_text(text)
                shutil.copy(program, folder / f"terraform-provider-{kind}_v{version}")
                added.append(f"{source} {version} {hashlib.sha256(text.encode()).hexdigest()[:8]}")
        return added
