#!/usr/bin/env python3
"""Runs the previous version of Weft and the current version side by side, each in every role, while a run is under way.

    versions.py --bin-dir target/debug [--previous DIR] [--keep] [NAME ...]

`--previous` is a folder with the programs of the previous version. Without it, they are built from the commit in
`previous.txt`, into target/previous. The scenarios:

    command      the command line is the previous version; coordinator and workers are the current version
    worker       the workers are the previous version
    coordinator  the coordinator is the previous version
    upgrade      at first, everything is the previous version; during a run, the workers are replaced one by one by the
                 current version, and the coordinator is killed and replaced
    back         like `upgrade`, with the versions exchanged: a downgrade during a run
    plan         the previous version plans and is killed during apply; the current version resumes and applies the next
                 plan

In each scenario, all objects are created, none twice, and the next plan of both versions has no changes.
"""
import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from stage import ROOT, Broken, Cloud, Cluster, Redis, Stage, created_twice, wait_until  # noqa: E402

TOTAL = 60
# The time of an operation in milliseconds, and the maximum number of concurrent operations: a run takes about six
# seconds.
OPERATION, IN_FLIGHT = 400, 4
LONG = 240
CONFIGURATION = f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
resource "cloud_network" "n" {{
  count = {TOTAL // 2}
  name  = "n${{count.index}}"
  cidr  = "10.${{count.index}}.0.0/16"
}}
resource "cloud_subnet" "s" {{
  count      = {TOTAL // 2}
  network_id = cloud_network.n[count.index].id
  name       = "s${{count.index}}"
  cidr       = cloud_network.n[count.index].cidr
}}
"""


def previous_programs():
    """The folder with the previous version, built if necessary."""
    commit = (HERE / "previous.txt").read_text().split()[0]
    place = ROOT / "target" / "previous"
    if not (place / "source" / ".git").exists():
        subprocess.run(["git", "worktree", "add", "--detach", "--force", str(place / "source"), commit], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=place / "source", check=True)
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"], cwd=place / "source",
                   env={**os.environ, "CARGO_TARGET_DIR": str(place)}, check=True)
    return place / "debug"


class Scenario:
    def __init__(self, stage, new, old):
        self.stage, self.new, self.old = stage, new, old
        stage.cli_config([stage.mirror()])
        self.cloud = Cloud(stage, {"regions": {"*": {"latency_ms": OPERATION}}})
        self.work = stage.path / "work"
        self.work.mkdir()
        (self.work / "main.tf").write_text(CONFIGURATION)
        self.env, self.running = {}, None

    @contextmanager
    def version(self, programs):
        """In this context, commands and processes are started from these programs."""
        before, self.stage.bin_dir = self.stage.bin_dir, programs
        yield
        self.stage.bin_dir = before

    def cluster(self, coordinator, workers):
        redis = Redis(self.stage)
        with self.version(coordinator):
            cluster = Cluster(self.stage, redis, workers=0)
        with self.version(workers):
            for _ in range(2):
                self.start_worker(cluster)
        # The cluster deletes the folder with its sockets when it is dropped, so the scenario keeps the cluster.
        self.running, self.env = cluster, cluster.env()
        return cluster

    @staticmethod
    def start_worker(cluster):
        """Starts a worker with a name, because the current version has spools only for workers with names. An older
        coordinator must accept such a worker."""
        cluster.start_worker("-name", f"worker-{cluster.started + 1}")

    def weft(self, programs, *arguments, code=0):
        with self.version(programs):
            return self.stage.must(code, *arguments, cwd=self.work, env=self.env, seconds=LONG)

    def plan(self, programs):
        self.weft(programs, "init", "-input=false", "-no-color")
        self.weft(programs, "plan", "-input=false", "-no-color", "-out=plan.weft")

    def apply(self, programs):
        with self.version(programs):
            return self.stage.weft("apply", "apply", "-input=false", "-no-color", f"-parallelism={IN_FLIGHT}", "plan.weft",
                                   cwd=self.work, env=self.env)

    def created(self):
        return sum(line["op"] == "create" and line["outcome"] == "done" for line in self.cloud.ledger())

    def reaches(self, share, apply):
        wait_until(f"{share} objects", lambda: self.created() >= share or not apply.alive(), LONG)

    def ends(self, apply):
        code = apply.wait(LONG)
        if code != 0:
            raise Broken(f"apply ended with {code}:\n{apply.tail()}")

    def judge(self):
        twice = created_twice(self.cloud.ledger())
        if self.created() != TOTAL or twice:
            raise Broken(f"{self.created()} objects were created, not {TOTAL}; twice: {twice}")
        for programs in (self.new, self.old):
            said = self.weft(programs, "plan", "-input=false", "-no-color").stdout
            if "No changes." not in said:
                raise Broken(f"{programs}: the next plan has changes:\n{said[-2000:]}")

    def roles(self, command, coordinator, workers):
        self.cluster(coordinator, workers)
        self.plan(command)
        self.ends(self.apply(command))
        self.judge()

    def replaced(self, first, second):
        cluster = self.cluster(first, first)
        self.plan(first)
        apply = self.apply(first)
        self.reaches(TOTAL // 4, apply)
        for worker in list(cluster.workers):
            with self.version(second):
                self.start_worker(cluster)
            worker.send(15)
            worker.wait(LONG)
        self.reaches(TOTAL // 2, apply)
        cluster.coordinator.kill()
        time.sleep(0.5)
        with self.version(second):
            cluster.start_coordinator()
        self.ends(apply)
        self.judge()

    def resumed(self):
        self.plan(self.old)
        apply = self.apply(self.old)
        self.reaches(TOTAL // 3, apply)
        apply.send(2)
        apply.wait(LONG)
        self.weft(self.new, "runs", "resume", "-no-color")
        self.judge()


SCENARIOS = {
    "command": lambda s: s.roles(s.old, s.new, s.new),
    "worker": lambda s: s.roles(s.new, s.new, s.old),
    "coordinator": lambda s: s.roles(s.new, s.old, s.new),
    "upgrade": lambda s: s.replaced(s.old, s.new),
    "back": lambda s: s.replaced(s.new, s.old),
    "plan": lambda s: s.resumed(),
}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", required=True)
    a.add_argument("--previous")
    a.add_argument("--keep", action="store_true")
    a.add_argument("names", nargs="*", metavar="NAME")
    o = a.parse_args()
    new = Path(o.bin_dir).resolve()
    old = Path(o.previous).resolve() if o.previous else previous_programs()
    passed = failed = 0
    for name in o.names or SCENARIOS:
        start = time.monotonic()
        with Stage(new, keep=o.keep, prefix="weft-versions-") as stage:
            try:
                SCENARIOS[name](Scenario(stage, new, old))
                passed += 1
                print(f"ok {name} {time.monotonic() - start:.1f} s", flush=True)
            except Broken as broken:
                failed += 1
                print(f"FAIL {name}: {broken}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
