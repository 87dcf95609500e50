#!/usr/bin/env python3
"""Time and peak memory of reading and evaluating large configurations, of Weft and of the peer, as whole processes.

    language.py [--bin target/release/weft] [--check] [--subject NAME ...] [--no-peer] [--runs 5]

Each subject is planned several times: empty, at a tenth of its size and at its full size. The medians count. The peer
(`terraform`, and `tofu` if it is installed) plans the subject at full size once, within 120 s and 12 GB of address
space. If the peer exceeds these limits, its usage so far is a lower bound. `--check` compares the result with two
bounds. For each subject, Weft is at least five times as fast as the peer, with at most half its memory. Ten times the
size takes at most twelve times the time above empty (as in shapes.py). Without `--bin`, the release build is made
first.
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from measuring import (PLAIN, SECONDS, Bounds, clean_environment, linear, measure, median, peers,  # noqa: E402
                       release_build, write)

# The bounds against the peer, for each subject.
TIMES_FASTER, SHARE_OF_MEMORY = 5, 0.5
# The number of runs of Weft. The median counts.
RUNS = 5


def resources(n):
    """Blocks in n / 10 files that refer to variables and contain expressions of every common kind."""
    files = {"empty.tf": ""}
    for number in range(n // 10):
        text = f'variable "v{number}" {{\n  type    = string\n  default = "v{number}"\n}}\n'
        for i in range(10):
            text += f"""resource "terraform_data" "r{number}_{i}" {{
  input = {{
    name = "thing-${{var.v{number}}}-{i}"
    size = {i} * 3 + length(var.v{number})
    tags = merge({{ a = "x" }}, {{ b = upper("y{i}") }})
    list = [for k in ["a", "b", "c"] : "${{k}}-{i}"]
  }}
}}
"""
        files[f"file{number:04}.tf"] = text
    return files


def modules(n):
    """Calls of one module with ten variables each."""
    names = range(10)
    inner = "".join(f'variable "v{i}" {{\n  type    = string\n  default = "d"\n}}\n' for i in names)
    inner += 'output "o" {\n  value = join("-", [' + ", ".join(f"var.v{i}" for i in names) + "])\n}\n"
    text = ""
    for i in range(n):
        arguments = "".join(f'  v{j} = "a{i}-{j}"\n' for j in names)
        text += f'module "m{i}" {{\n  source = "./m"\n{arguments}}}\n'
    text += 'output "all" {\n  value = length([' + ", ".join(f"module.m{i}.o" for i in range(n)) + "])\n}\n"
    return {"main.tf": text, "m/main.tf": inner}


def loop(n):
    """A `for` over n elements that another `for` produces, because `range` returns at most 1,024 numbers."""
    return {"main.tf": f"""
