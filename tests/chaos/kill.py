#!/usr/bin/env python3
"""Kills processes with -9 at random moments during examples/regions, resumes, and checks the ledger of the cloud.

    kill.py --bin-dir target/debug --embedded 20 --s3 5 --dynamodb 5 --pg 5 --gcs 5 --azurerm 5 --http 5 --cluster 10
            [--seed N] [--jobs N] [--only KIND/N] [--trouble NAME] [--keep]

An embedded round kills `weft apply`, and sometimes also the `weft runs resume` that follows. Every fourth round kills a
destroy. A round of `s3`, `dynamodb` (S3 with that lock), `pg`, `gcs` or `azurerm` does the same with the state in a
backend. Each of its resumes is in another folder with nothing but the configuration. A round of `http` continues in the
same folder, because only this folder has the journals. A cluster round has Redis, a coordinator and three workers, and
kills a worker, the coordinator and Redis in turn.

Many rounds have a trouble (see `TROUBLES`) with the service or the disk from the start of the apply on. In such a
round, often no process is killed. The service is slow and fails now and then, does not answer a request, is down for
some seconds, or no longer accepts the credentials. Or the disk of the journals is full. The command either continues,
or stops and names the trouble. Before it is resumed, the round supplies new credentials and free space.

Doubts are resolved as a user would resolve them, by looking at the cloud. Then these invariants must hold:

- no object was created twice;
- the state has everything that the journal acknowledged;
- the cloud has nothing that the state lacks, unless it was named as in doubt;
- stderr names every doubt, with exit code 3, and nothing else;
- the next plan has no changes.

Except in the rounds that destroy, creates also fail after they took effect, answer late, return an object together with
an error, or return an empty message. This taints some objects, which a new plan replaces.

A seed determines the victims and the shares of the work. The timing of the operating system varies. The output is one
line for each round, and `N passed, N failed` at the end.
"""
import argparse
import os
import random
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from azurite import ACCOUNT, CONTAINER, Azurite  # noqa: E402
from stage import (  # noqa: E402
    ROOT, Broken, Cloud, Cluster, FakeGcs, Moto, Postgres, Proxy, Redis, SmallDisk, Stage, StateServer, created_twice,
    ids_in_state, key_in_cloud)

# Six regions with a network, a subnet, this many instances and four records each.
INSTANCES = 4
# The troubles of each kind, with their weights. None is a round without trouble.
TROUBLES = {
    "embedded": {None: 6, "full": 1},
    "s3": {None: 5, "faults": 4, "hang": 1, "outage": 2, "expiry": 1, "renewal": 1},
    "dynamodb": {None: 5, "faults": 4, "hang": 1, "outage": 2, "expiry": 1, "renewal": 1},
    "gcs": {None: 5, "faults": 4, "hang": 1, "outage": 2, "expiry": 1},
    "pg": {None: 5, "hang": 1, "outage": 2},
    "azurerm": {None: 5, "outage": 2},
    "http": {None: 4, "faults": 3, "hang": 1, "outage": 2, "expiry": 1, "full": 2},
    "cluster": {None: 1},
}
# A command that stops because of a trouble must print one of these texts.
NAMED = {
    "faults": ["503", "429", "connection", "HTTP"],
    "hang": ["timed out", "time", "connection"],
    "outage": ["refused", "connection", "connect"],
    "expiry": ["xpired", "401"],
    "renewal": ["xpired"],
    "full": ["No space left", "full"],
}
# The share of the requests that fail in the trouble `faults`.
FAULTS = 0.1
# The maximum length of an outage, and the maximum time from the start of an apply to the start of an outage, in
# seconds.
OUTAGE, FIRST_SECONDS = 8, 4
# The time after which a client stops waiting for the answer to a request, in seconds. It is added to the maximum time
# of a command.
SILENCE = 150
# The free space on a full disk, in KiB: less than the journal reserves for the results of ten intents, or little more
# than that.
ROOM, RESERVED = (0, 160), 10 * 64
# The latency of a request in the cloud, and its maximum variation, in milliseconds.
LATENCY, JITTER = 40, 60
# The time after the death of a process in which its requests may still take effect, in seconds: twice the maximum
# latency.
LATE = 2 * (LATENCY + JITTER) / 1000
# The maximum time of an apply or resume, in seconds. A takeover from a dead coordinator waits for its lease.
LONG = 90
# The maximum number of resumes until a run must be done.
ROUNDS = 30
# The message of a resumed run about the object of a failed create, which a new plan replaces.
KEPT = "Object of a failed create"

