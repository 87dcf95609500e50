#!/usr/bin/env python3
"""Records how an engine describes a configuration in `show -json PLAN`, or compares a document with the record.

    record.py record --bin PROGRAM --plugins DIR
    record.py check DOCUMENT

The configuration is in `files/` beside this script, and the record is `expected.json`. The case `show-configuration`
uses it.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Members that only Weft writes: OpenTofu 1.12.6 says nothing about the key in `provider = lab.by[each.key]`.
ADDED = {"provider_instance_expression"}


def configuration(program, plugins):
    """The member `configuration` of the document of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        shutil.copytree(HERE / "files", work)
        settings = Path(folder) / "cli.tfrc"
        settings.write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path    = "{plugins}"\n'
            '    include = ["weft.test/*/*"]\n  }\n}\n')
        env = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
        env |= {"TF_CLI_CONFIG_FILE": str(settings), "TF_VAR_required": "secret", "CHECKPOINT_DISABLE": "1"}

        def run(*words):
            done = subprocess.run([program, *words], cwd=work, env=env, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
            return done.stdout

        run("init", "-no-color")
        run("plan", "-no-color", "-out=p")
        return json.loads(run("show", "-json", "p")).get("configuration")


def differences(path, wanted, found):
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted((wanted.keys() | found.keys()) - ADDED):
            if key not in wanted or key not in found:
                yield f"{path}.{key}: only in {'the record' if key in wanted else 'the document'}"
            else:
                yield from differences(f"{path}.{key}", wanted[key], found[key])
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for at, (one, other) in enumerate(zip(wanted, found)):
            yield from differences(f"{path}[{at}]", one, other)
    elif wanted != found or type(wanted) is not type(found):
        yield f"{path}: {json.dumps(wanted)} is now {json.dumps(found)}"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = a.add_subparsers(dest="mode", required=True)
    record = modes.add_parser("record")
    record.add_argument("--bin", required=True)
    record.add_argument("--plugins", required=True)
    check = modes.add_parser("check")
    check.add_argument("document", type=Path)
    o = a.parse_args()
    expected = HERE / "expected.json"
    if o.mode == "record":
        program = os.path.abspath(shutil.which(o.bin) or o.bin)
        found = configuration(program, os.path.abspath(o.plugins))
        expected.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return
    found = json.loads(o.document.read_text()).get("configuration")
    problems = list(differences("configuration", json.loads(expected.read_text()), found))
    print("\n".join(problems) or "The configuration is as recorded.")
    sys.exit(bool(problems))


main()
