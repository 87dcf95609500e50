#!/usr/bin/env python3
"""The time from the moment when an operation could start to its dispatch to a worker, at 1,000 operations per second, with
Redis at `appendfsync always`.

    dispatch_latency.py [--bin-dir target/release] [--chains N] [--length N] [--rounds N] [--check]

Operations become ready one after another, as results arrive: the configuration has chains of records, and each record
reads the previous record of its chain. The simulated cloud takes some time for each record. No operation waits for a
free slot, so only the engine is measured. The first operation of each chain is not counted, because a new run waits a
tenth of a second until it knows its workers. The times come from the coordinator's own metric `weft_dispatch_seconds`,
whose bounds include 20 ms. Prints the share within each bound, and the bound of the 99th percentile. With `--check`,
the exit code is 1 if fewer than 99 of 100 operations were dispatched within 20 ms, or if there were fewer than 1,000
operations per second.
"""
import argparse
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "chaos"))
from cluster_throughput import span  # noqa: E402
from stage import ROOT, Broken, Cloud, Cluster, Redis, Stage, free_port, wait_until  # noqa: E402

# The aims: the share of operations, the bound in seconds, and the rate in operations per second.
SHARE, BOUND, RATE = 0.99, 0.02, 1_000
WORKERS = 4
# The time of an operation in the cloud, in milliseconds.
LATENCY = 50
# More chains than RATE * LATENCY needs: each operation also takes the time of an intent and a commit.
CHAINS, LENGTH = 88, 40
# The maximum time of a command, in seconds.
LONG = 600
METRIC = "weft_dispatch_seconds"


def configuration(chains, length):
    """Chains of records over the provider instances. Each step of the chains is one resource block for each provider
    instance, whose records read the records of the previous step."""
    text = ['terraform {\n  required_providers {\n    cloud = { source = "weft.test/sim/cloud" }\n  }\n}\n']
    for number in range(WORKERS):
        text.append(f'provider "cloud" {{\n  alias  = "p{number}"\n  region = "region-{number}"\n}}\n')
        for step in range(length):
            before = f"cloud_dns_record.w{number}s{step - 1}[count.index].id" if step else '"192.0.2.1"'
            text.append(f'resource "cloud_dns_record" "w{number}s{step}" {{\n  provider = cloud.p{number}\n'
                        f'  count    = {chains // WORKERS}\n  name     = "s{step}-${{count.index}}"\n  type     = "TXT"\n'
                        f'  ttl      = 60\n  values   = [{before}]\n}}\n')
    return "\n".join(text)


class MeteredCluster(Cluster):
    """A cluster whose coordinator has metrics."""

    def start_coordinator(self):
        self.metrics = free_port()
        self.coordinator = self.stage.weft("coordinator", "coordinator", "-store", self.store, "-listen", self.address,
                                           "-metrics", f"127.0.0.1:{self.metrics}")
        wait_until("the metrics of the coordinator", lambda: self.histogram(wait=True) is not None or not self.coordinator.alive())
        if not self.coordinator.alive():
            raise Broken(f"the coordinator did not start:\n{self.coordinator.tail()}")

    def histogram(self, wait=False):
        """The numbers of operations within each bound, in seconds. `None` if `wait` is set and the metrics cannot be
        read yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10) as reply:
                text = reply.read().decode()
        except OSError:
            if wait:
                return None
            raise
        found = re.findall(rf'^{METRIC}_bucket{{le="([^"]+)"}} (\d+)', text, re.M)
        return {float(bound): int(count) for bound, count in found}


def settled(cluster, least):
    """The histogram, once it has at least `least` operations: the coordinator counts four times a second."""
    wait_until("the metrics of the run", lambda: cluster.histogram().get(float("inf"), 0) >= least, 20, 0.25)
    return cluster.histogram()


def measure(bin_dir, chains, length, rounds):
    with Stage(bin_dir, prefix="weft-dispatch-") as stage:
        stage.cli_config([stage.mirror()])
        Cloud(stage, {"durability": "process", "regions": {"*": {"latency_ms": LATENCY}}})
        work = stage.path / "work"
        work.mkdir()
        (work / "main.tf").write_text(configuration(chains, length))
        cluster = MeteredCluster(stage, Redis(stage), workers=WORKERS, state="dispatch")
        env, total = cluster.env(), chains * length
        options = dict(cwd=work, env=env, seconds=LONG)
        stage.must(0, "init", "-input=false", "-no-color", **options)
        before = cluster.histogram()
        for _ in range(rounds):
            stage.must(0, "plan", "-input=false", "-no-color", "-refresh=false", "-out=plan.weft", **options)
            applied = stage.must(0, "apply", "-json", f"-parallelism={2 * chains}", "plan.weft", **options)
            seconds, completed = span(applied.stdout)
            if completed != total:
                raise Broken(f"{completed} operations were completed, but {total} were planned")
            after = settled(cluster, before.get(float("inf"), 0) + total)
            histogram = {bound: count - before.get(bound, 0) for bound, count in after.items()}
            # Leaves out the first operation of each chain. These are the slowest operations, because they have waited
            # for the start of the run.
            yield {bound: min(count, total - chains) for bound, count in histogram.items()}, completed / seconds
            stage.must(0, "destroy", "-auto-approve", "-refresh=false", "-no-color", f"-parallelism={4 * chains}", **options)
            # The operations of the destroy appear in the metrics with the next count.
            time.sleep(1)
            before = cluster.histogram()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--chains", type=int, default=CHAINS, help="how many operations run at the same time")
    a.add_argument("--length", type=int, default=LENGTH, help="how many operations follow one another in each")
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Redis.there():
        print("SKIPPED dispatch latency: redis-server is not installed")
        return
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    chains = max(o.chains // WORKERS, 1) * WORKERS
    total, rates = {}, []
    for histogram, rate in measure(o.bin_dir, chains, o.length, o.rounds):
        rates.append(rate)
        for bound, count in histogram.items():
            total[bound] = total.get(bound, 0) + count
        print(f"   {histogram[float('inf')]:,} operations, {rate:,.0f} per second; dispatched within {BOUND * 1000:.0f} ms: "
              f"{histogram.get(BOUND, 0) / max(histogram[float('inf')], 1):.2%}", flush=True)
    everything = max(total[float("inf")], 1)
    for bound, count in sorted(total.items()):
        print(f"   up to {bound * 1000:g} ms: {count / everything:.2%}")
    within = min((bound for bound, count in total.items() if count >= SHARE * everything), default=float("inf"))
    rate = min(rates)
    good = within <= BOUND and rate >= RATE
    print(f"printed: 99% are dispatched within {within * 1000:g} ms, at {rate:,.0f} operations/s or more")
    if not good:
        print(f"FAIL 99% must be dispatched within {BOUND * 1000:.0f} ms, at {RATE:,} operations/s")
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(1 if o.check and not good else 0)


if __name__ == "__main__":
    main()