TFVARS = "regions = {\n" + "".join(
    f'  {name} = {{ prefix = "10.{number}0", subnets = 1, instances = {INSTANCES} }}\n'
    for number, name in enumerate(["ap-south", "eu-central", "eu-north", "sa-east", "us-east", "us-west"], 1)) + "}\n"


def cloud_config(chance, lies):
    """A cloud with latency that loses one reply in ten if a retry does no harm. With `lies`, creates also fail after their
    effect, answer late, return an object with an error, or return an empty message."""
    regions = {"*": {"latency_ms": LATENCY, "jitter_ms": JITTER, "late_effects": chance.random() < 0.5}}
    faults = [{"type": kind, "op": "create", "probability": 0.1, "what": "cut", "when": "after"}
              for kind in ("network", "subnet", "instance")]
    faults.append({"op": "delete", "probability": 0.05, "what": "cut", "when": "after"})
    if lies:
        faults += [{"type": kind, "op": "create", "probability": 0.03, "what": "error", "when": "after"}
                   for kind in ("network", "subnet", "instance")]
        faults += [{"op": "create", "probability": 0.02, "what": "partial"},
                   {"op": "create", "probability": 0.02, "what": "empty"},
                   {"op": "create", "probability": 0.03, "what": "delay", "when": "after", "delay_ms": 1500}]
    return {"seed": chance.randrange(1 << 30), "durability": "process", "regions": regions, "faults": faults}


