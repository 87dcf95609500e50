#!/usr/bin/env python3
"""Refused connections: an apply of a cluster with TLS, alone and while 10,000 connections a second are refused.

    refused_connections.py [--bin-dir target/release] [--check]

The flood sends random bytes, or the beginning of a TLS greeting, on each connection. 1,200 other connections stay open
and send nothing. All of them come from another address than the commands, because a coordinator limits the handshakes
of each address. The applies are measured in turns. With `--check`, the exit code is 1 if fewer connections were made
than intended, or if the flood made the median apply more than 20% slower.
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
from secure_cluster import SecureCluster  # noqa: E402
from stage import ROOT, Broken, Cloud, Redis, Stage, wait_until  # noqa: E402

# Connections per second, and connections that stay open in silence.
RATE, SILENT = 10_000, 1_200
# The objects, their latency in milliseconds, and the concurrent operations. An apply takes 8 s or more.
OBJECTS, LATENCY, PARALLELISM = 400, 200, 10
# The number of applies of each kind. Their medians count.
ROUNDS = 3
# The maximum time of an apply in the flood, relative to one without it, and the minimum part of the intended rate.
SLOWER, REACHED = 1.20, 0.95
# How long the flood lasts, in seconds: longer than an apply.
FLOOD = 30
LONG = 600

CLOUD = {"durability": "process", "regions": {"*": {"latency_ms": LATENCY}}}
CONFIGURATION = f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
variable "ttl" {{}}
provider "cloud" {{
  region = "eu"
}}
resource "cloud_dns_record" "r" {{
  count  = {OBJECTS}
  name   = "r${{count.index}}"
  type   = "A"
  ttl    = var.ttl
  values = ["192.0.2.1"]
}}
"""


def apply(stage, cluster, number, flooded):
    """Updates all objects. Returns the seconds, and the report of the flood."""
    weft = lambda *words: stage.must(0, words[0], "-input=false", "-no-color", *words[1:], cwd=stage.path / "work",  # noqa: E731
                                     env=cluster.env(), seconds=LONG)
    weft("plan", "-var", f"ttl={60 + number}", f"-parallelism={PARALLELISM}", "-out=plan.weft")
    flood = None
    if flooded:
        words = [stage.bin_dir / "simcloud", "flood", cluster.address, "--seconds", str(FLOOD), "--rate", str(RATE),
                 "--from", "127.0.0.2", "--silent", str(SILENT)]
        flood = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        time.sleep(2)
    start = time.perf_counter()
    weft("apply", f"-parallelism={PARALLELISM}", "plan.weft")
    seconds = time.perf_counter() - start
    if flood is None:
        return seconds, None
    if flood.poll() is not None:
        raise Broken(f"the apply took {seconds:.1f} s, longer than the flood of {FLOOD} s")
    return seconds, json.loads(flood.communicate(timeout=LONG)[0])


def measure(bin_dir):
    with Stage(bin_dir, prefix="weft-refused-") as stage:
        Cloud(stage, CLOUD)
        stage.cli_config([stage.mirror()])
        (stage.path / "work").mkdir()
        (stage.path / "work/main.tf").write_text(CONFIGURATION)
        cluster = SecureCluster(stage, Redis(stage), workers=1, state="refused")
        wait_until("the worker", lambda: "works for" in cluster.workers[0].stdout())
        stage.must(0, "init", "-input=false", "-no-color", cwd=stage.path / "work", env=cluster.env(), seconds=LONG)
        apply(stage, cluster, 0, False)
        times, reports = {False: [], True: []}, []
        for number in range(1, 2 * ROUNDS + 1):
            seconds, report = apply(stage, cluster, number, number % 2 == 0)
            times[report is not None].append(seconds)
            if report is not None:
                reports.append(report)
                print(f"   {report['connections']:,} connections were refused, {report['per_second']:,} a second, and "
                      f"{report['silent']:,} stayed open: {seconds:.1f} s", flush=True)
            else:
                print(f"   without a flood: {seconds:.1f} s", flush=True)
        return statistics.median(times[False]), statistics.median(times[True]), reports


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Redis.there():
        print("SKIPPED refused connections: redis-server is not installed")
        return
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    alone, flooded, reports = measure(Path(o.bin_dir).resolve())
    rate = min(report["per_second"] for report in reports)
    good = rate >= REACHED * RATE and flooded <= SLOWER * alone
    print(f"printed: {flooded / alone:.2f} times the time of an apply without a flood, with {rate:,} refused connections a "
          f"second or more")
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(1 if o.check and not good else 0)


if __name__ == "__main__":
    main()
