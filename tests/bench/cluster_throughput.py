#!/usr/bin/env python3
"""The number of operations per second of a cluster: 10,000 updates over four provider instances, each on its own
worker, with Redis at `appendfsync always`. Each intent and each commit is durable on its own.

    cluster_throughput.py [--bin-dir target/release] [--operations N] [--tls] [--check]

The provider does nothing and takes no time (`offline`), so that the engine is measured. Each process has one thread for
its tasks, as `docs/operate.md` recommends if there are more processes than cores. Prints the rate from the first
start to the last completion, and the rate of the whole command, for several such updates in a row. With `--tls`, all
processes use mutual TLS on TCP ports, and Redis uses TLS and has a user of its own. With `--check`, the exit code is 1
if the median is below 6,000 per second, or below 8,000 with `--tls`.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from redis_servers import RedisTls  # noqa: E402
from secure_cluster import SecureCluster  # noqa: E402
from stage import ROOT, Broken, Cluster, Redis, Stage  # noqa: E402

# The minimum rates without and with TLS, in operations per second.
AIM, TLS_AIM = 6_000, 8_000
WORKERS = 4
# The number of consecutive updates, each a plan and an apply. Their median counts.
ROUNDS = 5
# The maximum time of a command, in seconds.
LONG = 600


def configuration(operations):
    text = """
terraform {
  required_providers {
    cloud = { source = "weft.test/sim/cloud" }
  }
}
variable "ttl" { default = 60 }
"""
    for number in range(WORKERS):
        text += f"""
provider "cloud" {{
  alias   = "p{number}"
  region  = "region-{number}"
  offline = true
}}
resource "cloud_dns_record" "r{number}" {{
  provider = cloud.p{number}
  count    = {operations // WORKERS}
  name     = "r${{count.index}}"
  type     = "A"
  ttl      = var.ttl
  values   = ["192.0.2.1"]
}}
"""
    return text


def span(events):
    """The seconds from the first `apply_start` to the last `apply_complete`, and the number of completed operations."""
    first = last = None
    count = 0
    for line in events.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("type") not in ("apply_start", "apply_complete"):
            continue
        moment = datetime.fromisoformat(event["@timestamp"].replace("Z", "+00:00"))
        if event["type"] == "apply_start":
            first = moment if first is None else min(first, moment)
        else:
            count += 1
            last = moment if last is None else max(last, moment)
    if first is None or last is None:
        raise Broken("apply -json shows no apply_start and apply_complete")
    return max((last - first).total_seconds(), 1e-6), count


def measure(bin_dir, operations, tls=False):
    os.environ["TOKIO_WORKER_THREADS"] = "1"
    with Stage(bin_dir, prefix="weft-throughput-") as stage:
        stage.cli_config([stage.mirror()])
        work = stage.path / "work"
        work.mkdir()
        (work / "main.tf").write_text(configuration(operations))
        kind, redis = (SecureCluster, RedisTls(stage)) if tls else (Cluster, Redis(stage))
        cluster = kind(stage, redis, workers=WORKERS, state="throughput")
        env = cluster.env()

        def weft(command, *arguments):
            stage.must(0, command, "-input=false", "-no-color", *arguments, cwd=work, env=env, seconds=LONG)

        weft("init")
        weft("plan", "-out=create.weft")
        weft("apply", "create.weft")
        for number in range(ROUNDS):
            weft("plan", "-var", f"ttl={61 + number}", "-out=update.weft")
            start = time.perf_counter()
            applied = stage.must(0, "apply", "-json", "update.weft", cwd=work, env=env, seconds=LONG)
            whole = time.perf_counter() - start
            run = stage.json("runs", "show", "-json", cwd=work, env=env, seconds=LONG)
            updates = [o for o in run["operations"] if o["action"] == "update"]
            if len(updates) != operations or any(o["status"] != "done" for o in updates):
                raise Broken(f"expected {operations} updates; the run has {run['counts']}")
            workers = {}
            for operation in updates:
                workers.setdefault(operation["provider_instance"], set()).add(operation["worker"])
            yield span(applied.stdout), whole, workers


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--operations", type=int, default=10_000)
    a.add_argument("--tls", action="store_true")
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Redis.there():
        print("SKIPPED cluster throughput: redis-server is not installed")
        return
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    operations = o.operations // WORKERS * WORKERS
    rates, good = [], True
    for (seconds, completed), whole, workers in measure(o.bin_dir, operations, o.tls):
        spread = len({name for names in workers.values() for name in names})
        rates.append(completed / seconds)
        print(f"   {completed:,} updates over {len(workers)} provider instances on {spread} workers: {rates[-1]:,.0f} "
              f"operations/s; the whole command {whole:.2f} s, {operations / whole:,.0f} operations/s", flush=True)
        good = good and spread == WORKERS and completed == operations
    rate = statistics.median(rates)
    print(f"printed: median of {ROUNDS}: {rate:,.0f} operations/s")
    aim = TLS_AIM if o.tls else AIM
    good = good and rate >= aim
    if not good:
        print(f"FAIL the minimum is {aim:,} operations/s on {WORKERS} workers")
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(1 if o.check and not good else 0)


if __name__ == "__main__":
    main()
