#!/usr/bin/env python3
"""Compares two builds of Weft: time and peak memory of plan, apply and re-plan, in turns, for all shapes.

    compare.py --old BIN --new BIN [--plugins DIR] [--size N] [--passes N] [--shape NAME ...] [--check]

The builds take turns, so that changes of the machine affect both. `--check` fails if the new build needs more than 5%
more time or memory than the old build, beyond a floor below which a difference is noise.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from measuring import clean_environment, median  # noqa: E402
from shapes import SHAPES, STEPS, Engine  # noqa: E402

# The maximum time and memory of the new build, as a multiple of those of the old build.
LIMIT = 1.05
# Smaller differences are noise: seconds, and megabytes.
NOISE_SECONDS, NOISE_MEGABYTES = 0.03, 3.0
MEGABYTE = 2**20


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--old", required=True)
    a.add_argument("--new", required=True)
    a.add_argument("--plugins", default=os.environ.get("LAB_PLUGINS"), help="mirror with the lab provider")
    a.add_argument("--size", type=int, default=10_000)
    a.add_argument("--passes", type=int, default=5)
    a.add_argument("--shape", action="append", choices=sorted(SHAPES))
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    worse = []
    with tempfile.TemporaryDirectory(prefix="weft-compare-") as work:
        env = clean_environment()
        config = Path(work) / "cli.tfrc"
        mirror = f'  filesystem_mirror {{\n    path = "{Path(o.plugins).resolve()}"\n  }}\n' if o.plugins else ""
        config.write_text(f"provider_installation {{\n{mirror}}}\n" if mirror else "")
        env.update(TF_CLI_CONFIG_FILE=str(config), TF_IN_AUTOMATION="1", CHECKPOINT_DISABLE="1")
        builds = [Engine("weft", Path(path).resolve(), env) for path in (o.old, o.new)]
        for shape in o.shape or SHAPES:
            if shape == "lab" and not o.plugins:
                print("SKIPPED lab: the provider is missing; use --plugins or LAB_PLUGINS")
                continue
            passes = [[], []]
            for number in range(o.passes):
                # The builds alternate in running first, because the first run of a pass may find cold caches.
                for which in (0, 1) if number % 2 == 0 else (1, 0):
                    passes[which].append(builds[which].costs(shape, o.size, work))
            for step in STEPS:
                old, new = (median([costs[step] for costs in found]) for found in passes)
                time, memory = new.seconds / old.seconds, new.peak / old.peak
                print(f"{shape:12} {step:8} {old.seconds:7.3f} s -> {new.seconds:7.3f} s ({time:5.2f})   "
                      f"{old.peak / MEGABYTE:7.1f} MB -> {new.peak / MEGABYTE:7.1f} MB ({memory:5.2f})", flush=True)
                if time > LIMIT and new.seconds - old.seconds > NOISE_SECONDS:
                    worse.append(f"{shape} {step}: time {time:.2f}")
                if memory > LIMIT and new.peak - old.peak > NOISE_MEGABYTES * MEGABYTE:
                    worse.append(f"{shape} {step}: memory {memory:.2f}")
    print(f"{len(worse)} worse" + "".join(f"\n  {line}" for line in worse))
    sys.exit(1 if o.check and worse else 0)


if __name__ == "__main__":
    main()