class Round:
    """One round: a stage, a cloud, a configuration of its own, and the history of the round."""

    def __init__(self, template, kind, number, seed, stage, trouble=None):
        self.kind, self.number, self.stage = kind, number, stage
        self.chance = random.Random(f"{seed}/{kind}/{number}")
        there = {name: weight for name, weight in TROUBLES[kind].items() if name != "full" or SmallDisk.there()}
        drawn = self.chance.choices(list(there), list(there.values()))[0]
        self.trouble = trouble if trouble in there else drawn
        # The start of the trouble, and the action of the user before the next attempt.
        self.begin, self.repair = lambda: None, lambda: None
        self.patience = LONG + (SILENCE if self.trouble == "hang" else 0)
        self.moves = kind != "http"
        self.destroys = kind != "cluster" and number % 4 == 0
        self.cloud = Cloud(stage, cloud_config(self.chance, lies=not self.destroys))
        self.template, self.backend, self.folders = template, None, 0
        self.env = {}
        self.story = [self.trouble] if self.trouble else []
        self.kills = self.doubts = self.resumes = 0
        self.work = self.make_folder()
        shutil.copytree(template, self.work, symlinks=True)

    def make_folder(self):
        """The folder of the configuration. If the trouble is a full disk, the folder is on a disk that can be
        filled."""
        if self.trouble != "full":
            return self.stage.path / "regions"
        disk, room = SmallDisk(self.stage), self.chance.randint(*ROOM) + self.chance.choice((0, RESERVED))
        self.begin, self.repair = lambda: disk.fill(room), disk.make_room
        self.story.append(f"{room} KiB free")
        return disk.folder / "regions"

    def through_proxy(self, port, raw=False):
        """A proxy that makes the trouble, in front of a service; None if there is no trouble."""
        if self.trouble not in ("faults", "hang", "outage", "expiry", "renewal"):
            return None
        chance, options = self.chance, {"latency": 5, "seed": self.chance.randrange(1 << 30), "waits": True}
        if self.trouble == "faults":
            options["faults"] = FAULTS
        elif self.trouble == "hang":
            options["hang_at"] = chance.randint(1, 40)
        elif self.trouble == "outage":
            begin, end = self.outage()
            options["down"] = f"{begin:.2f}..{end:.2f}"
        else:
            options["expire_after"] = chance.randint(1, 40)
        proxy = Proxy(self.stage, port, raw=raw, **options)
        self.begin = proxy.begin
        if raw and self.trouble == "hang":
            # The backend does not retry requests. So the trouble must end before the round lists the runs.
            self.repair = proxy.end
        return proxy

    def outage(self):
        """Chooses the start and the end of an outage, in seconds after the start of an apply. The next attempt waits
        for the end of the outage."""
        begin = self.chance.random() * FIRST_SECONDS
        end = begin + 0.2 + self.chance.random() * OUTAGE
        self.repair = lambda: time.sleep(end + FIRST_SECONDS)
        return begin, end

    def weft(self, *arguments):
        return self.stage.run(*arguments, cwd=self.work, env=self.env, seconds=self.patience)

    def json(self, *arguments):
        return self.stage.json(*arguments, cwd=self.work, env=self.env, seconds=self.patience)

    def start(self, *arguments):
        self.resumes += 1
        return self.stage.weft(f"run-{self.resumes}", *arguments, cwd=self.work, env=self.env)

    def elsewhere(self):
        """Goes to another folder with nothing but the configuration, if the state is in a backend."""
        if self.backend is None or not self.moves:
            return
        self.folders += 1
        self.work = self.stage.path / f"elsewhere-{self.folders}"
        shutil.copytree(ROOT / "examples" / "regions", self.work)
        (self.work / "terraform.tfvars").write_text(TFVARS)
        (self.work / "backend.tf").write_text(self.backend)
        self.stage.must(0, "init", "-input=false", "-no-color", cwd=self.work, env=self.env)

    def plan(self, *more):
        self.stage.must(0, "plan", "-input=false", "-no-color", "-out=plan.weft", *more, cwd=self.work, env=self.env,
                        seconds=self.patience)
        plan = self.json("show", "-json", "plan.weft")
        return sum(change["mode"] == "managed" and change["change"]["actions"] != ["no-op"]
                   for change in plan["resource_changes"])

    def effects(self):
        return sum(line["outcome"] == "done" for line in self.cloud.ledger(self.before))

    def wait_for_share(self, process, total):
        """Waits for a random moment of a process with `total` expected effects. A third of the moments are near the
        beginning or the end, where records are begun and folded."""
        draw = self.chance.random()
        if draw < 0.17:
            seconds = self.chance.random() * 0.6
            self.story.append(f"after {seconds:.2f} s")
            end = time.monotonic() + seconds
            while time.monotonic() < end and process.alive():
                time.sleep(0.005)
            return
        share = total if draw > 0.83 or total < 2 else self.chance.randrange(1, total)
        pause = self.chance.random() * (0.4 if share == total else 0.1)
        self.story.append(f"at {share}/{total}")
        while process.alive() and self.effects() < share:
            time.sleep(0.01)
        time.sleep(pause)

    def newest(self):
        """The newest run of `weft runs list`, or None. Checks the format of the list."""
        runs = self.json("runs", "list", "-json")
        for run in runs:
            if set(run) < {"id", "status", "plan", "started", "counts"}:
                raise Broken(f"a member is missing in runs list: {run}")
            if run["status"] not in ("running", "stopped", "done", "failed", "in-doubt"):
                raise Broken(f"runs list has an unknown status: {run}")
        return runs[0] if runs else None

    def details(self):
        run = self.json("runs", "show", "-json")
        counted = {}
        for operation in run["operations"]:
            counted[operation["status"]] = counted.get(operation["status"], 0) + 1
        if sum(run["counts"].values()) != len(run["operations"]):
            raise Broken(f"the counts of the run differ from its operations: {run['counts']}, {counted}")
        return run

    def check_unfinished(self, run):
        """Checks between two attempts: acknowledged objects are in cloud and state, and all other objects are named."""
        there = self.cloud.objects()
        state = ids_in_state(self.json("state", "pull"))
        doubts = {o["address"] for o in run["operations"] if o["status"] == "in-doubt"}
        for operation in run["operations"]:
            key = key_in_cloud(operation["address"])
            if key is None or operation["status"] != "done" or operation["action"] != "create":
                continue
            if not any((key[0], thing["id"]) in state for thing in there.get(key, [])):
                raise Broken(f"{operation['address']} is done in the journal, but missing in the cloud or the state")
        # `runs show` names a create that failed without an object and without proof of absence.
        named = {key_in_cloud(address) for address in doubts}
        named |= {key_in_cloud(o["address"]) for o in run["operations"] if o.get("absence_unproven")}
        for key, things in there.items():
            for thing in things:
                if (key[0], thing["id"]) not in state and key not in named:
                    raise Broken(f"{key} is in the cloud, but neither in the state nor named as in doubt")
        return doubts

    def answer(self, run, doubts):
        """Resolves doubts by looking at the cloud."""
        there = self.cloud.objects()
        for address in sorted(doubts):
            operation = next(o for o in run["operations"] if o["address"] == address and o["status"] == "in-doubt")
            kind, _, _ = key = key_in_cloud(address) or (None, None, None)
            if kind != "dns_record" or operation["action"] != "create":
                raise Broken(f"{address} ({operation['action']}) is in doubt, although it can be looked up")
            things = there.get(key, [])
            if len(things) > 1:
                raise Broken(f"{address} exists {len(things)} times")
            if things:
                how = ["-adopt", things[0]["id"]]
            else:
                how = [self.chance.choice(["-absent", "-retry"])]
            self.doubts += 1
            self.story.append(how[0])
            self.stage.must(0, "runs", "resolve", run["id"], address, *how, cwd=self.work, env=self.env,
                            seconds=self.patience)

    def finish(self, total, again):
        """Resumes until the run is done. `again` may kill the process that it gets, and returns whether it did."""
        for _ in range(ROUNDS):
            self.elsewhere()
            resume = self.start("runs", "resume", "-no-color")
            if again(resume, total):
                resume.wait(LONG)
                time.sleep(LATE)
                continue
            code = resume.wait(self.patience)
            if code == 0:
                break
            run = self.details()
            doubts = self.check_unfinished(run)
            if code == 1 and self.stopped_by_trouble(resume, run):
                self.answer(run, doubts)
                continue
            failed = [o for o in run["operations"] if o["status"] == "failed"]
            if code == 1 and failed and not doubts:
                # A create that failed without an object may still have taken effect. Only this run repeats the create
                # with the same token. So a new plan must wait until no such create remains.
                if KEPT in resume.stderr() and all(o.get("object_kept") for o in failed):
                    self.story.append("planned again")
                    total = self.plan()
                    self.start("apply", "-input=false", "-no-color", "plan.weft").wait(self.patience)
                continue
            if code != 3 or not doubts:
                raise Broken(f"resume ended with {code}, in doubt: {sorted(doubts)}:\n{resume.tail()}")
            for address in doubts:
                if address not in resume.stderr():
                    raise Broken(f"{address} is in doubt, but stderr does not name it:\n{resume.stderr()}")
            self.answer(run, doubts)
        else:
            raise Broken(f"the run is not done after {ROUNDS} attempts: {self.story}")

    def judge(self, destroyed):
        """Checks at the end: run, state, cloud and ledger agree, and the next plan has no changes."""
        run = self.details()
        if run["status"] != "done" or run["counts"]["done"] != len(run["operations"]):
            raise Broken(f"the run is not done: {run['status']}, {run['counts']}")
        twice = created_twice(self.cloud.ledger())
        if twice:
            raise Broken(f"created twice: {twice}")
        there = {(key[0], thing["id"]) for key, things in self.cloud.objects().items() for thing in things}
        state = ids_in_state(self.json("state", "pull"))
        if there != state:
            raise Broken(f"only in the cloud: {sorted(there - state)}; only in the state: {sorted(state - there)}")
        if destroyed:
            if there:
                raise Broken(f"not destroyed: {sorted(there)}")
            return
        plan = self.weft("plan", "-input=false", "-no-color", "-detailed-exitcode")
        if plan.returncode != 0:
            raise Broken(f"the next plan ended with {plan.returncode}:\n{plan.stdout[-2000:]}{plan.stderr[-2000:]}")

    def apply_again_without_run(self, earlier):
        """Repeats an apply that was killed before its run existed. It must have had no effect."""
        if self.newest() != earlier:
            return
        if self.effects():
            raise Broken("effects without a run")
        self.story.append("before the run")
        again = self.start("apply", "-input=false", "-no-color", "plan.weft")
        if again.wait(self.patience) not in (0, 1, 3):
            raise Broken(f"the second apply ended with {again.popen.returncode}:\n{again.tail()}")

    def stopped_by_trouble(self, process, run):
        """Whether a process stopped because of the trouble. If so, the process must have named the trouble."""
        if self.trouble is None or any(o["status"] == "failed" for o in run["operations"]):
            return False
        said = " ".join(process.stderr().split())
        if not any(text in said for text in NAMED[self.trouble]):
            raise Broken(f"it stopped without a word on the trouble ({self.trouble}):\n{process.tail()}")
        self.story.append("stopped by it")
        return True

    def s3(self):
        self.bucket(Moto(self.stage), "use_lockfile = true")

    def dynamodb(self):
        service = Moto(self.stage)
        service.create_table("locks")
        self.bucket(service, 'dynamodb_table = "locks"')

    def bucket(self, service, lock):
        """A round over S3. `lock` is the argument of the backend that chooses the kind of lock."""
        service = self.through_proxy(service.port) or service
        self.env = {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": service.url()}
        if self.trouble == "renewal":
            # This program returns other keys at each call.
            keys = self.stage.path / "keys"
            keys.write_text('#!/bin/sh\nprintf \'{"Version": 1, "AccessKeyId": "key-%s", "SecretAccessKey": "secret", '
                            '"Expiration": "2099-01-01T00:00:00Z"}\' "$(date +%s%N)"\n')
            keys.chmod(0o755)
            config = self.stage.path / "aws.ini"
            config.write_text(f"[default]\ncredential_process = {keys}\n")
            self.env["AWS_CONFIG_FILE"] = str(config)
        else:
            self.env.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
            self.log_in_again(AWS_ACCESS_KEY_ID="key-2")
        self.remote(f'backend "s3" {{\n  bucket = "states"\n  key = "app"\n  {lock}\n  use_path_style = true\n}}')

    def log_in_again(self, **credentials):
        """If the trouble is that credentials expire, the next attempt uses these credentials instead."""
        if self.trouble == "expiry":
            self.repair = lambda: self.env.update(credentials)

    def pg(self):
        server = Postgres(self.stage)
        proxy = self.through_proxy(server.port, raw=True)
        self.env = {"PG_CONN_STR": server.url(proxy.port if proxy else None)}
        self.remote('backend "pg" {}')

    def azurerm(self):
        server = Azurite(self.stage)
        if self.trouble == "outage":
            begin, end = self.outage()
            self.begin = lambda: server.go_down(begin, end)
        self.env = server.env()
        self.remote(f'backend "azurerm" {{\n  storage_account_name = "{ACCOUNT}"\n  container_name = "{CONTAINER}"\n'
                    '  key = "app"\n}')

    def gcs(self):
        server = FakeGcs(self.stage)
        service = self.through_proxy(server.port) or server
        self.env = {"STORAGE_EMULATOR_HOST": service.host(), "GOOGLE_OAUTH_ACCESS_TOKEN": "token"}
        self.log_in_again(GOOGLE_OAUTH_ACCESS_TOKEN="token-2")
        self.remote('backend "gcs" {\n  bucket = "states"\n  prefix = "app"\n}')

    def http(self):
        server = StateServer(self.stage)
        server = self.through_proxy(server.port) or server
        self.env = {"TF_HTTP_USERNAME": "user", "TF_HTTP_PASSWORD": "password", "TF_HTTP_RETRY_MAX": "8"}
        self.log_in_again(TF_HTTP_PASSWORD="password-2")
        address = f"{server.url()}/app"
        self.remote(f'backend "http" {{\n  address = "{address}"\n  lock_address = "{address}"\n'
                    f'  unlock_address = "{address}"\n}}')

    def remote(self, backend):
        self.backend = "terraform {\n" + backend + "\n}\n"
        (self.work / "backend.tf").write_text(self.backend)
        self.stage.must(0, "init", "-input=false", "-no-color", cwd=self.work, env=self.env)
        self.embedded()

    def embedded(self):
        destroy = self.destroys
        self.before = 0
        total = self.plan()
        if destroy:
            self.stage.must(0, "apply", "-input=false", "-no-color", "plan.weft", cwd=self.work, env=self.env)
            ledger = self.cloud.ledger()
            self.before = ledger[-1]["seq"] if ledger else 0
            total = self.plan("-destroy")
        earlier = self.newest()
        self.begin()
        apply = self.start("apply", "-input=false", "-no-color", "plan.weft")
        if self.trouble and self.chance.random() < 0.5:
            # In this round, only the trouble can end the apply.
            apply.wait(self.patience)
        else:
            self.wait_for_share(apply, total)
        killed = apply.kill()
        code = apply.popen.returncode
        if not killed and code not in (0, 1, 3):
            raise Broken(f"apply ended with {code}:\n{apply.tail()}")
        self.kills += killed
        self.story.append("killed" if killed else f"ended with {code}")
        time.sleep(LATE)
        self.repair()
        if code == 1:
            run = self.details() if self.newest() != earlier else {"operations": []}
            self.stopped_by_trouble(apply, run)
        if killed or code == 1:
            self.apply_again_without_run(earlier)

        def maybe(resume, total):
            if self.kills >= 3 or self.chance.random() > 0.4:
                return False
            self.wait_for_share(resume, total)
            dead = resume.kill()
            self.kills += dead
            self.story.append("killed again" if dead else "had ended")
            return dead

        self.finish(total, maybe)
        self.judge(destroy)

    def cluster(self):
        redis = Redis(self.stage)
        cluster = Cluster(self.stage, redis, workers=3, plugin_dir=self.stage.mirror())
        self.env = cluster.env()
        self.before = 0
        total = self.plan()
        apply = self.start("apply", "-input=false", "-no-color", "plan.weft")
        victim = ("worker", "coordinator", "redis")[self.number % 3]
        for _ in range(1 + (self.chance.random() < 0.3)):
            self.wait_for_share(apply, total)
            pause = self.chance.random()
            self.kills += 1
            self.story.append(f"{victim} killed")
            if victim == "worker":
                self.chance.choice([w for w in cluster.workers if w.alive()]).kill()
                time.sleep(pause)
                cluster.start_worker()
            elif victim == "coordinator":
                cluster.coordinator.kill()
                time.sleep(pause)
                cluster.start_coordinator()
            else:
                redis.process.kill()
                time.sleep(pause)
                redis.start()
            victim = self.chance.choice(("worker", "coordinator", "redis"))
        code = apply.wait(LONG)
        self.story.append(f"apply {code}")
        if code == 1:
            self.apply_again_without_run(None)
        if code == 3:
            run = self.details()
            doubts = self.check_unfinished(run)
            if any(address not in apply.stderr() for address in doubts) or not doubts:
                raise Broken(f"in doubt: {sorted(doubts)}; output of apply:\n{apply.stderr()}")
            self.answer(run, doubts)
        self.finish(total, lambda resume, total: False)
        self.judge(False)
        for name, process in [("coordinator", cluster.coordinator)] + [("worker", w) for w in cluster.workers[-1:]]:
            if not process.alive():
                raise Broken(f"a {name} ended unexpectedly:\n{process.tail()}")


def prepare(stage):
    """Prepares a small copy of examples/regions after init. Every round copies it."""
    template = stage.path / "template"
    shutil.copytree(ROOT / "examples" / "regions", template)
    (template / "terraform.tfvars").write_text(TFVARS)
    stage.cli_config([stage.mirror()])
    stage.must(0, "init", "-input=false", "-no-color", cwd=template)
    return template


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", required=True, help="folder with weft, simcloud and terraform-provider-cloud")
    a.add_argument("--embedded", type=int, default=20, metavar="N")
    a.add_argument("--s3", type=int, default=0, metavar="N")
    a.add_argument("--dynamodb", type=int, default=0, metavar="N")
    a.add_argument("--pg", type=int, default=0, metavar="N")
    a.add_argument("--gcs", type=int, default=0, metavar="N")
    a.add_argument("--azurerm", type=int, default=0, metavar="N")
    a.add_argument("--http", type=int, default=0, metavar="N")
    a.add_argument("--cluster", type=int, default=10, metavar="N")
    a.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    # A round waits for the simulated cloud most of the time.
    a.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 2))
    a.add_argument("--only", metavar="KIND/N", help="one round, such as embedded/3")
    a.add_argument("--trouble", metavar="NAME", help="this trouble in all rounds of kinds that have it")
    a.add_argument("--keep", action="store_true", help="keep the folders of rounds that failed")
    o = a.parse_args()
    kinds = {kind: getattr(o, kind) for kind in TROUBLES}
    if not SmallDisk.there():
        print("SKIPPED: no file system can be mounted here (that needs root), so NO DISK IS EVER FULL", flush=True)
    for kind, server in (("s3", Moto), ("dynamodb", Moto), ("pg", Postgres), ("gcs", FakeGcs), ("azurerm", Azurite)):
        if kinds[kind] and not server.there():
            print(f"SKIPPED: the rounds of {kind} need a server that is not installed", flush=True)
            kinds[kind] = 0
    rounds = [(kind, n) for kind, count in kinds.items() for n in range(1, count + 1)]
    if o.only:
        kind, _, number = o.only.partition("/")
        if kind not in kinds or not number.isdigit():
            a.error(f"--only takes KIND/N, with one of {', '.join(kinds)}")
        rounds = [(kind, int(number))]
    if any(kind == "cluster" for kind, _ in rounds) and not Redis.there():
        sys.exit("cluster rounds need redis-server (on Debian: apt-get install redis-server)")
    print(f"seed {o.seed}", flush=True)
    passed, failed, lock = [], [], threading.Lock()

    with Stage(o.bin_dir, prefix="weft-kill-") as shared:
        template = prepare(shared)

        def play(kind, number):
            start, name = time.monotonic(), f"{kind}/{number}"
            stage, one, problem = Stage(o.bin_dir, keep=o.keep, prefix=f"weft-kill-{kind}-"), None, None
            with stage:
                try:
                    stage.cli_config([shared.mirror()])
                    one = Round(template, kind, number, o.seed, stage, o.trouble)
                    getattr(one, kind)()
                    stage.keep = False
                except Exception as error:  # noqa: BLE001  one broken round must not end the others
                    problem = f"{type(error).__name__}: {error}"
            story = ", ".join(one.story) if one else ""
            line = f"{name}: {one.kills if one else 0} killed, {one.doubts if one else 0} in doubt ({story})"
            with lock:
                (failed if problem else passed).append(name)
                print(f"{'FAIL' if problem else 'ok'} {line} {time.monotonic() - start:.1f} s", flush=True)
                if problem:
                    print("    " + problem.replace("\n", "\n    "), flush=True)
                    print(f"    again with: --seed {o.seed} --only {name}" +
                          (f"; kept: {stage.path}" if stage.keep else ""), flush=True)

        with ThreadPoolExecutor(o.jobs) as pool:
            list(pool.map(lambda one: play(*one), rounds))
    print(f"{len(passed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
