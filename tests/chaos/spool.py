#!/usr/bin/env python3
"""Results outlive their worker and their coordinator. A coordinator is killed while calls are running. The workers
write the results to their spools, and die too. Later workers of the same names hand over the results, and nothing is in
doubt.

    spool.py --bin-dir target/debug [--keep] [NAME ...]

    killed   coordinator and workers are killed; the workers start again before the coordinator takes over the run
    late     the workers start only after the run has ended with doubts; the resume settles these doubts
    stopped  the workers end in an orderly way (SIGTERM) while there is no coordinator
    sealed   like `killed`, with an encrypted state: the spools and everything in them are encrypted

The objects are records, which have no client token. So without the spools, the user would have to resolve each call
that was running. All objects are created, none twice, and the next plan has no changes.
"""
import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from stage import SIGTERM, Broken, Cloud, Cluster, Redis, Stage, created_twice, ids_in_state, wait_until  # noqa: E402

TOTAL = 40
# The time of a call in milliseconds, and the maximum number of concurrent calls.
OPERATION, IN_FLIGHT = 1_500, 10
# The maximum time of a command, in seconds. A takeover waits for the lease of the dead coordinator.
LONG = 120
# A text in each object, which must not be in an encrypted spool.
CANARY = "canary-7f3a"
CONFIGURATION = f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
provider "cloud" {{
  region = "eu"
}}
resource "cloud_dns_record" "r" {{
  count  = {TOTAL}
  name   = "{CANARY}-${{count.index}}"
  type   = "A"
  ttl    = 60
  values = ["192.0.2.1"]
}}
"""
ENCRYPTION = """
key_provider "pbkdf2" "k" {
  passphrase = "a long enough passphrase"
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.k
}
state {
  method = method.aes_gcm.m
}
"""


class Scenario:
    def __init__(self, stage, sealed):
        self.stage = stage
        if sealed:
            stage.env["TF_ENCRYPTION"] = ENCRYPTION
        stage.cli_config([stage.mirror()])
        self.cloud = Cloud(stage, {"durability": "process", "regions": {"*": {"latency_ms": OPERATION}}})
        self.work = stage.path / "work"
        self.work.mkdir()
        (self.work / "main.tf").write_text(CONFIGURATION)
        self.cluster = Cluster(stage, Redis(stage), workers=0, state="spool")
        self.env, self.starts = self.cluster.env(), 0
        self.start_workers()

    def start_workers(self):
        """Starts two workers, under the same names as before, in the same folders."""
        self.starts += 1
        self.workers = []
        for name in ("one", "two"):
            folder = self.stage.path / name
            folder.mkdir(exist_ok=True)
            self.workers.append(self.stage.weft(
                f"worker-{name}-{self.starts}", "worker", "-no-color", "-coordinator", self.cluster.address, "-name", name,
                "-plugin-dir", self.cluster.plugin_dir, cwd=folder))

    def spools(self):
        return [path for path in self.stage.path.glob("*/.terraform/weft/results-*") if path.suffix != ".lock"]

    def kept(self):
        """The number of bytes in the spools."""
        return sum(path.stat().st_size for path in self.spools())

    def created(self):
        return sum(line["op"] == "create" and line["outcome"] == "done" for line in self.cloud.ledger())

    def weft(self, *arguments):
        return self.stage.run(*arguments, cwd=self.work, env=self.env, seconds=LONG)

    def must(self, code, *arguments):
        return self.stage.must(code, *arguments, cwd=self.work, env=self.env, seconds=LONG)

    def run_until_alone(self):
        """Applies until results are in the spools of workers that no coordinator listens to. Returns the apply."""
        self.must(0, "init", "-input=false", "-no-color")
        self.must(0, "plan", "-input=false", "-no-color", "-out=plan.weft")
        apply = self.stage.weft("apply", "apply", "-input=false", "-no-color", f"-parallelism={IN_FLIGHT}", "plan.weft",
                                cwd=self.work, env=self.env)
        wait_until("the first objects", lambda: self.created() >= TOTAL // 4 or not apply.alive(), LONG)
        # In the middle of calls: the cloud first creates an object, and then delays its answer.
        self.cluster.coordinator.kill()
        wait_until("results in the spools", lambda: self.kept() > 0, LONG)
        # Waits until the last replies have arrived.
        time.sleep(2 * OPERATION / 1000)
        for path in self.spools():
            if path.stat().st_mode & 0o777 != 0o600:
                raise Broken(f"{path} can be read by others")
        print(f"   {self.kept()} bytes of results in the spools", flush=True)
        return apply

    def end_workers(self, how):
        for worker in self.workers:
            if how is None:
                worker.kill()
            else:
                worker.send(how)
        for worker in self.workers:
            worker.wait(LONG)
        told = [worker.stderr() + worker.stdout() for worker in self.workers]
        if how is not None and not any("hands over the results" in text for text in told):
            raise Broken("the workers do not say where their results are:\n" + "\n".join(told))

    def details(self):
        return json.loads(self.must(0, "runs", "show", "-json").stdout)

    def finish(self, apply, doubts_first=False):
        """Waits for the apply, and resumes its run until the run is done, without an answer from the user."""
        code = apply.wait(LONG)
        said = apply.stdout() + apply.stderr()
        if doubts_first:
            doubts = self.details()["counts"]["in_doubt"]
            if not doubts:
                raise Broken(f"nothing is in doubt without the workers: exit code {code}\n{said[-3000:]}")
            print(f"   {doubts} in doubt without the workers", flush=True)
            self.start_workers()
            for worker in self.workers:
                wait_until("the workers connect", lambda w=worker: "works for" in w.stdout() or not w.alive(), 30)
        for _ in range(3):
            if code == 0:
                break
            done = self.weft("runs", "resume", "-no-color")
            code, said = done.returncode, done.stdout + done.stderr
            if code == 3:
                raise Broken(f"something is in doubt:\n{said[-3000:]}")
        if code != 0:
            raise Broken(f"the run is not done: exit code {code}\n{said[-3000:]}")

    def judge(self):
        twice = created_twice(self.cloud.ledger())
        if self.created() != TOTAL or twice:
            raise Broken(f"{self.created()} objects were created, not {TOTAL}; twice: {twice}")
        there = {(key[0], thing["id"]) for key, things in self.cloud.objects().items() for thing in things}
        state = ids_in_state(json.loads(self.must(0, "state", "pull").stdout))
        if there != state:
            raise Broken(f"only in the cloud: {sorted(there - state)}; only in the state: {sorted(state - there)}")
        self.must(0, "plan", "-input=false", "-no-color", "-detailed-exitcode")
        wait_until("the spools are empty", lambda: self.kept() == 0, 30, 0.2)


def killed(scenario):
    apply = scenario.run_until_alone()
    scenario.end_workers(None)
    scenario.start_workers()
    scenario.cluster.start_coordinator()
    scenario.finish(apply)
    scenario.judge()


def late(scenario):
    apply = scenario.run_until_alone()
    scenario.end_workers(None)
    scenario.cluster.start_coordinator()
    # A worker that has nothing to hand over does the rest.
    scenario.cluster.start_worker()
    scenario.finish(apply, doubts_first=True)
    scenario.judge()


def stopped(scenario):
    apply = scenario.run_until_alone()
    scenario.end_workers(SIGTERM)
    scenario.cluster.start_coordinator()
    scenario.start_workers()
    scenario.finish(apply)
    scenario.judge()


def sealed(scenario):
    apply = scenario.run_until_alone()
    scenario.end_workers(None)
    for path in scenario.spools():
        if CANARY.encode() in path.read_bytes():
            raise Broken(f"{path} has values that are not encrypted")
    scenario.cluster.start_coordinator()
    scenario.start_workers()
    scenario.finish(apply)
    scenario.judge()


SCENARIOS = {"killed": killed, "late": late, "stopped": stopped, "sealed": sealed}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", required=True)
    a.add_argument("--keep", action="store_true")
    a.add_argument("names", nargs="*", metavar="NAME")
    o = a.parse_args()
    if not Redis.there():
        print("SKIPPED: redis-server is not installed, so SPOOLS ARE NOT TESTED\n0 passed, 0 failed")
        return 0
    passed = failed = 0
    for name in o.names or SCENARIOS:
        start = time.monotonic()
        with Stage(o.bin_dir, keep=o.keep, prefix="weft-spool-") as stage:
            try:
                SCENARIOS[name](Scenario(stage, name == "sealed"))
                passed += 1
                print(f"ok {name} {time.monotonic() - start:.1f} s", flush=True)
            except Broken as broken:
                failed += 1
                print(f"FAIL {name}: {broken}", flush=True)
                for log in sorted(stage.path.glob("*.log*")):
                    print(f"-- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-12:]))
            if o.keep:
                print(f"the logs are in {stage.path}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
