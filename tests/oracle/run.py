#!/usr/bin/env python3
"""Compares Weft with OpenTofu over generated scenarios.

    scripts/oracle --seeds 0..200                 generated scenarios g0 to g199
    scripts/oracle --seeds x0..100,g0..50         the wide family, and some of the first
    scripts/oracle --seeds 0..200 --mutate        written cases, slightly changed (m0 to m199)
    scripts/oracle --written                      the written cases as they are
    scripts/oracle --replay x12                   one scenario: its files, its steps and the differences
    scripts/oracle --seeds 0..200 --shrink        also the smallest reproduction of each cluster

WEFT_TOFU names the tofu binary; see DEVELOPERS.md for how to build it. Its results are cached under target/oracle.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import cases
import clusters
import compare
import report
from engines import Reference

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
REFERENCE_VERSION = "1.12.6"
TWICE = 0.2  # the share of agreeing scenarios for which the reference runs a second time, to find unstable ones


def seeds(text):
    """The ids of `0..9,x0..5`: the letter of a family (g by default), the first number and the end (not included)."""
    out = []
    for part in text.split(","):
        m = re.fullmatch(r"([gx]?)(\d+)(?:(?:\.\.|-)(\d+))?", part.strip())
        if not m:
            raise argparse.ArgumentTypeError(f"{part!r}: write A..B, or xA..B for the wide family")
        first = int(m.group(2))
        out += [f"{m.group(1) or 'g'}{n}" for n in range(first, int(m.group(3)) if m.group(3) else first + 1)]
    return out


def options():
    """The command line."""
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seeds", type=seeds, default=[], metavar="A..B", help="the scenarios; B is not included")
    a.add_argument("--mutate", action="store_true", help="use the numbers for changed written cases")
    a.add_argument("--written", action="store_true", help="also the written cases as they are")
    a.add_argument("--replay", metavar="ID", help="show one scenario and its differences")
    a.add_argument("--save", type=Path, metavar="DIR", help="with --replay: write the scenario as a case")
    a.add_argument("--shrink", action="store_true", help="reduce the scenarios that differ")
    a.add_argument("--match", default="", help="with --shrink: only clusters that match this regular expression")
    a.add_argument("--at-least", type=float, default=0, metavar="PERCENT", help="fail below this agreement")
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--bin", type=Path, help="weft (default: target/debug/weft, then target/release/weft)")
    a.add_argument("--plugins", type=Path, default=os.environ.get("LAB_PLUGINS"), help="the lab plugins (default: LAB_PLUGINS, otherwise built)")
    a.add_argument("--out", type=Path, default=TARGET / "oracle" / "last", help="the folder of the results")
    a.add_argument("--cache", type=Path, help="the folder of cached results of the reference")
    o = a.parse_args()
    if not (o.seeds or o.written or o.replay):
        a.error("say which scenarios: --seeds, --written or --replay")
    return o


def reference_binary():
    """The tofu binary that WEFT_TOFU names."""
    where = os.environ.get("WEFT_TOFU", "")
    found = shutil.which(where) if where else None
    if not found:
        said = f"WEFT_TOFU names {where!r}, which is no program" if where else "WEFT_TOFU is not set"
        sys.exit(f"{said}: set it to the tofu binary to compare with. DEVELOPERS.md describes how to build it.")
    env = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
    out = subprocess.run([found, "version", "-json"], capture_output=True, text=True, env=env).stdout
    try:
        version = json.loads(out)["terraform_version"]
    except (ValueError, KeyError):
        sys.exit(f"{found}: this is not OpenTofu (`version -json` gives no version). See DEVELOPERS.md.")
    if not version.startswith(REFERENCE_VERSION):
        print(f"note: {found} is OpenTofu {version}; Weft follows {REFERENCE_VERSION}", file=sys.stderr)
    return os.path.abspath(found), version


def weft_binary(o):
    """The weft to test."""
    places = [o.bin] if o.bin else [TARGET / "debug" / "weft", TARGET / "release" / "weft"]
    for p in places:
        if p.is_file() and os.access(p, os.X_OK):
            return str(p.resolve())
    sys.exit(f"{places[0]}: there is no weft. Build it: cargo build --workspace --bins --locked")


def plugins_folder(o):
    """The lab plugins: the given ones, or those that are built once."""
    if o.plugins:
        if not Path(o.plugins, "weft.test").is_dir():
            sys.exit(f"{o.plugins}: there are no lab plugins. Unset LAB_PLUGINS to build them.")
        return str(Path(o.plugins).resolve())
    folder = TARGET / "lab-plugins"
    if not (folder / "weft.test").is_dir():
        print("building the lab plugins", file=sys.stderr)
        subprocess.run(["sh", str(cases.CONFORMANCE / "providers" / "build.sh"), str(folder)], check=True)
    return str(folder.resolve())


def fingerprint(folder):
    """A short name for the plugins. Results depend on them."""
    h = hashlib.sha256()
    for p in sorted(Path(folder).rglob("terraform-provider-*")):
        if p.is_file():
            h.update(str(p.relative_to(folder)).encode() + hashlib.sha256(p.read_bytes()).digest())
    return h.hexdigest()[:8]


class Oracle:
    """Both engines, and the comparison of a scenario with them."""

    def __init__(self, o):
        tofu, version = reference_binary()
        self.weft, self.plugins = weft_binary(o), plugins_folder(o)
        cache = o.cache or TARGET / "oracle" / f"reference-{version}-{fingerprint(self.plugins)}"
        self.reference = Reference(tofu, self.plugins, cache)

    def compare(self, case):
        """(want, got, comparison) of a case."""
        return compare.pair(case, self.reference, self.weft, self.plugins)

    def examine(self, ident):
        """The row of a scenario, or None if the scenario does not exist."""
        case, parent, changed = cases.by_id(ident)
        if case is None:
            return None, None
        want, got, c = self.compare(case)
        first = next((r for s, r in zip(case["steps"], want) if r and s.get("run", [""])[0] in ("plan", "apply")), None)
        row = {"id": ident, "family": "written" if ident[0] == "w" else ident[0], "title": case["title"], "parent": parent, "changed": changed,
               "areas": cases.areas(case, parent), "topics": [] if parent else case.get("topics", []), "steps": len(case["steps"]),
               "valid": bool(first) and first.get("exit") in (0, 2), "details": c.details, "deliberate": c.deliberate,
               "items": [[*k, v] for k, v in c.items.items()]}
        hard = [i for i in row["items"] if i[0] not in compare.SOFT]
        row["status"] = "differs" if hard else "agrees"
        if hard or random.Random(ident).random() < TWICE:
            again = self.reference.results(case, 1)[:len(want)]
            if not compare.equal(want, again):
                row["status"] = "unstable"
                row["unstable"] = [list(i) for i in compare.unequal_items(want, again)][:4]
        return row, case


def examine_all(o, oracle, idents):
    """The rows of all ids, in order. Cases that do not agree are written to a folder."""
    shutil.rmtree(o.out, ignore_errors=True)
    o.out.mkdir(parents=True)
    rows, lock = {}, threading.Lock()

    def one(ident):
        try:
            row, case = oracle.examine(ident)
        except Exception:
            traceback.print_exc()
            row, case = {"id": ident, "family": ident[0], "status": "broken", "items": [], "areas": [], "topics": [], "valid": False,
                         "details": 0, "deliberate": {}, "steps": 0}, None
        if row is None:
            return
        if row["status"] != "agrees" and case:
            cases.save_case(case, o.out / "cases" / ident.replace("/", "-"))
        with lock:
            rows[ident] = row
            with open(o.out / "results.jsonl", "a") as f:
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
            if len(rows) % 25 == 0:
                print(f"{len(rows)} of {len(idents)}", file=sys.stderr)

    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        list(pool.map(one, idents))
    return [rows[i] for i in idents if i in rows]


def main():
    o = options()
    oracle = Oracle(o)
    if o.replay:
        sys.exit(report.replay(oracle, o.replay, o.save))
    idents = [("m" + i[1:] if o.mutate else i) for i in o.seeds]
    if o.written:
        idents += ["w-" + name for name in cases.written()]
    rows = examine_all(o, oracle, idents)
    clusters.print_summary(rows)
    if o.shrink:
        report.shrink_clusters(oracle, rows, o)
    agreement = clusters.percent(rows)
    differing = [r["id"] for r in rows if r["status"] == "differs"]
    if differing:
        print(f"\nto show one: scripts/oracle --replay {differing[0]}")
    print(f"agreement {agreement:.1f}%, results in {o.out}")
    broken = [r["id"] for r in rows if r["status"] == "broken"]
    if broken:
        sys.exit(f"these scenarios could not run: {' '.join(broken)}")
    if agreement < o.at_least:
        sys.exit(f"the agreement is below {o.at_least}%")


if __name__ == "__main__":
    main()
