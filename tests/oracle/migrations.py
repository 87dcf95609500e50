#!/usr/bin/env python3
"""The cases of `tests/cases` about changed backends, played by OpenTofu in place of Weft.

    migrations.py --tofu FILE [--keep] [NAME ...]

Both tools must ask the same questions in the same situations, and leave the same states and settings. Commands that
begin with `: weft;` test deliberate differences of Weft, and are left out. Weft itself plays the cases with
`tests/cases/run.py`.
"""
import argparse
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases"))
from run import HERE, Case, Skipped, Stage  # noqa: E402

# The start of a command that only Weft supports.
OWN = "$ : weft;"


def attempt(path, options):
    """Plays a case with OpenTofu."""
    tofu = Path(options.tofu).resolve()
    stage = Stage(tofu.parent, keep=options.keep, prefix=f"tofu-case-{path.stem}-")
    with stage:
        try:
            case = Case(path, options, stage)
            case.steps = [step for step in case.steps if not step.head.startswith(OWN)]
            (stage.path / "bin" / "weft").symlink_to(tofu)
            case.play()
            outcome, stage.keep = None, False
        except Skipped as why:
            outcome, stage.keep = why, False
        except Exception as problem:  # noqa: BLE001  one broken case must not end the others
            outcome = problem
    return outcome, stage.path if stage.keep else None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tofu", default=os.environ.get("WEFT_TOFU"), help="OpenTofu 1.12.6, by default WEFT_TOFU")
    a.add_argument("--keep", action="store_true", help="keep the folders of cases that failed")
    a.add_argument("names", nargs="*", help="cases, by default all that are named backend-migration*")
    o = a.parse_args()
    o.plugins = None
    if not o.tofu:
        print("SKIPPED: WEFT_TOFU is not set, so NO MIGRATION WAS COMPARED WITH OPENTOFU")
        return
    passed, failed = 0, 0
    for path in sorted(HERE.glob("backend-migration*.txt")):
        if o.names and path.stem not in o.names:
            continue
        start = time.monotonic()
        outcome, kept = attempt(path, o)
        if outcome is None:
            passed += 1
            print(f"ok {path.stem} {time.monotonic() - start:.1f} s", flush=True)
        elif isinstance(outcome, Skipped):
            print(f"SKIPPED {path.stem}: {outcome}", flush=True)
        else:
            failed += 1
            print(f"FAIL {path.stem}: " + str(outcome).replace("\n", "\n    "), flush=True)
            if kept:
                print(f"    kept: {kept}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
