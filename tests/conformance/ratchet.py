#!/usr/bin/env python3
"""Runs the recorded cases and compares the results with the list of those that do not pass yet.

A listed case that passes is a failure, and so is an unlisted case that fails. `--shrink` removes passing cases from the
list. No option adds cases.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE / "cases.todo"


def named(line):
    """The case that a line of the list names. The text after `#` describes the missing part."""
    return line.partition("#")[0].strip()


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--bin", required=True)
    a.add_argument("--plugins", required=True)
    a.add_argument("--jobs", default=str(os.cpu_count() or 2))
    a.add_argument("--shrink", action="store_true")
    o = a.parse_args()
    listed = {name for line in LIST.read_text().splitlines() if (name := named(line))}
    run = subprocess.run([sys.executable, str(HERE / "difftest.py"), "check", "--bin", o.bin, "--plugins", o.plugins,
                          "--jobs", o.jobs, str(HERE / "cases")], capture_output=True, text=True)
    passed = set(re.findall(r"(?m)^ok (\S+)", run.stdout))
    failed = dict(re.findall(r"(?m)^FAIL (\S+): (.*)", run.stdout))
    if not passed and not failed:
        sys.exit(f"no case ran:\n{run.stdout}\n{run.stderr}")
    gone = listed - passed - set(failed)
    better, worse = sorted(passed & listed), sorted(set(failed) - listed)
    for name in worse:
        print(f"FAIL {name}: {failed[name]}")
    if o.shrink:
        keep = [line for line in LIST.read_text().splitlines() if named(line) not in better]
        LIST.write_text("\n".join(keep) + "\n")
        print(f"removed from the list: {len(better)}")
        better = []
    for name in better:
        print(f"FAIL {name}: passes, and is still listed in {LIST.name}: run with --shrink")
    for name in sorted(gone):
        print(f"FAIL {name}: listed in {LIST.name}, but the case does not exist")
    bad = len(worse) + len(better) + len(gone)
    print(f"conformance cases: {len(passed)} of {len(passed) + len(failed)} agree with the record, "
          f"{len(failed) - len(worse)} are known to differ")
    print(f"{len(passed) + len(failed) - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
