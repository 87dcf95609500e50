#!/usr/bin/env python3
"""Checks that Weft accepts every example of public modules that OpenTofu accepts, with the same results.

    WEFT_TOFU=/path/of/tofu modules.py [--bin target/debug/weft] [--life] [--only REGEX] CHECKOUT...

Each CHECKOUT is a git directory or a folder named `[OWNER+]terraform-PROVIDER-NAME`. `@REVISION` selects another
revision than the newest release that fits the package of the AWS provider. Calls of registry modules become calls of
folders, so the modules that examples call must be among the checkouts. A git directory provides the release that the
constraint of the call requires. Nothing of the modules is stored here.

Every example goes through `init` and `validate -json` with both tools, in copies. An unavailable provider fails both;
such an example counts as skipped, by the provider that it needs. With --life, every valid example goes through plan,
apply, plan, show and destroy against moto_server. Exit codes, plans, states and outputs are compared as by
`tests/conformance/difftest.py`, with the ids of the cloud masked. Modules without any available example use
`tests/wild/lives/NAME/main.tf` (`--lives`).

The package of the AWS provider is found as by `tests/aws/run`. `--plugins DIR` names further mirrors, which
`tests/plugins/build.sh` builds. With --stand-ins, programs with the required schemas are built in place of unavailable
providers, so that their examples are validated, too. With --cache DIR, the results of the reference are cached.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("wild", "aws", "chaos", "conformance")]
from checkouts import Checkouts, Repository  # noqa: E402
from life import Life, Moto  # noqa: E402
from stage import clean_environment  # noqa: E402
from standins import StandIns  # noqa: E402

HOSTS = ("registry.terraform.io", "registry.opentofu.org")
# The maximum time of a command in seconds: the schema of the AWS provider is large, and the machine may be busy.
LONG = 600
# The messages of init about a package or module that is not available.
NEEDS = re.compile(r"versions for provider (\S+?):|available versions for (module) |available (releases) match")


def system():
    """The platform, as in the names of packages."""
    machine = platform.machine()
    return f"{platform.system().lower()}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine)}"


def lay(place, namespace, kind, version, system, folder):
    """Adds a package to a mirror, under the registry hosts of both tools."""
    for host in HOSTS:
        target = place / host / namespace / kind / version / system
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(folder)


def mirror(place, aws, others):
    """A filesystem mirror of all packages."""
    if aws:
        program, version = aws
        lay(place, "hashicorp", "aws", version, program.parent.name, program.parent)
    for other in others:
        for folder in Path(other).resolve().glob("*/*/*/*/*"):
            lay(place, *folder.parts[-4:], folder)
    return place


class Tool:
    """One of the two programs, with its own copy of all files."""

    def __init__(self, name, program, place, config):
        self.name, self.program, self.place = name, str(Path(program).resolve()), place / name
        self.env = {**clean_environment(), "TF_CLI_CONFIG_FILE": str(config), "CHECKPOINT_DISABLE": "1",
                    "HOME": str(place), "NO_COLOR": "1"}
        for foreign in [key for key in self.env if key.startswith("AWS_")]:
            del self.env[foreign]

    def run(self, folder, *arguments, **env):
        """Exit code, standard output, standard error, seconds."""
        begun = time.monotonic()
        try:
            done = subprocess.run([self.program, *arguments], cwd=folder, env={**self.env, **env}, timeout=LONG,
                                  capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                  check=False)
        except subprocess.TimeoutExpired:
            return -1, "", f"no end within {LONG} s", LONG
        return done.returncode, done.stdout, done.stderr, time.monotonic() - begun

    def look(self, folder):
        """The results of init and validate for an example."""
        code, out, err, _ = self.run(folder, "init", "-input=false", "-no-color")
        text = err + out
        needs = {"".join(found) for found in NEEDS.findall(re.sub(r"\s+", " ", text))} if code else set()
        if "Invalid registry module source address" in text:
            needs.add("module")
        # Weft adds a code to each summary.
        said = {re.sub(r" \[[A-Z]\d+\]$", "", line) for line in re.findall(r"(?:Error|Warning): (.*)", text)}
        found = {"init": code, "needs": sorted(needs), "said": sorted(said)}
        if code == 0:
            code, out, err, seconds = self.run(folder, "validate", "-json")
            try:
                document = json.loads(out)
            except ValueError:
                document = {"diagnostics": [{"severity": "error", "summary": f"no JSON: {err[-200:]}"}]}
            found |= {"validate": code, "seconds": round(seconds, 1),
                      "diagnostics": sorted({place_of(d) for d in document.get("diagnostics") or []})}
        return found


def place_of(diagnostic):
    where = diagnostic.get("range") or {}
    line = (where.get("start") or {}).get("line", "")
    return f"{diagnostic.get('severity')}: {diagnostic.get('summary')} [{where.get('filename', '')}:{line}]"


class Cache:
    """The results of the reference, by the content that they depend on."""

    def __init__(self, folder, program):
        self.folder = folder and Path(folder)
        self.program = program

    def of(self, what, checkout, example, make):
        if not self.folder:
            return make()
        digest = hashlib.sha256(f"2 {what} {self.program} {example}".encode())
        for path in sorted(checkout.rglob("*.tf")):
            digest.update(str(path.relative_to(checkout)).encode() + path.read_bytes())
        path = self.folder / f"{digest.hexdigest()[:32]}.json"
        if not path.exists():
            found = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
        return json.loads(path.read_text())


def compare(reference, ours):
    """The differences between two results, shortened so that similar differences form a cluster."""
    if reference["init"] != ours["init"]:
        return [f"init ends with {ours['init']}, not {reference['init']}: {'; '.join(ours['said'] or reference['said'])}"]
    if reference["init"]:
        return []
    found = [f"init: not expected {said}" for said in ours["said"] if said not in reference["said"]]
    found += [f"init: missing {said}" for said in reference["said"] if said not in ours["said"]]
    if reference["validate"] != ours["validate"]:
        found.append(f"validate ends with {ours['validate']}, not {reference['validate']}")
    theirs, mine = set(reference["diagnostics"]), set(ours["diagnostics"])
    found += [f"missing {said}" for said in sorted(theirs - mine)]
    found += [f"not expected {said}" for said in sorted(mine - theirs)]
    return found


class Trial:
    """All examples, with both tools."""

    def __init__(self, options, place, aws):
        self.options, self.place = options, place
        config = place / "cli.tfrc"
        packages = mirror(place / "mirror", aws, options.plugins)
        config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{packages}"\n  }}\n}}\n')
        self.tofu = Tool("tofu", options.tofu, place, config)
        self.weft = Tool("weft", options.bin, place, config)
        self.cache = Cache(options.cache, f"{Path(options.tofu).resolve()} {os.stat(options.tofu).st_mtime}")
        self.skipped, self.clusters = collections.Counter(), collections.defaultdict(list)
        self.seconds = collections.Counter()
        self.passed = self.failed = self.invalid = 0
        self.table = collections.defaultdict(collections.Counter)
        self.examples = self.lay_out(aws)
        # The available packages determine which examples can be tried.
        self.packages = sorted("/".join(path.parts[-4:]) for path in packages.glob(f"{HOSTS[0]}/*/*/*/*"))
        self.packages += self.stand_ins(packages) if options.stand_ins else []

    def lay_out(self, aws):
        """[(name, checkout, example)], relative to a tool's copy."""
        base, wanted = self.place / "base", re.compile(self.options.only or "")
        repositories = [Repository(text) for text in dict.fromkeys(self.options.checkouts)]
        checkouts = Checkouts(base, repositories, aws[1] if aws else "0.0.0")
        found = []
        for repository in repositories:
            folder = checkouts.checkout(repository)
            for example in [] if self.options.lives else checkouts.examples(folder):
                found.append((folder.relative_to(base), example.relative_to(base)))
            for own in sorted((ROOT / "tests/wild/lives").glob(f"{repository.name}*")) if self.options.life else []:
                shutil.copytree(own, folder / "lives" / own.name)
                for path in (folder / "lives" / own.name).glob("*.tf"):
                    checkouts.link(path)
                found.append((folder.relative_to(base), (folder / "lives" / own.name).relative_to(base)))
        for tool in (self.tofu, self.weft):
            shutil.copytree(base, tool.place, symlinks=True)
        return [(str(example), checkout, example) for checkout, example in found if wanted.search(str(example))]

    def stand_ins(self, packages):
        """Builds packages in place of the unavailable ones. Returns their names."""
        there = {path.parts[-2:] for path in packages.glob(f"{HOSTS[0]}/*/*")}

        def add(namespace, kind, version, folder):
            if (namespace, kind) not in there:
                lay(packages, namespace, kind, version, system(), folder)
                return True
            return False
        return StandIns(self.place / "base").lay_out(self.place / "stand-ins", add)

    def look(self, name, checkout, example):
        reference = self.cache.of(f"look {self.packages}", self.place / "base" / checkout, name,
                                  lambda: self.tofu.look(self.tofu.place / example))
        ours = self.weft.look(self.weft.place / example)
        found = compare(reference, ours)
        if reference["init"] and not found:
            self.skipped[", ".join(reference["needs"]) or "; ".join(reference["said"])] += 1
            return "skipped", f"needs {', '.join(reference['needs']) or '; '.join(reference['said'])}"
        for difference in found:
            cluster = re.sub(r" \[[^\]]*\]$", "", difference)
            self.clusters[cluster].append(f"{name} {difference[len(cluster):]}")
        if reference["init"] == 0 and reference["validate"] == 0 and not found:
            self.seconds["tofu"] += reference["seconds"]
            self.seconds["weft"] += ours["seconds"]
        if found:
            return "DIFFERS", "; ".join(found)[:300]
        times = f"{reference['seconds']} s, weft {ours['seconds']} s"
        return ("valid", times) if reference["validate"] == 0 else ("invalid", f"with both; {times}")

    def live(self, moto, name, checkout, example):
        kept = self.cache.of("life", self.place / "base" / checkout, name, lambda: self.reference_life(moto, example))
        theirs = Life(self.tofu, self.tofu.place / example, **kept)
        with moto.started() as url:
            mine = Life(self.weft, self.weft.place / example, url).live()
        if self.options.keep:
            for life in (theirs, mine):
                said = json.dumps(life.said, indent=1, sort_keys=True)
                (self.place / f"{str(example).replace('/', '~')}.{life.tool.name}.json").write_text(said)
        found = list(theirs.differences(mine))
        for difference in found:
            self.clusters["life: " + re.sub(r"[\d.]+|/\d+(?=/)", "#", difference)[:110]].append(f"{name}: {difference}")
        return ("DIFFERS" if found else "lived"), f"{theirs}" + (f"; {len(found)} differences" if found else "")

    def reference_life(self, moto, example):
        if not (self.tofu.place / example / ".terraform/providers").is_dir():
            self.tofu.run(self.tofu.place / example, "init", "-input=false", "-no-color")
        with moto.started() as url:
            life = Life(self.tofu, self.tofu.place / example, url).live()
        return {"said": life.said, "seconds": life.seconds}

    def report(self, kind, name, text):
        print(f"{'FAIL' if kind == 'DIFFERS' else 'ok':4} {kind:8} {name}: {text}", flush=True)
        self.table[Path(name).parts[0]][kind if kind != "invalid" else "valid"] += 1
        self.passed += kind in ("valid", "invalid", "lived")
        self.failed += kind == "DIFFERS"
        self.invalid += kind == "invalid"

    def everything(self):
        valid = []
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for one, (kind, text) in zip(self.examples, pool.map(lambda one: self.look(*one), self.examples)):
                self.report(kind, one[0], text)
                valid += [one] if kind == "valid" else []
        if self.options.life:
            moto = Moto(self.place)
            for one in valid:
                self.report(*(lambda kind, text: (kind, one[0], text))(*self.live(moto, *one)))

    def print_table(self):
        """Prints the results for the examples of each checkout. Valid or invalid with both tools counts as equal."""
        kinds = {"equal": "valid", "lived": "lived", "differ": "DIFFERS", "skipped": "skipped"}
        print(f"\n{'checkout':52} {'  '.join(kinds)}")
        for name, counts in sorted(self.table.items()):
            print(f"{name:52} {'  '.join(str(counts[kind] or '-').rjust(len(title)) for title, kind in kinds.items())}")

    def close(self):
        print()
        for cluster, where in sorted(self.clusters.items(), key=lambda item: -len(item[1])):
            print(f"{len(where):4} {cluster}")
            for line in where[:self.options.shown]:
                print(f"       {line[:600]}")
        for need, count in self.skipped.most_common():
            print(f"{count:4} skipped: {need}")
        self.print_table()
        print(f"printed: valid with both: tofu {self.seconds['tofu']:.0f} s, weft {self.seconds['weft']:.0f} s; "
              f"{self.invalid} invalid with both")
        print(f"{self.passed} passed, {self.failed} failed, {sum(self.skipped.values())} skipped")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", default=os.environ.get("WEFT_BIN", ROOT / "target" / "debug" / "weft"))
    a.add_argument("--tofu", default=os.environ.get("WEFT_TOFU") or shutil.which("tofu"))
    a.add_argument("--plugins", action="append", default=[], metavar="DIR")
    a.add_argument("--life", action="store_true")
    a.add_argument("--lives", action="store_true", help="only tests/wild/lives, no examples of the modules")
    a.add_argument("--stand-ins", action="store_true",
                   help="build programs in place of unavailable providers, with the schemas that the examples need")
    a.add_argument("--only", metavar="REGEX")
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--cache", metavar="DIR")
    a.add_argument("--keep", metavar="DIR", help="work in this folder, and keep all files")
    a.add_argument("--shown", type=int, default=3, help="the number of scenarios to show for each cluster")
    a.add_argument("checkouts", nargs="+")
    o = a.parse_args()
    if o.life and o.stand_ins:
        a.error("stand-ins only validate, they cannot live")
    if not o.tofu:
        print("SKIPPED: there is no tofu to compare with: set WEFT_TOFU\n0 passed, 0 failed, 1 skipped")
        return
    import importlib.machinery
    import importlib.util
    loader = importlib.machinery.SourceFileLoader("aws_run", str(ROOT / "tests/aws/run"))
    aws_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("aws_run", loader))
    loader.exec_module(aws_run)
    with contextlib.ExitStack() as stack:
        place = Path(o.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-wild-"))).resolve()
        place.mkdir(parents=True, exist_ok=True)
        trial = Trial(o, place, aws_run.find_package())
        trial.everything()
        trial.close()
    sys.exit(1 if trial.failed else 0)


if __name__ == "__main__":
    main()
