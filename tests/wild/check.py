#!/usr/bin/env python3
"""Checks that public configurations are read without false errors and formatted as by `terraform fmt`.

    check.py [--bin target/debug/weft] FOLDER...

Each FOLDER is a clone of a public repository of modules, with any number of folders below it. Nothing of these
repositories is stored here. Both programs format every file in three forms: as it is, without its indentation and
alignment, and with random blanks. Both must produce the same text. Every folder with configuration files is loaded
(`weft providers`). Each message must be among ALLOWED, or be about a folder that is not a module (two files with the
same declarations).
"""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = (".tf", ".tfvars")
# Messages that depend on more than the files: modules are not downloaded. Others concern folders without a module.
ALLOWED = ("Module not installed", "Duplicate ")
ERROR = re.compile(r"Error: (.*)\n(?:.*\n)*?.*?on (\S+) line (\d+)")


def plain(text, _):
    return text


def outside_of_heredocs(text, change):
    """Changes each line that is not part of a heredoc and does not begin one."""
    lines, end = [], None
    for line in text.split("\n"):
        if end is not None:
            end = None if line.strip() == end else end
        elif begin := re.search(r"<<-?\s*(\w+)\s*$", line):
            end = begin.group(1)
        else:
            line = change(line)
        lines.append(line)
    return "\n".join(lines)


def stripped(text, _):
    def change(line):
        line = line.strip()
        if any(mark in line for mark in '"#/*'):
            return line
        return re.sub(r"^(\w+) *= *", r"\1=", re.sub("  +", " ", line)) if "==" not in line else line
    return outside_of_heredocs(text, change)


def wide(text, rng):
    def blanks(*counts):
        return " " * rng.choice(counts)

    def change(line):
        def around(name):
            return name.group(1) + blanks(0, 1, 5) + "=" + blanks(0, 1, 4)
        line = re.sub(r"^([\w-]+) *= ", around, line.strip())
        return blanks(0, 1, 3, 7) + line + blanks(0, 1, 2)
    return outside_of_heredocs(text, change)


def formatted(command, files, way, folder):
    """The output of the command for the files after the change `way`: {number: bytes}."""
    for number, (name, text) in enumerate(files):
        path = folder / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(way(text, random.Random(number)))
    subprocess.run([*command, "fmt", "-recursive"], cwd=folder, capture_output=True, check=False)
    return {number: (folder / str(number) / name).read_bytes() for number, (name, _) in enumerate(files)}


def format_alike(weft, files, shown):
    """The number of files with different output."""
    differing = 0
    for way in (plain, stripped, wide):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            mine = formatted([weft], files, way, Path(ours))
            other = formatted(["terraform"], files, way, Path(theirs))
            for number, text in mine.items():
                if text != other[number]:
                    differing += 1
                    print(f"FAIL {shown[number]}, {way.__name__}")
    return differing


def false_errors(weft, folder):
    """Loads every folder with configuration files. Counts the unexpected messages by summary."""
    found = collections.Counter()
    for place in sorted({path.parent for path in folder.rglob("*.tf")}):
        done = subprocess.run([weft, "providers", "-no-color"], cwd=place, capture_output=True, text=True, check=False)
        said = ERROR.findall(done.stderr)
        if done.returncode not in (0, 1) or (done.returncode == 1 and not said and "Error:" not in done.stderr):
            said.append((f"exit code {done.returncode}", "", 0))
        for summary, name, line in said:
            if not summary.startswith(ALLOWED):
                found[summary] += 1
                print(f"FAIL {place}/{name}:{line}: {summary}")
    return sum(found.values())


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", default=str(ROOT / "target" / "debug" / "weft"))
    a.add_argument("folders", nargs="+")
    o = a.parse_args()
    weft = str(Path(o.bin).resolve())
    os.environ.pop("TF_CLI_CONFIG_FILE", None)
    compare = shutil.which("terraform") is not None
    if not compare:
        print("SKIPPED formatting: terraform is not on PATH")
    passed = failed = 0
    for folder in map(Path, o.folders):
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in ENDINGS)
        files = [(path.name, path.read_text()) for path in paths]
        differing = format_alike(weft, files, paths) if compare else 0
        errors = false_errors(weft, folder)
        print(f"{folder.name}: {len(files)} files, {differing} formatted differently, {errors} false errors",
              flush=True)
        failed += differing + errors
        passed += max(len(files) - differing - errors, 0)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
