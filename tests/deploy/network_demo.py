"""The demo over networks: scripts/demo --cluster N --network

A coordinator, Redis, N workers, a command line and a cloud run on machines of their own. Each machine is a network
namespace with its own address, and reaches only the switch. Everything goes over TLS with certificates on both sides,
and Redis over TLS with a password.

During an apply of six regions, a worker is killed and started again under its name. Another worker loses its network.
The coordinator is flooded with connections that it refuses. Then the coordinator and Redis are killed. At the end, the
ledger of the cloud shows that nothing was lost and nothing done twice. Then callers request operations that they are
not allowed to perform, and are refused.

    network_demo.py [--bin-dir target/debug] [--workers 3] [--keep] [--check]

Needs root, because network namespaces do. If namespaces cannot be created, prints the reason, and ends with 0, or with
1 if --check is given.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from topology import (  # noqa: E402
    COORDINATOR_PORT, LONG_CUT, PATIENCE, ROOT, Broken, Network, Redis, Stage, Topology, knows_waitaof, listening, refusals,
    refused_by_redis, wait_until)
from issuer import Issuer  # noqa: E402
from stage import created_twice, ids_in_state, key_in_cloud  # noqa: E402

REDIS_PORT = 6379
# Slow enough that everything happens in the middle of a run, and some replies are lost.
CLOUD = {
    "seed": 7, "durability": "process", "regions": {"*": {"latency_ms": 900, "jitter_ms": 200}},
    "faults": [{"type": "instance", "op": "create", "every": 25, "what": "cut", "when": "after"}],
}
# The maximum number of concurrent operations of the run: it takes about a minute.
PARALLELISM = 5
# The maximum number of concurrent operations for commands that are not disturbed.
AT_ONCE = 60
# The flood: its duration in seconds, and the number of connections that stay open and send nothing. The coordinator
# does not allow this many.
FLOOD, SILENT = 10, 1200
# The maximum number of resumes until the run must be done.
RESUMES = 6
# The roles of the names that deploy/certificates issues.
ROLES = {"worker/worker": ["worker"], "apply.resolve/operator": ["apply", "resolve"], "read/*": ["read"]}
# The labels of workers, in turn.
LABELS = ("region=eu", "region=us", "region=far")


def chapter(text):
    print(f"\n== {text}", flush=True)


def say(text):
    print(f"    {text}", flush=True)


class Demo:
    """The machines and the processes on them."""

    def __init__(self, stage, workers):
        self.names = [f"worker-{number}" for number in range(1, workers + 1)]
        self.topology = Topology(stage, ["coordinator", "redis", *self.names], CLOUD)
        self.certificates = self.topology.folder("certificates")
        subprocess.run([ROOT / "deploy/certificates", "-host=coordinator", "-redis=redis", self.certificates], check=True,
                       capture_output=True, env={**stage.env, "WEFT": str(self.topology.bin / "weft")})
        secrets = self.topology.folder("secrets")
        self.password, users = secrets / "password", secrets / "users.acl"
        subprocess.run([ROOT / "deploy/redis-user", self.password, users], check=True, capture_output=True)
        if not knows_waitaof():
            users.write_text(users.read_text().replace(" +waitaof", ""))
        self.authority = Issuer(self.topology.folder("issuer"))
        self.policy = secrets / "policy.toml"
        self.policy.write_text(self.authority.policy(
            {f"spiffe://weft.local/weft/{name}": roles for name, roles in ROLES.items()}, ["read"]))
        for folder in (self.certificates, secrets, self.authority.folder):
            self.topology.give(folder)
        self.processes, self.started = {}, 0
        self.user = {"WEFT_STORE": f"rediss://weft@redis:{REDIS_PORT}/0?state=demo",
                     "WEFT_COORDINATOR": f"coordinator:{COORDINATOR_PORT}", **self.store(),
                     **self.topology.client(self.certificates, "operator")}

    def store(self):
        """What a client of Redis needs."""
        return {"WEFT_REDIS_CA_FILE": str(self.certificates / "coordinator/ca.crt"),
                "WEFT_REDIS_PASSWORD_FILE": str(self.password)}

    def start(self, machine, words, env=None):
        """Starts the process of a machine, also a second time."""
        self.started += 1
        process = self.topology.start(f"{machine}-{self.started}", machine, words, self.topology.folder(f"data-{machine}"),
                                      env or {})
        self.processes[machine] = process
        return process

    def start_redis(self):
        tls = self.certificates / "redis"
        words = ["redis-server", "--bind", "0.0.0.0", "--port", "0", "--tls-port", REDIS_PORT, "--tls-cert-file", tls / "tls.crt",
                 "--tls-key-file", tls / "tls.key", "--tls-ca-cert-file", tls / "ca.crt", "--tls-auth-clients", "no",
                 "--aclfile", self.password.with_name("users.acl"), "--dir", self.topology.folder("data-redis"), "--save", "",
                 "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"]
        redis = self.start("redis", words)
        wait_until("the start of Redis", lambda: "Ready to accept" in redis.stdout() or not redis.alive())

    def start_coordinator(self):
        env = {**self.topology.client(self.certificates, "coordinator"), **self.store(), "WEFT_LOG": "info"}
        listening(self.start("coordinator", [
            self.topology.bin / "weft", "coordinator", "-no-color", "-store", self.user["WEFT_STORE"], "-listen",
            f"0.0.0.0:{COORDINATOR_PORT}", "-policy", self.policy], env))

    def start_worker(self, name):
        label = LABELS[self.names.index(name) % len(LABELS)]
        worker = self.start(name, [
            self.topology.bin / "weft", "worker", "-no-color", "-coordinator", self.user["WEFT_COORDINATOR"], "-name", name,
            "-label", label, "-plugin-dir", self.topology.providers], self.topology.client(self.certificates, "worker"))
        wait_until(f"{name} connects", lambda: "works for" in worker.stdout() or not worker.alive(), 60)
        if not worker.alive():
            raise Broken(f"{name} ended:\n{worker.tail()}")
        return worker

    def kill(self, machine):
        if not self.processes[machine].kill():
            raise Broken(f"{machine} had ended before it was killed:\n{self.processes[machine].tail()}")
        say(f"kill -9: {machine}")

    def objects(self):
        """Every object in the cloud: {(type, region, name): [id, ...]}."""
        done = subprocess.run(self.topology.network.on("cloud", self.topology.bin / "simcloud", "get", "/objects", "-url",
                                                       "http://127.0.0.1:7071"), check=True, capture_output=True, text=True)
        found = {}
        for line in map(json.loads, filter(lambda text: text.startswith("{"), done.stdout.splitlines())):
            thing = line["object"]
            found.setdefault((line["type"], thing["region"], thing["name"]), []).append(thing["id"])
        return found

    def json(self, *words):
        done = self.topology.weft("user", *words, env=self.user)
        if done.returncode != 0:
            raise Broken(f"weft {' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout)

    def answer_doubts(self):
        """Answers each doubt by looking at the cloud, as a user does. Only records are in doubt, because they have no
        client token."""
        run, there, count = self.json("runs", "show", "-json"), self.objects(), 0
        for operation in run["operations"]:
            if operation["status"] != "in-doubt":
                continue
            address = operation["address"]
            key = key_in_cloud(address)
            if key is None or key[0] != "dns_record" or operation["action"] != "create":
                raise Broken(f"{address} ({operation['action']}) is in doubt, although it can be looked up")
            how = ["-adopt", there[key][0]] if key in there else ["-absent"]
            say(f"{address} is in doubt, and a person looks at the cloud: {how[0]}")
            self.topology.must(0, "user", "runs", "resolve", run["id"], address, *how, env=self.user)
            count += 1
        return count

    def finish(self, apply):
        """Waits for the apply, and resumes its run until the run is done. Returns the number of answers that a user had
        to give."""
        code, answers = apply.wait(PATIENCE), 0
        say(f"weft apply ended with exit code {code}")
        for _ in range(RESUMES):
            if code == 0:
                return answers
            if code == 3:
                answers += self.answer_doubts()
            done = self.topology.weft("user", "runs", "resume", "-no-color", env=self.user)
            code = done.returncode
            say(f"weft runs resume ended with exit code {code}")
            if code not in (0, 3):
                raise Broken(f"the run cannot be resumed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        raise Broken(f"the run is not done after {RESUMES} resumes")


def flood(demo):
    """Floods the coordinator with connections that it refuses. Meanwhile, the run continues, and other machines can
    connect."""
    network, before = demo.topology.network, len(demo.topology.created())
    target = f"{network.names['coordinator']}:{COORDINATOR_PORT}"
    command = network.on("user", demo.topology.bin / "simcloud", "flood", target, "--seconds", FLOOD, "--silent", SILENT,
                         root=True)
    flooding = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(FLOOD / 4)
    demo.topology.must(0, demo.names[0], "runs", "list", env=demo.user)
    if flooding.poll() is not None:
        raise Broken("the flood ended too early")
    stdout, stderr = flooding.communicate(timeout=PATIENCE)
    if flooding.returncode != 0:
        raise Broken(f"the flood failed:\n{stderr}")
    told = json.loads(stdout)
    made = len(demo.topology.created()) - before
    if made == 0:
        raise Broken(f"nothing was created during a flood of {told}")
    if not demo.processes["coordinator"].alive():
        raise Broken(f"the coordinator ended in the flood:\n{demo.processes['coordinator'].tail()}")
    say(f"{told['connections']} connections were refused, {told['per_second']} a second, and {told['silent']} stayed open in "
        f"silence: the run went on, created {made} objects meanwhile, and another machine could connect")


def run(demo, total):
    """The apply, with everything that happens to it."""
    topology, network = demo.topology, demo.topology.network
    words = [topology.bin / "weft", "apply", "-input=false", "-no-color", f"-parallelism={PARALLELISM}", "plan.weft"]
    apply = topology.start("apply", "user", words, topology.work, demo.user)
    topology.follow(apply, total // 6)
    demo.kill("worker-1")
    demo.start_worker("worker-1")
    say("worker-1 is started again under its name")
    topology.follow(apply, total // 4)
    lonely = demo.names[-1]
    network.cut(lonely)
    cut = time.monotonic()
    say(f"partition: {lonely} has lost its network. The others go on")
    topology.follow(apply, len(topology.created()) + 10)
    flood(demo)
    wait_until("the end of the partition", lambda: time.monotonic() - cut > LONG_CUT, LONG_CUT + 5, 0.5)
    network.cut(lonely, cut=False)
    say(f"{lonely} has its network again")
    if not apply.alive():
        raise Broken("the run ended before the coordinator was killed, so the rest is not shown: make the cloud slower")
    demo.kill("coordinator")
    demo.kill("redis")
    demo.start_redis()
    demo.start_coordinator()
    say("Redis and the coordinator are started again. The coordinator takes the run over")
    return demo.finish(apply)


def judge(demo, total):
    """Nothing was lost, and nothing was done twice."""
    ledger = demo.topology.ledger()
    twice = created_twice(ledger)
    if twice:
        raise Broken(f"created twice: {twice}")
    made = len(demo.topology.created())
    if made != total:
        raise Broken(f"{made} objects were created, but {total} were planned")
    there = {(key[0], one) for key, ids in demo.objects().items() for one in ids}
    state = ids_in_state(demo.json("state", "pull"))
    if there != state:
        raise Broken(f"only in the cloud: {sorted(there - state)}; only in the state: {sorted(state - there)}")
    say(f"{total} objects were planned, {made} were created, none of them twice, and the state has each of them")
    repeated = sum(line["outcome"] == "duplicate-token" for line in ledger)
    if repeated:
        say(f"({repeated} replies were lost; a retry with the same client token returned the same object)")


def refused_tokens(demo):
    """Tokens: for another audience, expired, without a role."""
    topology, authority = demo.topology, demo.authority
    caller = {key: value for key, value in demo.user.items() if key not in ("WEFT_TLS_CERT", "WEFT_TLS_KEY")}
    topology.must(0, "user", "runs", "list", env={**caller, "WEFT_TOKEN": authority.token()})
    print("accepted: a token for the audience of the policy")
    for why, claims in (("not for the audience", {"aud": "other"}), ("has expired", {"exp": int(time.time()) - 600}),
                        ("does not have the role read", {"repository": "acme/other"})):
        topology.refused(why, "runs", "list", env={**caller, "WEFT_TOKEN": authority.token(**claims)})


def show(stage, workers):
    start = time.monotonic()
    chapter(f"{workers + 4} machines, each with an address of its own")
    demo = Demo(stage, workers)
    topology = demo.topology
    for name, address in topology.network.names.items():
        say(f"{address}  {name}")
    demo.start_redis()
    demo.start_coordinator()
    for name in demo.names:
        demo.start_worker(name)
    say("All connections have TLS with certificates on both sides. Redis has TLS and a password")

    chapter("Init and plan")
    topology.must(0, "user", "init", "-input=false", "-no-color", f"-plugin-dir={topology.providers}", env=demo.user)
    topology.must(0, "user", "plan", "-input=false", "-no-color", f"-parallelism={AT_ONCE}", "-out=plan.weft", env=demo.user)
    plan = demo.json("show", "-json", "plan.weft")
    total = sum(change["mode"] == "managed" and change["change"]["actions"] == ["create"] for change in plan["resource_changes"])
    say(f"{total} objects to add")

    chapter("Apply, with kills, a partition and a flood of connections")
    answers = run(demo, total)
    say(f"the run is done, with {answers} answers from a person")

    chapter("What the cloud's ledger says")
    judge(demo, total)

    chapter("Plan again: nothing to do")
    topology.must(0, "user", "plan", "-input=false", "-no-color", f"-parallelism={AT_ONCE}", "-detailed-exitcode", env=demo.user)
    say("No changes")

    chapter("Callers that may not do what they ask")
    refused_by_redis(topology, demo.user)
    refused_tokens(demo)
    refusals(topology, demo.certificates, demo.user, bare="a certificate or a token is needed")

    chapter("Destroy")
    topology.must(0, "user", "destroy", "-input=false", "-no-color", f"-parallelism={AT_ONCE}", "-auto-approve", env=demo.user)
    deleted = sum(line["op"] == "delete" and line["outcome"] == "done" for line in topology.ledger())
    left = sum(map(len, demo.objects().values()))
    if left or deleted != total:
        raise Broken(f"{deleted} objects were deleted and {left} are left, but {total} existed")
    say(f"The ledger agrees: {deleted} deleted, nothing left")
    chapter(f"Done in {time.monotonic() - start:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", default=str(ROOT / "target/debug"), help="the folder of weft, simcloud and its plugin")
    parser.add_argument("--workers", type=int, default=3, help="the number of workers, 2 or more")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    parser.add_argument("--check", action="store_true", help="only find out whether the demo can run here")
    options = parser.parse_args()
    missing = Network.missing() or (None if Redis.there() else "redis-server is not installed")
    if missing or options.check:
        if missing:
            print(f"SKIPPED: {missing}, so THE DEMO OVER NETWORKS DOES NOT RUN HERE")
            print("0 passed, 0 failed")
        return 1 if missing and options.check else 0
    if options.workers < 2:
        parser.error("one worker is cut off, so that --workers needs 2 or more")
    with Stage(options.bin_dir, keep=options.keep, prefix="weft-demo-") as stage:
        try:
            show(stage, options.workers)
        except Broken as broken:
            print(f"\nThe demo failed: {broken}")
            for log in sorted(stage.path.glob("*.log*")):
                lines = log.read_text(errors="replace").splitlines()[-15:]
                print("\n".join([f"-- {log.name}", *lines]))
            print("0 passed, 1 failed")
            return 1
        finally:
            if options.keep:
                print(f"the logs are in {stage.path}")
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
