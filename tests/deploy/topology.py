"""Runs the topologies of deploy/ as plain processes in network namespaces, and pulls cables: tests/deploy/topology.py

The command lines, variables, folders and certificates are those of the files: `deploy/compose/compose.yaml` for the first
scenario, `deploy/kubernetes` for the second. Each container is a process of the same user, on a machine of its own.

    compose      Redis and a coordinator on one machine, two workers, a command line, a cloud. A worker loses its
                 network in the middle of a run, and the coordinator is killed. Everything is applied exactly once. Then
                 callers are refused: without a certificate, with one of another authority, with an expired one and with
                 a wrong role.
    kubernetes   Two coordinators over a store in a backend. The active one loses its network, and the standby takes over.

Needs root, because network namespaces do. If something is missing, prints what it is, and ends with 0.
"""
import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/chaos"))
from network import USER, Network  # noqa: E402
from redis_servers import knows_waitaof  # noqa: E402
from stage import Broken, Moto, Redis, Stage, wait_until  # noqa: E402

# The objects of examples/regions.
TOTAL = 300
# The port of the cloud on its machine. Its own port is on the loopback device.
CLOUD_PORT, CLOUD_OWN = 7070, 7071
# The port of the store on its machine.
STORE_PORT = 9000
COORDINATOR_PORT = 7438
# The maximum time of a run, in seconds. After that, the test fails.
PATIENCE = 300
# How long a cut lasts: longer than a coordinator waits for a silent worker (8 s) and for its return (6 s).
LONG_CUT = 20
# The maximum number of concurrent operations of a run. With the latency below, a run takes about a minute.
PARALLELISM = 5
# Slow enough that the cables are pulled in the middle of a run.
CLOUD = {"durability": "process", "regions": {"*": {"latency_ms": 900, "jitter_ms": 200}}}


def substituted(value, variables):
    """A value of a compose file with its variables."""
    if isinstance(value, dict):
        return {key: substituted(part, variables) for key, part in value.items()}
    if isinstance(value, list):
        return [substituted(part, variables) for part in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda m: variables.get(m[1]) or m[2] or "", value)


