#!/usr/bin/env python3
"""Rounds in which Sentinels replace the Redis of a cluster during a run: failover.py --bin-dir target/debug [--rounds N]

In each round, the master is killed, or it is paused until another server has been promoted, and then resumed. Each
write has waited for the replica, so nothing may be lost: every object is created once, and the state has all objects.
The run continues by itself, or it is resumed. Objects in doubt fail a round. Each round is played without TLS, and with
TLS, users and passwords.
"""
import argparse
import random
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from redis_servers import Authority, RedisSentinels, SecureSentinels  # noqa: E402
from stage import (ROOT, SIGCONT, SIGSTOP, Broken, Cloud, Cluster, Redis, Stage, created_twice, ids_in_state,  # noqa: E402
                   wait_until)

COUNT = 40
# Slow enough that the master is lost in the middle of the run.
CLOUD = {"durability": "process", "regions": {"*": {"latency_ms": 300}}}
CONFIGURATION = f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
resource "cloud_network" "n" {{
  count = {COUNT}
  name  = "n${{count.index}}"
  cidr  = "10.${{count.index}}.0.0/16"
}}
"""
# The maximum time of a run, in seconds. After that, the test fails.
PATIENCE = 240


def play(stage, sentinels, way, when):
    redis, cloud = sentinels(stage), Cloud(stage, CLOUD)
    stage.cli_config([stage.mirror()])
    cluster = Cluster(stage, redis, workers=2)
    stage.env.update(cluster.env())
    folder = stage.path / "configuration"
    folder.mkdir()
    (folder / "main.tf").write_text(CONFIGURATION)
    stage.must(0, "init", "-no-color", cwd=folder)
    stage.must(0, "plan", "-no-color", "-out=plan.weft", cwd=folder)
    apply = stage.weft("apply", "apply", "-no-color", "-parallelism=3", "plan.weft", cwd=folder)
    wait_until("the middle of the run", lambda: len(cloud.ledger()) >= when or not apply.alive(), PATIENCE)
    if not apply.alive():
        raise Broken(f"the run ended too early:\n{apply.tail()}")
    if way == "killed":
        redis.master.process.kill()
    else:
        redis.master.process.send(SIGSTOP)
        wait_until("the failover", lambda: str(redis.replica.port) in redis.ask(
            redis.ports[0], "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"), PATIENCE)
        redis.master.process.send(SIGCONT)
    code = apply.wait(PATIENCE)
    resumed = 0
    while code != 0 and resumed < 3:
        resumed += 1
        code = stage.run("runs", "resume", "-no-color", cwd=folder, seconds=PATIENCE).returncode
    if code != 0:
        raise Broken(f"the run cannot be finished: {code}\n{apply.tail()}\n{cluster.coordinator.tail()}")
    twice = created_twice(cloud.ledger())
    if twice:
        raise Broken(f"created twice: {twice}")
    state = stage.json("state", "pull", cwd=folder)
    if len(ids_in_state(state)) != COUNT:
        raise Broken(f"the state has {len(ids_in_state(state))} of {COUNT} objects")
    stage.must(0, "store", "check", "-no-color", cwd=folder)
    return f"the master was {way} at {when}/{COUNT}, resumed {resumed} times"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", default=str(ROOT / "target/debug"))
    a.add_argument("--rounds", type=int, default=4)
    a.add_argument("--seed", type=int, default=random.randrange(2 ** 31))
    a.add_argument("--keep", action="store_true", help="keep the folder of a failed round")
    o = a.parse_args()
    if not Redis.there():
        sys.exit("redis-server is not installed")
    print(f"seed {o.seed}", flush=True)
    choose, failed = random.Random(o.seed), 0
    kinds = {"plain": RedisSentinels}
    if Authority.there():
        kinds["TLS"] = SecureSentinels
    else:
        print("SKIPPED the rounds with TLS: openssl is not installed", flush=True)
    for number, kind in ((number, kind) for number in range(o.rounds) for kind in kinds):
        way, when = ("killed", "paused")[number % 2], choose.randrange(2, COUNT - 5)
        with Stage(Path(o.bin_dir), keep=o.keep, prefix="weft-failover-") as stage:
            try:
                print(f"ok {number}, {kind}: {play(stage, kinds[kind], way, when)}", flush=True)
                stage.keep = False
            except (Broken, subprocess.SubprocessError) as problem:
                failed += 1
                print(f"FAIL {number}, {kind} ({way} at {when}): {problem}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