locals {{
  all  = flatten([for i in range({n // 1000}) : [for j in range(1000) : i * 1000 + j]])
  even = [for x in local.all : x * 2 + 1 if x % 2 == 0]
}}
output "count" {{
  value = length(local.even)
}}
"""}


def decoded(n):
    """A JSON document of n bytes."""
    rows, size = [], 2
    while size < n:
        i = len(rows)
        row = json.dumps({"id": i, "name": f"name-{i}", "tags": ["a", "b", f"c{i}"],
                          "nested": {"x": i * 1.5, "ok": i % 2 == 0, "none": None}})
        rows.append(row)
        size += len(row) + 2
    return {"data.json": "[" + ", ".join(rows) + "]", "main.tf": """
locals {
  data = jsondecode(file("${path.module}/data.json"))
}
output "count" {
  value = length(local.data)
}
output "last" {
  value = try(local.data[length(local.data) - 1].name, "none")
}
"""}


def yaml(n):
    """A YAML document of n bytes."""
    rows, size = [], 0
    while size < n:
        i = len(rows)
        row = (f"- id: {i}\n  name: name-{i}\n  tags:\n    - a\n    - b\n    - c{i}\n  nested:\n    x: {i * 1.5}\n"
               f"    ok: {'true' if i % 2 == 0 else 'false'}\n    none: null\n")
        rows.append(row)
        size += len(row)
    files = decoded(0)
    del files["data.json"]
    return {"data.yaml": "".join(rows) or "[]\n",
            "main.tf": files["main.tf"].replace("jsondecode", "yamldecode").replace("data.json", "data.yaml")}


def chain(n):
    """Locals, each of which refers to the previous one."""
    text = "locals {\n  a0 = 1\n" + "".join(f"  a{i} = local.a{i - 1} + 1\n" for i in range(1, n)) + "}\n"
    return {"main.tf": text + f'output "last" {{\n  value = local.a{max(n - 1, 0)}\n}}\n'}


def lines(n):
    """n lines of configuration in files of 20,000 lines: objects with 44 attributes, and comments."""
    files = {"empty.tf": "# nothing\n"}
    for at in range(0, n, 20_000):
        text = []
        for local in range(at, min(at + 20_000, n), 50):
            text.append(f"# what stands at line {local}\nlocals {{\n  l{local} = {{")
            for i in range(local, local + 44, 4):
                text.append(f'    text{i} = "words of line {i}"\n    size{i} = {i} * 2 + 1\n'
                            f'    list{i} = ["a", "b-{i}", true]\n    name{i} = "thing-${{path.module}}-{i}"')
            text.append("  }\n}\n")
        files[f"file{at:08}.tf"] = "\n".join(text)
    return files


SUBJECTS = {"resources": (resources, 10_000), "modules": (modules, 1_000), "loop": (loop, 1_000_000),
            "jsondecode": (decoded, 10_000_000), "yamldecode": (yaml, 10_000_000), "chain": (chain, 100_000), "lines": (lines, 1_000_000)}


def planned(binary, subject, size, work, env, runs):
    """The median cost of a plan."""
    folder = Path(tempfile.mkdtemp(prefix=f"{subject}-{size}-", dir=work))
    write(folder, SUBJECTS[subject][0](size))
    measure([binary, "init", *PLAIN], folder, env)
    costs = [measure([binary, "plan", *PLAIN, "-out=plan.out"], folder, env) for _ in range(runs)]
    shutil.rmtree(folder, ignore_errors=True)
    return median(costs)


def against(bounds, subject, ours, peer, name):
    """Checks that Weft is at least five times as fast as the peer, and needs at most half its memory."""
    if peer.why == "out of memory":
        print(f"   {name} runs out of memory")
        return
    theirs = SECONDS if peer.seconds is None else peer.seconds
    times, share = theirs / ours.seconds, ours.peak / peer.peak
    at_least = "" if peer.seconds is not None else "at least "
    print(f"printed: {subject}: {ours.seconds:.2f} s and {ours.peak / 2**20:.0f} MB, {name} {at_least}{theirs:.2f} s "
          f"and {at_least}{peer.peak / 2**20:.0f} MB: {times:.1f} times as fast with {share:.2f} of the memory")
    bounds.hold(f"{subject}: {times:.1f} times as fast as {name}", times >= TIMES_FASTER)
    bounds.hold(f"{subject}: {share:.2f} of the memory of {name}", share <= SHARE_OF_MEMORY)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", help="weft, by default a new release build")
    a.add_argument("--check", action="store_true", help="exit code 1 if a bound fails")
    a.add_argument("--no-peer", action="store_true")
    a.add_argument("--runs", type=int, default=RUNS, help="the number of runs of weft; the median counts")
    a.add_argument("--subject", action="append", choices=sorted(SUBJECTS))
    o = a.parse_args()
    binary = str(Path(o.bin or release_build()).resolve())
    bounds = Bounds()
    others = [] if o.no_peer else peers()
    if not others and not o.no_peer:
        print("SKIPPED the comparison: neither terraform nor tofu is on PATH")
    with tempfile.TemporaryDirectory(prefix="weft-language-") as work:
        env = clean_environment()
        config = Path(work) / "cli.tfrc"
        config.write_text("")
        env.update(TF_CLI_CONFIG_FILE=str(config), TF_IN_AUTOMATION="1", CHECKPOINT_DISABLE="1")
        for subject, (_, size) in SUBJECTS.items():
            if o.subject and subject not in o.subject:
                continue
            print(f"== {subject}")
            ours = {}
            for at in (0, size // 10, size):
                ours[at] = planned(binary, subject, at, work, env, o.runs)
                print(f"   {at:10,} weft      {ours[at]}", flush=True)
            if ours[size].seconds is not None:
                for name, path in others:
                    theirs = planned(path, subject, size, work, env, 1)
                    print(f"   {size:10,} {name:9} {theirs}", flush=True)
                    against(bounds, subject, ours[size], theirs, name)
            linear(bounds, subject, ours[0], ours[size // 10], ours[size], (size // 10, size))
    bounds.tell()
    sys.exit(1 if o.check and bounds.broken else 0)


if __name__ == "__main__":
    main()
