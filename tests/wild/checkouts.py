"""Prepares public modules for a trial: checkouts at a version that fits the available packages. Every call of a
registry module becomes a call of a folder, because no registry is queried.
"""
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

TAG = re.compile(r"^v?(\d+)\.(\d+)\.(\d+)$")
REPOSITORY = re.compile(r"^(?:(?P<owner>[\w-]+)\+)?terraform-(?P<provider>[a-z0-9]+)-(?P<name>[\w-]+)$")
CALL = re.compile(r'^module "[^"]+" \{$.*?^\}$', re.M | re.S)
SOURCE = re.compile(r'^(  source\s*=\s*)"([\w-]+)/([\w-]+)/([\w-]+)(?://([^"]+))?"$', re.M)
VERSION = re.compile(r'^  version\s*=\s*"([^"]+)"[ \t]*(?:#.*)?\n', re.M)
REQUIREMENT = re.compile(r'source\s*=\s*"(?:[\w.-]+/)?hashicorp/aws"\s*\n(?:\s*#.*\n)*\s*version\s*=\s*"([^"]+)"')


def numbers(version):
    """The three numbers of a version; missing numbers are 0."""
    parts = [int(part) for part in re.findall(r"\d+", version.split("-")[0])[:3]]
    return tuple(parts + [0] * (3 - len(parts)))


def satisfies(version, constraints):
    """Whether a version, as numbers, satisfies constraints such as ">= 5.0, < 6.0" or "~> 1.2"."""
    for constraint in constraints.split(","):
        operator, wanted = re.match(r"\s*(~>|>=|<=|!=|=|>|<)?\s*v?([\d.]+)", constraint).groups()
        bound = numbers(wanted)
        if operator == "~>":
            given = [int(part) for part in wanted.split(".")]
            end = given[:-1] or given
            end[-1] += 1
            good = bound <= version < tuple(end + [0] * (3 - len(end)))
        else:
            good = {">=": version >= bound, "<=": version <= bound, "!=": version != bound, ">": version > bound,
                    "<": version < bound}.get(operator, version == bound)
        if not good:
            return False
    return True


class Repository:
    """A repository of modules: a folder with a work tree, or a git directory."""

    def __init__(self, text):
        path, _, self.wanted = text.partition("@")
        self.path = Path(path).resolve()
        self.git = next((p for p in (self.path / "repo", self.path) if (p / "objects").is_dir()), None)
        match = next((m for part in reversed(self.path.parts) if (m := REPOSITORY.match(part))), None)
        self.key = (match["owner"], match["name"], match["provider"]) if match else (None, self.path.name, None)
        self.name = "-".join(part for part in (match and match["provider"], self.key[1]) if part)
        if match and match["owner"]:
            self.name = f"{match['owner']}-{self.name}"

    def is_for(self, namespace, name, provider):
        owner = self.key[0]
        return self.key[1:] == (name, provider) and owner in (None, namespace)

    def run(self, *arguments):
        return subprocess.run(["git", f"--git-dir={self.git}", *arguments], capture_output=True, check=True).stdout

    @functools.cache
    def versions(self):
        """Releases, newest first: [(numbers, tag)]."""
        tags = self.run("tag").decode().split()
        return sorted(((tuple(map(int, m.groups())), tag) for tag in tags if (m := TAG.match(tag))), reverse=True)

    @functools.cache
    def fits(self, revision, aws, *files):
        """Whether these files of a revision can be used with this version of the AWS provider."""
        found = subprocess.run(["git", f"--git-dir={self.git}", "grep", "-hA4", "hashicorp/aws\"", revision, "--", *files],
                               capture_output=True, check=False).stdout.decode()
        return all(satisfies(aws, constraints) for constraints in REQUIREMENT.findall(found))

    def revision(self, constraints, aws):
        """The newest release within the constraints that fits the provider: if possible with all files, otherwise
        without the examples. If there is none, uses a release outside the constraints, so that most modules can be
        tried. None for a folder, which has only one state."""
        if self.git is None:
            return None
        if self.wanted and not constraints:
            return self.wanted
        within = [tag for version, tag in self.versions() if not constraints or satisfies(version, constraints)]
        everything, module = ["*.tf"], ["*.tf", ":!examples"]
        all_tags = [tag for _, tag in self.versions()]
        for tags, files in ((within, everything), (within, module), (all_tags, everything), (all_tags, module)):
            if found := next((tag for tag in tags[:60] if self.fits(tag, aws, *files)), None):
                return found
        return within[0] if within else "HEAD"

    def lay_out(self, revision, place):
        if revision is None:
            shutil.copytree(self.path, place, symlinks=True, ignore=shutil.ignore_patterns(".git", ".terraform*"))
            return
        place.mkdir(parents=True)
        # A snapshot may lack its largest files, so that `git archive` would fail.
        for line in self.run("ls-tree", "-r", revision).decode().splitlines():
            what, _, name = line.partition("\t")
            mode, kind, number = what.split()
            path = place / name
            if kind != "blob" or mode == "120000" or '"' in name:
                continue
            done = subprocess.run(["git", f"--git-dir={self.git}", "cat-file", "blob", number], capture_output=True,
                                  check=False)
            if done.returncode == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(done.stdout)


class Checkouts:
    """All files below `place`."""

    def __init__(self, place, repositories, aws):
        self.place, self.repositories, self.aws = Path(place), repositories, numbers(aws)
        self.there = {}

    def checkout(self, repository, constraints=""):
        """The folder of a repository at a version within the constraints. It is created when it is first needed."""
        revision = repository.revision(constraints, self.aws)
        key = (repository.name, revision)
        if key not in self.there:
            folder = self.place / f"{repository.name}-{(revision or 'here').replace('/', '_')}"
            self.there[key] = folder
            repository.lay_out(revision, folder)
            for path in sorted(folder.rglob("*.tf")):
                self.link(path)
        return self.there[key]

    def link(self, path):
        """Changes calls of registry modules in a file to calls of folders, if the modules are available."""
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError):
            return
        changed = CALL.sub(lambda call: self.linked(call.group(0), path), text)
        if changed != text:
            path.write_text(changed)

    def linked(self, call, path):
        source = SOURCE.search(call)
        repository = source and next((r for r in self.repositories if r.is_for(*source.group(2, 3, 4))), None)
        if not repository:
            return call
        version = VERSION.search(call)
        folder = self.checkout(repository, version.group(1) if version else "")
        relative = os.path.relpath(folder / (source.group(5) or ""), path.parent)
        relative = relative if relative.startswith(".") else f"./{relative}"
        return VERSION.sub("", SOURCE.sub(rf'\1"{relative}"', call))

    def examples(self, folder):
        """The root modules of a checkout: every folder below `examples` that has configuration files and that no other
        folder calls."""
        places = {path.parent for path in (folder / "examples").rglob("*.tf")}
        called = set()
        for place in places:
            for path in place.glob("*.tf"):
                for source in re.findall(r'^  source\s*=\s*"(\.[^"]*)"', path.read_text(errors="replace"), re.M):
                    called.add(Path(os.path.normpath(place / source)))
        return sorted(place for place in places if place not in called) or [folder]
