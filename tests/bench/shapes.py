#!/usr/bin/env python3
"""Time and peak memory of plan, apply and re-plan for configurations of many shapes and sizes, of Weft and of the peer.

    shapes.py [--bin target/release/weft] [--plugins DIR] [--quick] [--check] [--shape NAME ...] [--no-peer]

Weft runs at the sizes 0, 1,000, 2,000 and 10,000. The peer (`terraform`, and `tofu` if it is installed) runs at 1,000
and 2,000 in the same run, within 12 GB of address space and 120 s for each command. `--quick` uses only the sizes 0 and
1,000. `--check` compares the result with the bounds: costs grow linearly, no command is slower than the peer's, and
plan and apply of 1,000 pairs are 20 times as fast as Terraform's. Growth is measured by the clock, or by processor time
while other processes keep the machine busy. Without `--bin`, the release build is made first.
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from measuring import (PLAIN, SECONDS, Bounds, Cost, clean_environment, linear, measure,  # noqa: E402
                       median, peers, release_build, write)

SIZES, PEER_SIZES, QUICK = (0, 1_000, 2_000, 10_000), (1_000, 2_000), (0, 1_000)
# The number of passes over one size, of which the median counts. The first pass may find that the host of a virtual
# machine has taken memory back, which costs more than the work itself. The following passes do not.
PASSES, PASSES_OF_LARGEST = 7, 5
# The minimum factor of plan and apply of 1,000 pairs against Terraform.
TIMES_FASTER = 20
# The factor by which two measurements of the same command may differ.
SLACK = 1.1

LAB = """
terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}
"""


def pairs(n):
    return {"main.tf": f"""
resource "terraform_data" "a" {{
  count = {n}
  input = count.index
}}
resource "terraform_data" "b" {{
  count = {n}
  input = terraform_data.a[count.index].output
}}
"""}


def chain(n):
    # `range` returns at most 1,024 numbers.
    return {"main.tf": f"""