class Topology:
    """Machines with the processes of a deployment."""

    def __init__(self, stage, machines, cloud=None):
        self.stage = stage
        # The user of the containers must reach the files.
        stage.path.chmod(0o755)
        self.bin = stage.path / "bin"
        self.bin.mkdir()
        for program in ("weft", "simcloud", "terraform-provider-cloud"):
            shutil.copy2(stage.bin_dir / program, self.bin / program)
        self.providers = stage.path / "providers"
        subprocess.run([self.bin / "simcloud", "install-plugin", self.providers], check=True, capture_output=True)
        self.network = Network(stage, [*machines, "user", "cloud"])
        (stage.path / "cloud.json").write_text(json.dumps(cloud or CLOUD))
        self.cloud = stage.start("cloud", *self.network.on(
            "cloud", self.bin / "simcloud", "-config", stage.path / "cloud.json", "-listen", f"127.0.0.1:{CLOUD_OWN}", "-db",
            self.folder("cloud-data") / "db"))
        self.network.forward("cloud", CLOUD_PORT, CLOUD_OWN)
        wait_until("the start of the cloud", lambda: "listening" in self.cloud.stdout())
        stage.env["SIMCLOUD_URL"] = f"http://{self.network.names['cloud']}:{CLOUD_PORT}"
        self.work = self.folder("configuration")
        shutil.copytree(ROOT / "examples/regions", self.work, dirs_exist_ok=True)
        self.give(self.work)

    def folder(self, name):
        path = self.stage.path / name
        path.mkdir(parents=True, exist_ok=True)
        self.give(path)
        return path

    def give(self, path):
        subprocess.run(["chown", "-R", f"{USER}:{USER}", path], check=True)

    def start(self, name, machine, words, folder, env):
        return self.stage.start(name, *self.network.on(machine, *words), cwd=folder, env=env)

    def weft(self, machine, *words, env=None):
        """Runs weft on a machine to its end."""
        environment = {**self.stage.env, **(env or {})}
        command = self.network.on(machine, self.bin / "weft", *words)
        try:
            return subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Broken(f"weft {' '.join(map(str, words))} did not end within {PATIENCE} s") from None

    def must(self, code, machine, *words, env=None):
        done = self.weft(machine, *words, env=env)
        if done.returncode != code:
            raise Broken(f"weft {' '.join(map(str, words))} ended with {done.returncode}, expected {code}:\n"
                         f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout + done.stderr

    def refused(self, why, *words, env=None):
        """The command is refused at once, for this reason."""
        said = " ".join(self.must(1, "user", *words, env=env).replace("│", " ").split())
        if why not in said:
            raise Broken(f"weft {' '.join(map(str, words))} was refused, but not because {why!r}:\n{said}")
        print(f"refused: {why}")

    def ledger(self):
        done = subprocess.run(self.network.on("cloud", self.bin / "simcloud", "get", "/ledger", "-url",
                                              f"http://127.0.0.1:{CLOUD_OWN}"), check=True, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def created(self):
        return [line for line in self.ledger() if line["op"] == "create" and line["outcome"] == "done"]

    def follow(self, process, count):
        """Waits until this many objects were created."""
        wait_until(f"the creation of {count} objects", lambda: len(self.created()) >= count or not process.alive(), PATIENCE, 0.2)
        if not process.alive():
            raise Broken(f"the run ended before {count} objects were created:\n{process.tail()}")

    def finish(self, apply, env):
        """Waits for the apply, and resumes its run until it is done."""
        code = apply.wait(PATIENCE)
        print(f"the apply ended with exit code {code}")
        for _ in range(3):
            if code == 0:
                break
            # The workers that made uncertain calls are connected again, so no call needs an answer from the user.
            done = self.weft("user", "runs", "resume", "-no-color", env=env)
            code = done.returncode
            print(f"the resume ended with exit code {code}")
        if code != 0:
            raise Broken(f"the run cannot be finished:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")

    def judge(self, env):
        """Everything was applied exactly once."""
        made = [(line["type"], line["region"], line["name"]) for line in self.created()]
        twice = sorted({one for one in made if made.count(one) > 1})
        if twice:
            raise Broken(f"created twice: {twice}")
        if len(made) != TOTAL:
            raise Broken(f"{len(made)} objects were created, but {TOTAL} were planned")
        runs = json.loads(self.must(0, "user", "runs", "list", "-json", env=env))
        if [run["status"] for run in runs] != ["done"] or runs[0]["counts"]["in_doubt"]:
            raise Broken(f"the run is not done: {runs}")
        print(f"{TOTAL} objects were created, each of them once")

    def client(self, certificates, name):
        return {"WEFT_TLS_CA": str(certificates / name / "ca.crt"), "WEFT_TLS_CERT": str(certificates / name / "tls.crt"),
                "WEFT_TLS_KEY": str(certificates / name / "tls.key")}


def listening(process):
    wait_until("the coordinator listens", lambda: "listening on" in process.stdout() or not process.alive())
    if not process.alive():
        raise Broken(f"the coordinator ended:\n{process.tail()}")


class Compose:
    """The services of the compose file."""


    def __init__(self, topology):
        self.topology = topology
        self.folder = topology.stage.path / "deploy/compose"
        shutil.copytree(ROOT / "deploy", topology.stage.path / "deploy")
        shutil.rmtree(self.folder / "certificates", ignore_errors=True)
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        subprocess.run([self.folder / "prepare"], check=True, capture_output=True,
                       env={**topology.stage.env, "WEFT": str(topology.bin / "weft")})
        if not knows_waitaof():
            users = self.folder / "secrets/redis/users.acl"
            users.write_text(users.read_text().replace(" +waitaof", ""))
        variables = dict(line.split("=", 1) for line in (self.folder / ".env").read_text().splitlines())
        if variables["WEFT_UID"] != str(USER):
            raise Broken(f".env names the user {variables['WEFT_UID']}")
        # PyYAML is needed only for the files of deploy/. The demo over networks uses the machines without PyYAML.
        import yaml
        self.file = substituted(yaml.safe_load((self.folder / "compose.yaml").read_text()), variables)
        self.certificates = self.folder / "certificates"
        # The processes of the user must reach the folders inside these. With containers, the daemon opens those
        # folders.
        for closed in (self.certificates, self.folder / "data", self.folder / "secrets"):
            closed.chmod(0o711)
        shutil.rmtree(self.folder / "providers")
        shutil.copytree(topology.providers, self.folder / "providers")
        # The command line runs as the user of the containers here. On a real machine, each user has a certificate.
        topology.give(self.certificates / "operator")

    def start(self, service, again=""):
        """Starts a service as a process."""
        settings = self.file["services"][service]
        folders = {}
        for volume in settings.get("volumes", []):
            source, target = volume.split(":")[:2]
            folders[target] = str(self.folder / source)
        for target in settings.get("tmpfs", []):
            folders[target.split(":")[0]] = str(self.topology.folder(f"tmp-{service}"))

        # The longest first: a folder may be inside another folder.
        pattern = "|".join(re.escape(target) for target in sorted(folders, key=len, reverse=True))

        def moved(text):
            return re.sub(rf"(^|=)({pattern})(?=/|$)", lambda m: m[1] + folders[m[2]], text)

        words = [moved(word) for word in settings["command"]]
        if service != "redis":
            words = [self.topology.bin / "weft", *words]
        env = {key: moved(value) for key, value in settings.get("environment", {}).items()}
        return self.topology.start(f"{service}{again}", service, words, moved(settings["working_dir"]), env)

    def health(self, service):
        """Runs the health check of a service, where it runs."""
        settings = self.file["services"][service]
        words = settings["healthcheck"]["test"][2:]
        words = [word.replace("/etc/weft/monitor", str(self.certificates / "monitor")) for word in words]
        # The variables of the service are set for its health check, too.
        certificates, secrets = str(self.certificates / "coordinator"), str(self.folder / "secrets/client")
        env = {key: value.replace("/etc/weft/tls", certificates).replace("/etc/weft/redis", secrets)
               for key, value in settings["environment"].items()}
        return self.topology.weft("coordinator", *words, env=env).returncode == 0


def compose(stage):
    topology = Topology(stage, ["redis", "coordinator", "worker-eu", "worker-us"])
    services = Compose(topology)
    redis = services.start("redis")
    wait_until("the start of Redis", lambda: "Ready to accept" in redis.stdout() or not redis.alive())
    coordinator = services.start("coordinator")
    listening(coordinator)
    workers = {name: services.start(name) for name in ("worker-eu", "worker-us")}
    for worker in workers.values():
        wait_until("a worker connects", lambda w=worker: "works for" in w.stdout() or not w.alive())
    if not services.health("coordinator"):
        raise Broken("the health check of the coordinator fails")

    # Plans and the check of a plan before an apply read the state, over TLS.
    user = {key: services.file["services"]["cli"]["environment"][key] for key in ("WEFT_STORE", "WEFT_COORDINATOR")}
    user.update(topology.client(services.certificates, "operator"))
    user.update(WEFT_REDIS_CA_FILE=user["WEFT_TLS_CA"],
                WEFT_REDIS_PASSWORD_FILE=str(services.folder / "secrets/client/password"))
    topology.must(0, "user", "init", "-no-color", f"-plugin-dir={topology.providers}", env=user)
    topology.must(0, "user", "plan", "-no-color", "-out=plan.weft", env=user)
    refused_by_redis(topology, user)
    apply = topology.start("apply", "user", [topology.bin / "weft", "apply", "-no-color", f"-parallelism={PARALLELISM}", "plan.weft"], topology.work, user)

    topology.follow(apply, TOTAL // 5)
    topology.network.cut("worker-us")
    print("worker-us has lost its network")
    cut = time.monotonic()
    # Meanwhile, the other worker continues.
    topology.follow(apply, len(topology.created()) + 30)
    wait_until("the end of the cut", lambda: time.monotonic() - cut > LONG_CUT, LONG_CUT + 5, 0.5)
    topology.network.cut("worker-us", cut=False)
    print("worker-us has its network again")
    if not apply.alive():
        raise Broken("the run ended during the cut, so the rest is not tested: make the cloud slower")
    coordinator.kill()
    print("the coordinator was killed")
    # This is what `restart: unless-stopped` does.
    coordinator = services.start("coordinator", "-again")
    listening(coordinator)
    wait_until("worker-us returns", lambda: workers["worker-us"].stdout().count("works for") >= 2, 60)
    topology.finish(apply, user)
    topology.judge(user)
    refusals(topology, services.certificates, user)
    drill(topology, services, redis, coordinator, user)


def refused_by_redis(topology, user):
    """Redis on another machine is refused without TLS, without a password, and with another authority."""
    store, empty = user["WEFT_STORE"], topology.work / "empty"
    empty.write_text("")
    topology.refused("would not be encrypted", "plan", env={**user, "WEFT_STORE": store.replace("rediss:", "redis:")})
    topology.refused("no password is given", "plan", env={**user, "WEFT_REDIS_PASSWORD_FILE": ""})
    topology.refused("refused the password", "plan", env={**user, "WEFT_REDIS_PASSWORD_FILE": str(empty)})
    topology.refused("not issued by a trusted authority", "plan", env={**user, "WEFT_REDIS_CA_FILE": ""})


def drill(topology, services, redis, coordinator, user):
    """The restore of docs/operate.md: Redis has lost its data, and the state comes back from a backup."""
    backup = topology.work / "backup.tfstate"
    done = topology.weft("user", "state", "pull", env=user)
    backup.write_text(done.stdout)
    coordinator.send(signal.SIGTERM)
    coordinator.wait(PATIENCE)
    redis.kill()
    (services.folder / "data/redis").rename(services.folder / "data/redis-lost")
    (services.folder / "data/redis").mkdir()
    topology.give(services.folder / "data/redis")
    redis = services.start("redis", "-restored")
    wait_until("the start of Redis", lambda: "Ready to accept" in redis.stdout() or not redis.alive())
    topology.must(0, "user", "state", "push", "-no-color", "backup.tfstate", env=user)
    listening(services.start("coordinator", "-restored"))
    topology.must(0, "user", "plan", "-no-color", "-detailed-exitcode", env=user)
    print("restored: no changes are planned after the restore of a backup")


def refusals(topology, certificates, user, bare="needs a certificate"):
    """Each caller that may not do something is refused at once, and the error gives the reason. `bare` is the error for
    a caller without a certificate. Where tokens are accepted, such a request is refused, but not the connection."""
    stage = topology.stage
    anonymous = {key: value for key, value in user.items() if key not in ("WEFT_TLS_CERT", "WEFT_TLS_KEY")}
    topology.refused("would not be encrypted", "runs", "list", env={"WEFT_COORDINATOR": user["WEFT_COORDINATOR"]})
    topology.refused(bare, "runs", "list", env=anonymous)

    other = topology.folder("other")
    subprocess.run([ROOT / "deploy/certificates", "-host=coordinator", other], check=True, capture_output=True,
                   env={**stage.env, "WEFT": str(topology.bin / "weft")})
    topology.give(other)
    mallory = {**anonymous, **topology.client(other, "operator"), "WEFT_TLS_CA": user["WEFT_TLS_CA"]}
    topology.refused("certificate of the caller was not issued by an authority that the other side trusts",
                     "runs", "list", env=mallory)
    topology.refused("certificate of the coordinator was not issued by an authority", "runs", "list",
                     env={**user, "WEFT_TLS_CA": str(other / "operator/ca.crt")})

    old = signed(topology, certificates, "old", "spiffe://weft.local/weft/apply/old", days=-1)
    topology.refused("certificate of the caller has expired", "runs", "list", env={**anonymous, **old})

    topology.must(0, "user", "plan", "-no-color", "-destroy", "-out=destroy.weft", env=user)
    reader = {**anonymous, **topology.client(certificates, "monitor")}
    topology.give(certificates / "monitor")
    topology.refused("spiffe://weft.local/weft/read/monitor does not have the role apply", "apply", "destroy.weft", env=reader)
    worker = {**anonymous, **topology.client(certificates, "worker")}
    topology.refused("does not have the role apply", "apply", "destroy.weft", env=worker)
    topology.refused("does not have the role worker", "worker", env=user)
    # By an address that is not in the certificate.
    address = topology.network.names["coordinator"]
    topology.refused("certificate", "runs", "list", env={**user, "WEFT_COORDINATOR": f"{address}:{COORDINATOR_PORT}"})

    # What cert-manager issues: no subject, a key in PKCS #8.
    issued = signed(topology, certificates, "issued", "spiffe://weft.local/weft/read/issued", days=1)
    topology.must(0, "user", "runs", "list", env={**anonymous, **issued})
    print("accepted: a certificate in the form of cert-manager")


def signed(topology, certificates, name, uri, days):
    """A certificate that openssl signs with the key of the authority."""
    folder = topology.folder(f"signed-{name}")
    authority = certificates / "ca"
    (folder / "ext").write_text(f"subjectAltName=critical,URI:{uri}\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n")
    openssl = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)  # noqa: E731
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder / "tls.key")
    openssl("req", "-new", "-key", folder / "tls.key", "-subj", "/", "-out", folder / "csr")
    openssl("x509", "-req", "-in", folder / "csr", "-CA", authority / "ca.pem", "-CAkey", authority / "ca-key.pem",
            "-CAcreateserial", "-CAserial", folder / "serial", "-days", days, "-extfile", folder / "ext", "-out", folder / "tls.crt")
    topology.give(folder)
    return {"WEFT_TLS_CERT": str(folder / "tls.crt"), "WEFT_TLS_KEY": str(folder / "tls.key")}


def container(path, kind):
    """The container of a workload in a manifest: its arguments and variables."""
    import yaml
    documents = yaml.safe_load_all((ROOT / "deploy/kubernetes" / path).read_text())
    found = next(document for document in documents if document["kind"] == kind)
    settings = found["spec"]["template"]["spec"]["containers"][0]
    return settings["args"], {one["name"]: one["value"] for one in settings["env"] if "value" in one}


def kubernetes(stage):
    replicas = ["coordinator-0", "coordinator-1"]
    topology = Topology(stage, [*replicas, "worker-0", "worker-1", "store"])
    certificates = topology.folder("certificates")
    hosts = [f"-host={replica}" for replica in replicas]
    subprocess.run([ROOT / "deploy/certificates", *hosts, certificates], check=True, capture_output=True,
                   env={**stage.env, "WEFT": str(topology.bin / "weft")})
    topology.give(certificates)
    moto = stage.start("moto", *topology.network.on("store", Moto.program(), "-H", "0.0.0.0", "-p", STORE_PORT, root=True))
    address = topology.network.names["store"]
    make = ["curl", "-fsS", "-X", "PUT", f"http://{address}:{STORE_PORT}/states"]
    wait_until("the start of moto", lambda: not moto.alive() or subprocess.run(
        topology.network.on("store", *make, root=True), capture_output=True).returncode == 0, 60, 0.5)
    credentials = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
                   "AWS_ENDPOINT_URL": f"http://{address}:{STORE_PORT}", "AWS_EC2_METADATA_DISABLED": "true"}
    store = {"WEFT_STORE": "s3://states/prod?region=us-east-1&use_path_style=true", **credentials}

    words, variables = container("base/coordinator.yaml", "Deployment")
    variables = {key: value.replace("/etc/weft/tls", str(certificates / "coordinator")) for key, value in variables.items()}
    command, environment = [topology.bin / "weft", *words], {**variables, **store}

    def coordinator(replica, again=""):
        return topology.start(f"{replica}{again}", replica, command, topology.folder(f"data-{replica}"), environment)

    active = coordinator(replicas[0])
    listening(active)
    standby = coordinator(replicas[1])
    addresses = ",".join(f"{replica}:{COORDINATOR_PORT}" for replica in replicas)
    words, variables = container("workers/base/worker.yaml", "Deployment")
    variables = {key: value.replace("/etc/weft/tls", str(certificates / "worker")) for key, value in variables.items()}
    for number in range(2):
        name = f"worker-{number}"
        own = [word.replace("$(POD_NAME)", name).replace("$(POOL)", "eu").replace("/usr/share/weft/providers", str(topology.providers))
               for word in words]
        # In Kubernetes, the Service leads to the active coordinator.
        worker = topology.start(name, name, [topology.bin / "weft", *own], topology.folder(f"tmp-{name}"),
                                {**variables, "WEFT_COORDINATOR": addresses})
        wait_until("a worker connects", lambda w=worker: "works for" in w.stdout() or not w.alive())
    if "listening" in standby.stdout():
        raise Broken("the standby listens while the other coordinator is active")

    topology.must(0, "user", "init", "-no-color", f"-plugin-dir={topology.providers}", env=store)
    topology.must(0, "user", "plan", "-no-color", "-out=plan.weft", env=store)
    user = {"WEFT_COORDINATOR": addresses, **store, **topology.client(certificates, "operator")}
    apply = topology.start("apply", "user", [topology.bin / "weft", "apply", "-no-color", f"-parallelism={PARALLELISM}", "plan.weft"], topology.work, user)
    topology.follow(apply, TOTAL // 3)
    topology.network.cut(replicas[0])
    print("the active coordinator has lost its network")
    wait_until("the standby takes over", lambda: "listening" in standby.stdout(), 120)
    print("the standby has taken over")
    topology.network.cut(replicas[0], cut=False)
    print("the former coordinator has its network again")
    wait_until("the former coordinator ends", lambda: not active.alive(), 120)
    said = " ".join(active.stderr().replace("│", " ").split())
    if "another process has taken over the lock" not in said:
        raise Broken(f"the former coordinator ended for another reason:\n{active.tail()}")
    print("the former coordinator has ended, because it lost the lock")
    # Kubernetes restarts the container of the former active coordinator, which now waits for the lock.
    coordinator(replicas[0], "-again")
    topology.finish(apply, user)
    topology.judge(user)


SCENARIOS = {"compose": compose, "kubernetes": kubernetes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", default=str(ROOT / "target/debug"), help="the folder of weft, simcloud and its plugin")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    parser.add_argument("scenarios", nargs="*", help="which of them; all by default")
    options = parser.parse_args()
    missing = Network.missing()
    if missing:
        print(f"SKIPPED: {missing}, so THE TOPOLOGIES OF deploy/ ARE NOT TESTED")
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    for name in options.scenarios or SCENARIOS:
        needs = {"compose": (Redis.there(), "redis-server"), "kubernetes": (Moto.there(), "moto_server")}[name]
        if not needs[0]:
            print(f"SKIPPED: {needs[1]} is not installed, so THE TOPOLOGY {name} IS NOT TESTED")
            continue
        print(f"== {name}")
        with Stage(options.bin_dir, keep=options.keep, prefix="weft-topology-") as stage:
            try:
                SCENARIOS[name](stage)
                passed += 1
            except Broken as broken:
                failed += 1
                print(f"FAIL {name}: {broken}")
                for log in sorted(stage.path.glob("*.log*")):
                    lines = log.read_text(errors="replace").splitlines()[-15:]
                    print("\n".join([f"-- {log.name}", *lines]))
            if options.keep:
                print(f"the logs are in {stage.path}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
