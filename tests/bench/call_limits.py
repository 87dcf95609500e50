#!/usr/bin/env python3
"""Limits on calls: 300 objects in regions that accept 20 requests a second each, with budgets in `placement.toml`.

    call_limits.py [--bin-dir target/release] [--objects N] [--check]

Measures three cases: an apply in one process, an apply of a cluster with Redis, and two applies at the same time. These
two have different states on one Redis server, and share the budgets. The provider does not retry (`retries = 0`), so
every refused request is seen. With `--check`, the exit code is 1 if at least 1% of the requests were refused, or if an
apply took over 15% longer than the minimum time that the budgets allow.
"""
import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from stage import ROOT, Broken, Cloud, Cluster, Redis, Stage  # noqa: E402

# The regions, with the share of the objects that each region has.
REGIONS = {"eu": 0.9, "us": 0.1}
RATE = 20
# The service accepts bursts of one second of requests, but the budget allows only half of that. The difference is a
# reserve, because calls take different times to reach the service.
BURST, SERVICE_BURST = 10, 20
# The maximum share of refused requests, and the maximum time of an apply relative to the minimum time.
REFUSED, LONGER = 0.01, 1.15
LONG = 600

CLOUD = {"durability": "process", "regions": {"*": {"latency_ms": 20, "rate": {"per_second": RATE, "burst": SERVICE_BURST}}}}

PLACEMENT = f"""
[[limit]]
provider = "weft.test/sim/cloud"
labels = {{ region = "{{region}}" }}
rate = {RATE}
burst = {BURST}
"""


def configuration(objects, prefix):
    text = """
terraform {
  required_providers {
    cloud = { source = "weft.test/sim/cloud" }
  }
}
"""
    for region, part in REGIONS.items():
        text += f"""
provider "cloud" {{
  alias   = "{region}"
  region  = "{region}"
  retries = 0
}}
resource "cloud_dns_record" "{region}" {{
  provider = cloud.{region}
  count    = {round(objects * part)}
  name     = "{prefix}${{count.index}}"
  type     = "A"
  values   = ["192.0.2.1"]
}}
"""
    return text


class Work:
    """A directory with a plan."""

    def __init__(self, stage, name, objects, env=None):
        self.stage, self.name, self.objects, self.env = stage, name, objects, env or {}
        self.path = stage.path / name
        self.path.mkdir()
        (self.path / "main.tf").write_text(configuration(objects, name))
        (self.path / "placement.toml").write_text(PLACEMENT)
        for command in (("init",), ("plan", "-out=plan.weft")):
            stage.must(0, *command, "-input=false", "-no-color", cwd=self.path, env=self.env, seconds=LONG)

    def begin(self):
        self.begun = time.perf_counter()
        self.process = self.stage.weft(f"{self.name}-apply", "apply", "-input=false", "-no-color", "plan.weft",
                                       cwd=self.path, env=self.env)

    def end(self):
        code = self.process.wait(LONG)
        if code != 0:
            raise Broken(f"the apply ended with exit code {code}:\n{self.process.tail()}")


def rates(cloud):
    with urllib.request.urlopen(cloud.url + "/rates", timeout=20) as reply:
        return json.load(reply)


def measure(title, cloud, works):
    """Applies the plans of all `works` at the same time. Returns whether the results are within the bounds."""
    before = rates(cloud)
    begun = time.perf_counter()
    for work in works:
        work.begin()
    for work in works:
        work.end()
    seconds = time.perf_counter() - begun
    counts = {region: {key: count - before.get(region, {}).get(key, 0) for key, count in found.items()}
              for region, found in rates(cloud).items()}
    taken = sum(found["taken"] for found in counts.values())
    refused = sum(found["refused"] for found in counts.values())
    wanted = sum(work.objects for work in works)
    if taken != wanted:
        raise Broken(f"{title}: {taken} requests were taken, and {wanted} objects are planned")
    best = max((found["taken"] - BURST) / RATE for found in counts.values())
    part = refused / (taken + refused)
    good = part < REFUSED and seconds <= best * LONGER
    print(f"   {title}: {wanted} objects in {seconds:.1f} s, at best {best:.1f} s; {refused} of {taken + refused} requests "
          f"refused ({part:.1%})", flush=True)
    return good


def embedded(bin_dir, objects):
    with Stage(bin_dir, prefix="weft-limits-") as stage:
        stage.cli_config([stage.mirror()])
        cloud = Cloud(stage, CLOUD)
        return measure("one process", cloud, [Work(stage, "one", objects)])


def cluster(bin_dir, objects):
    with Stage(bin_dir, prefix="weft-limits-") as stage:
        stage.cli_config([stage.mirror()])
        cloud = Cloud(stage, CLOUD)
        one = Cluster(stage, Redis(stage), workers=2, state="one")
        return measure("a cluster with two workers", cloud, [Work(stage, "single", objects, one.env())])


def two_runs(bin_dir, objects):
    """A run on a cluster and a run in one process, at the same time, over two states on one Redis server."""
    with Stage(bin_dir, prefix="weft-limits-") as stage:
        stage.cli_config([stage.mirror()])
        cloud = Cloud(stage, CLOUD)
        redis = Redis(stage)
        one = Cluster(stage, redis, workers=2, state="one")
        works = [Work(stage, "left", objects // 2, one.env()),
                 Work(stage, "right", objects // 2, {"WEFT_STORE": redis.url("other")})]
        return measure("two runs over one Redis", cloud, works)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--objects", type=int, default=300)
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    results = [embedded(o.bin_dir, o.objects)]
    if Redis.there():
        results += [cluster(o.bin_dir, o.objects), two_runs(o.bin_dir, o.objects)]
    else:
        print("SKIPPED limits on calls over Redis: redis-server is not installed")
    failed = results.count(False)
    if failed:
        print(f"FAIL fewer than {REFUSED:.0%} of the requests may be refused, and an apply may take {LONGER:.0%} of the best time")
    print(f"{results.count(True)} passed, {failed} failed")
    sys.exit(1 if o.check and failed else 0)


if __name__ == "__main__":
    main()