resource "terraform_data" "a" {{
  for_each = toset(flatten([for i in range({n // 100}) : [for j in range(100) : format("k%03d-%02d", i, j)]]))
  input    = each.key
}}
resource "terraform_data" "b" {{
  for_each = terraform_data.a
  input    = each.value.output
}}
"""}


def independent(n):
    return {"main.tf": f"""
resource "terraform_data" "a" {{
  count = {n}
  input = "value ${{count.index}}"
}}
"""}


def blocks(n):
    return {"main.tf": "# separate blocks\n" + "".join(
        f'resource "terraform_data" "r{i}" {{\n  input = {i}\n}}\n' for i in range(n))}


def modules(n):
    return {
        "main.tf": f"""
module "m" {{
  source = "./m"
  count  = {n}
  name   = "m${{count.index}}"
}}
output "ids" {{
  value = module.m[*].id
}}
""",
        "m/main.tf": """
variable "name" { type = string }
resource "terraform_data" "r" { input = var.name }
output "id" { value = terraform_data.r.id }
"""}


def lab(n):
    text = LAB
    for p in range(4):
        text += f"""
provider "lab" {{
  alias  = "p{p}"
  region = "r{p}"
}}
resource "lab_thing" "t{p}" {{
  provider = lab.p{p}
  count    = {n // 4}
  name     = "t{p}-${{count.index}}"
}}
resource "lab_link" "l{p}" {{
  provider = lab.p{(p + 1) % 4}
  count    = {n // 4}
  from     = lab_thing.t{p}[count.index].id
  to       = lab_thing.t{p}[count.index].region
}}
"""
    return {"main.tf": text}


SHAPES = {"pairs": pairs, "for_each": chain, "independent": independent, "blocks": blocks, "modules": modules,
          "lab": lab}
STEPS = ("plan", "apply", "re-plan")


class Engine:
    def __init__(self, name, binary, env):
        self.name, self.binary, self.env = name, str(binary), env

    def costs(self, shape, size, work):
        """One pass over a shape: {step: cost}."""
        folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-{shape}-{size}-", dir=work))
        write(folder, SHAPES[shape](size))
        costs = {}
        measure([self.binary, "init", *PLAIN], folder, self.env)
        costs["plan"] = measure([self.binary, "plan", *PLAIN, "-out=plan.out"], folder, self.env)
        if costs["plan"].seconds is not None:
            costs["apply"] = measure([self.binary, "apply", *PLAIN, "plan.out"], folder, self.env)
        if costs.get("apply", costs["plan"]).seconds is not None:
            costs["re-plan"] = measure([self.binary, "plan", *PLAIN, "-detailed-exitcode"], folder, self.env)
        shutil.rmtree(folder, ignore_errors=True)
        missing = Cost(None, 0, "not reached")
        return {step: costs.get(step, missing) for step in STEPS}


def all_linear(bounds, shape, step, ours):
    """Checks the growth from 1,000 to 10,000."""
    linear(bounds, f"{shape} {step}", *(ours[size][step] for size in (0, 1_000, 10_000)))


def against(bounds, shape, size, step, ours, peer, name):
    """Checks that Weft is not slower than the peer, and 20 times as fast as Terraform for plan and apply of 1,000
    pairs."""
    if ours.seconds is None:
        bounds.hold(f"{shape} {size} {step}: ours did not end ({ours.why})", False)
        return
    theirs = SECONDS if peer.seconds is None else peer.seconds
    if peer.why in ("not reached", "out of memory"):
        return
    times = theirs / ours.seconds
    at_least = "at least " if peer.seconds is None else ""
    print(f"printed: {shape} {size:,} {step}: {ours.seconds:.3f} s, {name} {at_least}{theirs:.2f} s: "
          f"{times:.1f} times as fast")
    bounds.hold(f"{shape} {size} {step}: slower than {name}", ours.seconds <= theirs * SLACK)
    if (shape, size, name) == ("pairs", 1_000, "terraform") and step in ("plan", "apply"):
        bounds.hold(f"{shape} {size} {step}: {times:.1f} times as fast as {name}", times >= TIMES_FASTER)


def row(size, name, costs):
    """A line of the table."""
    print(f"   {size:6,} {name:9} " + "  ".join(f"{step} {costs[step]}" for step in STEPS), flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", help="weft, by default a new release build")
    a.add_argument("--plugins", default=os.environ.get("LAB_PLUGINS"), help="mirror with the lab provider")
    a.add_argument("--quick", action="store_true", help="sizes 0 and 1,000 only")
    a.add_argument("--check", action="store_true", help="exit code 1 if a bound fails")
    a.add_argument("--no-peer", action="store_true")
    a.add_argument("--shape", action="append", choices=sorted(SHAPES))
    o = a.parse_args()
    if o.bin is None:
        o.bin = release_build()
    shapes = [shape for shape in SHAPES if not o.shape or shape in o.shape]
    if "lab" in shapes and not (o.plugins and Path(o.plugins).is_dir()):
        print("SKIPPED lab: the provider is missing; use --plugins or LAB_PLUGINS")
        shapes.remove("lab")
    sizes = QUICK if o.quick else SIZES
    bounds = Bounds()
    with tempfile.TemporaryDirectory(prefix="weft-shapes-") as work:
        env = clean_environment()
        config = Path(work) / "cli.tfrc"
        mirror = f'  filesystem_mirror {{\n    path = "{Path(o.plugins).resolve()}"\n  }}\n' if o.plugins else ""
        config.write_text(f"provider_installation {{\n{mirror}}}\n" if mirror else "")
        env.update(TF_CLI_CONFIG_FILE=str(config), TF_IN_AUTOMATION="1", CHECKPOINT_DISABLE="1")
        weft = Engine("weft", Path(o.bin).resolve(), env)
        others = [] if o.no_peer else [Engine(name, path, env) for name, path in peers()]
        if not others and not o.no_peer:
            print("SKIPPED the comparison: neither terraform nor tofu is on PATH")
        for shape in shapes:
            print(f"== {shape}")
            ours = {}
            for size in sizes:
                passes = [weft.costs(shape, size, work)
                          for _ in range(PASSES_OF_LARGEST if size == max(SIZES) else PASSES)]
                ours[size] = {step: median([costs[step] for costs in passes]) for step in STEPS}
                row(size, "weft", ours[size])
            # The peer runs after all runs of Weft, because a machine is slower after minutes of work.
            for size in sizes:
                for peer in others if size in PEER_SIZES else []:
                    theirs = peer.costs(shape, size, work)
                    row(size, peer.name, theirs)
                    for step in STEPS:
                        against(bounds, shape, size, step, ours[size][step], theirs[step], peer.name)
            if 10_000 in ours:
                for step in STEPS:
                    all_linear(bounds, shape, step, ours)
    bounds.tell()
    sys.exit(1 if o.check and bounds.broken else 0)


if __name__ == "__main__":
    main()
