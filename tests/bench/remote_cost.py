#!/usr/bin/env python3
"""The cost of a backend far away: a run over an object store whose every request takes 30 ms, against the same run on the
embedded store.

    remote_cost.py [--bin-dir target/release] [--operations N] [--rounds N] [--check]

Each operation takes 200 ms, and 64 are in flight. Prints the medians, their ratio, and the requests for each operation.
With `--check`, the exit code is 1 if the run takes more than 10% longer, or 0.1 requests or more for each operation.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from stage import ROOT, Cloud, Moto, Proxy, Stage  # noqa: E402

# The time of an operation and of a request to the object store, in milliseconds.
OPERATION, REQUEST = 200, 30
IN_FLIGHT = 64
# The bounds: the time of the run against the embedded store, and the requests for each operation.
LONGER, REQUESTS = 1.10, 0.1
# The maximum time of a command, in seconds.
LONG = 300

BACKEND = """
terraform {
  backend "s3" {
    bucket         = "states"
    key            = "bench/KEY"
    use_lockfile   = true
    use_path_style = true
  }
}
"""


def configuration(operations):
    return f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
resource "cloud_dns_record" "r" {{
  count  = {operations}
  name   = "r${{count.index}}"
  type   = "A"
  values = ["192.0.2.1"]
}}
"""


def measure(stage, name, operations, more, env):
    """The seconds of an apply."""
    work = stage.path / name
    work.mkdir()
    (work / "main.tf").write_text(configuration(operations) + more)

    def weft(command, *arguments):
        return stage.must(0, command, "-input=false", "-no-color", *arguments, cwd=work, env=env, seconds=LONG)

    weft("init")
    weft("plan", "-out=plan.weft")
    start = time.perf_counter()
    weft("apply", f"-parallelism={IN_FLIGHT}", "plan.weft")
    seconds = time.perf_counter() - start
    weft("destroy", "-auto-approve", f"-parallelism={IN_FLIGHT}")
    return seconds


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--operations", type=int, default=2_000)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Moto.there():
        print("SKIPPED remote cost: moto_server is not installed")
        return
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    near, far, requests = [], [], []
    with Stage(o.bin_dir, prefix="weft-remote-") as stage:
        stage.cli_config([stage.mirror()])
        Cloud(stage, {"regions": {"*": {"latency_ms": OPERATION}}})
        proxy = Proxy(stage, Moto(stage).port, latency=REQUEST)
        env = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
               "AWS_ENDPOINT_URL": proxy.url()}
        for number in range(o.rounds):
            near.append(measure(stage, f"near-{number}", o.operations, "", {}))
            before = proxy.counts()["requests"]
            far.append(measure(stage, f"far-{number}", o.operations, BACKEND.replace("KEY", str(number)), env))
            # The run is created and destroyed, so there are two of them.
            requests.append((proxy.counts()["requests"] - before) / (2 * o.operations))
            print(f"   {o.operations:,} operations: embedded {near[-1]:.2f} s, over the object store {far[-1]:.2f} s, "
                  f"{requests[-1]:.3f} requests for each", flush=True)
    ratio, rate = statistics.median(far) / statistics.median(near), statistics.median(requests)
    print(f"printed: an object store with {REQUEST} ms: {ratio:.3f} times the embedded store, {rate:.3f} requests for each operation")
    if ratio > LONGER or rate >= REQUESTS:
        print(f"FAIL the bounds are {LONGER} times and {REQUESTS} requests")
        if o.check:
            sys.exit(1)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
