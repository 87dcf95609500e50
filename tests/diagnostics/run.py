#!/usr/bin/env python3
"""Checks the messages of validate and plan about broken configurations: every problem, its position and its summary.

    run.py --bin weft                     all tables beside this file
    run.py --bin weft NAME...             tables or cases with these names
    run.py --bin weft --peer terraform    also prints how the messages of the peer differ
    run.py --bin weft --write             records the current messages for cases without any

README.md describes the format of a case.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The maximum time of a command.
SECONDS = 60
# The file that is added to cases with the lab providers.
LAB = """terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
"""


class Case:
    """One broken configuration: its files, and the expected lines for each command."""

    def __init__(self, table, name, start):
        self.table, self.name, self.start = table, name, start
        self.files, self.modules, self.commands, self.peer, self.lab = {}, {}, {}, None, False

    def prepared(self, directory, lab_folder):
        """Writes the files, with the modules installed as `init` would install them."""
        for name, lines in self.files.items():
            target = Path(directory, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines) + "\n")
        modules = dict(self.modules)
        for name in self.files:
            folder = str(Path(name).parent)
            if folder != "." and folder not in modules.values():
                modules.setdefault(folder.replace("/", "."), folder)
        if modules:
            entries = [{"Key": "", "Source": "", "Dir": "."}]
            entries += [{"Key": key, "Source": f"./{Path(folder).name}", "Dir": folder}
                        for key, folder in sorted(modules.items())]
            manifest = Path(directory, ".terraform/modules/modules.json")
            manifest.parent.mkdir(parents=True)
            manifest.write_text(json.dumps({"Modules": entries}))
        if self.lab:
            Path(directory, "providers.tf").write_text(LAB)
            shutil.copy(Path(lab_folder, ".terraform.lock.hcl"), directory)
            Path(directory, ".terraform").mkdir(exist_ok=True)
            Path(directory, ".terraform/providers").symlink_to(Path(lab_folder, ".terraform/providers"))

    def digest(self, command):
        """Everything that a peer's answer depends on."""
        text = json.dumps([self.files, self.modules, self.lab, command], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def read(path):
    """The cases of one table."""
    cases, lines = [], path.read_text().splitlines()
    into = None
    for number, line in enumerate(lines):
        if not line.startswith("@@"):
            if into is not None:
                into.append(line)
            continue
        word, _, rest = line[2:].strip().partition(" ")
        rest = rest.strip()
        if word == "case":
            cases.append(Case(path, rest, number))
            into = cases[-1].files.setdefault("main.tf", [])
            cases[-1].first_file = True
        elif word == "file":
            case = cases[-1]
            if case.first_file and not any(line.strip() for line in case.files["main.tf"]):
                del case.files["main.tf"]
            case.first_file = False
            into = case.files.setdefault(rest, [])
        elif word == "module":
            key, _, folder = rest.partition(" ")
            cases[-1].modules[key] = folder
        elif word == "lab":
            cases[-1].lab = True
        elif word == "peer":
            cases[-1].peer = rest
        elif word in ("validate", "plan"):
            into = cases[-1].commands.setdefault(word, [])
        else:
            sys.exit(f"{path.name}:{number + 1}: unknown directive: @@ {word}")
    for case in cases:
        case.commands = {word: [line for line in lines if line.strip()] for word, lines in case.commands.items()}
        for name, lines in case.files.items():
            while lines and not lines[-1].strip():
                lines.pop()
    return cases


def told(problem, columns=True):
    """A problem as one line: severity, position, summary."""
    place = "-"
    if found := problem.get("range"):
        start, end = found["start"], found["end"]
        place = f"{found['filename']}:{start['line']}"
        if columns:
            last = f"{end['line']}," if end["line"] != start["line"] else ""
            place += f",{start['column']}-{last}{end['column']}"
    address = f" [{problem['address']}]" if problem.get("address") else ""
    text = re.sub(r"^Cycle: .*", "Cycle", problem["summary"])
    return f"{problem['severity']} {place}{address} {text}"


def without_columns(line):
    return re.sub(r"^(\S+ \S+?:\d+),\S+", r"\1", line)


def environment_of(directory):
    """The environment of a command that runs in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "WEFT_", "LAB_"))}
    return kept | {"HOME": directory, "TF_CLI_CONFIG_FILE": "/dev/null", "CHECKPOINT_DISABLE": "1",
                   "LAB_STORE": os.path.join(directory, "store")}


def run(binary, case, command, lab_folder):
    """The problems that a command reports, as lines, and their details."""
    with tempfile.TemporaryDirectory(prefix="diagnostics-") as directory:
        case.prepared(directory, lab_folder)
        flags = ["-json"] + (["-input=false"] if command == "plan" else [])
        done = subprocess.run([binary, command, *flags], cwd=directory, env=environment_of(directory),
                              capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        problems = []
        if command == "validate":
            try:
                problems = json.loads(done.stdout)["diagnostics"]
            except (ValueError, KeyError):
                return [f"? {done.stdout[-300:]} {done.stderr[-300:]}"], []
        else:
            for line in done.stdout.splitlines():
                try:
                    event = json.loads(line)
                except ValueError:
                    return [f"? {line}"], []
                if event.get("type") == "diagnostic":
                    problems.append(event["diagnostic"])
            if done.returncode not in (0, 1):
                return [f"? exit {done.returncode} {done.stderr[-300:]}"], []
        ordered = sorted(problems, key=lambda p: (told(p), p.get("detail", "")))
        return [told(p) for p in ordered], ordered


class Peer:
    """Another engine, whose answers are cached."""

    def __init__(self, binary, keep):
        self.binary, self.keep = binary, Path(keep)
        self.known = json.loads(self.keep.read_text()) if self.keep.exists() else {}

    def answer(self, case, command, lab_folder):
        key = f"{self.binary} {case.digest(command)}"
        if key not in self.known:
            self.known[key] = run(self.binary, case, command, lab_folder)[1]
        return self.known[key]

    def save(self):
        self.keep.write_text(json.dumps(self.known))


def same(ours, theirs, columns):
    """The lines that only one side has."""
    strip = (lambda line: line) if columns else without_columns
    a, b = [strip(line) for line in ours], [strip(line) for line in theirs]
    only_ours, only_theirs = list(a), []
    for line in b:
        if line in only_ours:
            only_ours.remove(line)
        else:
            only_theirs.append(line)
    return only_ours, only_theirs


def written(table, cases, answers):
    """The table with the current lines for cases without a record."""
    out, lines = [], table.read_text().splitlines()
    starts = {case.start: case for case in cases}
    current, fresh = None, False
    for number, line in enumerate(lines):
        if number in starts:
            current = starts[number]
        word = line[2:].strip().partition(" ")[0] if line.startswith("@@") else None
        if word in ("validate", "plan"):
            fresh = bool(not current.commands[word] and answers.get((current.name, word)))
            out.append(line)
            if fresh:
                out.extend(answers[(current.name, word)])
                out.append("")
            continue
        if word is not None:
            fresh = False
        if fresh and not line.strip():
            continue
        out.append(line)
    table.write_text("\n".join(out).rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "diagnostics-peer.json"))
    parser.add_argument("--columns", action="store_true", help="also compare columns with the peer")
    parser.add_argument("--all", action="store_true", help="also show cases with an explained difference from the peer")
    parser.add_argument("--plugins", help="mirror with the lab providers")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    tables = sorted(HERE.glob("*.txt"))
    cases = [case for table in tables for case in read(table)
             if not options.names or table.stem in options.names or case.name in options.names]
    doubled = {case.name for case in cases if [c.name for c in cases].count(case.name) > 1}
    if doubled:
        sys.exit(f"duplicate names: {', '.join(sorted(doubled))}")
    left = [case for case in cases if case.lab and not options.plugins]
    cases = [case for case in cases if case not in left]
    with tempfile.TemporaryDirectory(prefix="diagnostics-lab-") as folder:
        if any(case.lab for case in cases):
            install_lab(os.path.abspath(options.peer or options.bin), options.plugins, folder)
        sys.exit(compare(options, cases, left, folder))


def install_lab(binary, plugins, folder):
    """Runs `init` to install the lab providers in a folder. The peer does not accept our installation."""
    Path(folder, "main.tf").write_text(LAB)
    done = subprocess.run([binary, "init", "-input=false", f"-plugin-dir={Path(plugins).resolve()}"], cwd=folder,
                          env=environment_of(folder), capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        sys.exit(f"the lab providers cannot be installed from {plugins}:\n{done.stdout}{done.stderr}")


def compare(options, cases, left, lab_folder):
    """Runs the cases, and returns the exit code."""
    binary = os.path.abspath(options.bin)
    peer = Peer(options.peer, options.keep) if options.peer else None
    work = [(case, command) for case in cases for command in case.commands]
    answers, failed, differ = {}, 0, 0

    def one(item):
        case, command = item
        ours, problems = run(binary, case, command, lab_folder)
        theirs = peer.answer(case, command, lab_folder) if peer else None
        return case, command, ours, problems, theirs

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, command, ours, problems, theirs in pool.map(one, work):
            answers[(case.name, command)] = ours
            wanted = case.commands[command]
            title = f"{case.table.stem}: {case.name}: {command}"
            if options.details:
                print(title)
                for problem in problems:
                    print(f"  {told(problem)}\n      {problem.get('detail')}\n      {problem.get('snippet', {}).get('values')}")
            if wanted and not options.write:
                extra, missing = same(ours, [] if wanted == ["nothing"] else wanted, True)
                if extra or missing:
                    failed += 1
                    print(f"FAIL {title}")
                    print("".join(f"   unexpected {line}\n" for line in extra), end="")
                    print("".join(f"   missing    {line}\n" for line in missing), end="")
            if theirs is not None and (options.all or not case.peer):
                extra, missing = same(ours, [told(p) for p in theirs], options.columns)
                if extra or missing:
                    differ += 1
                    print(f"PEER {title}")
                    print("".join(f"   weft only {line}\n" for line in extra), end="")
                    for problem in theirs:
                        line = told(problem) if options.columns else without_columns(told(problem))
                        if line in missing:
                            print(f"   peer only {line}\n        {problem.get('detail')}")
    if peer:
        peer.save()
    if options.write:
        for table in sorted({case.table for case in cases}):
            written(table, [c for c in cases if c.table == table],
                    {k: v or ["nothing"] for k, v in answers.items()})
    print(f"{len(work)} runs of {len(cases)} cases, {failed} failed"
          + (f", {differ} differ from the peer" if peer else "")
          + (f", {len(left)} skipped for want of the lab providers" if left else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
