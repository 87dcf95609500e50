"""The environment of the end-to-end suites: the simulated cloud, Redis, coordinators, workers and weft itself.

Each process is an object of this module. It ends with the `Stage` that started it.
"""
import base64
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The maximum time until a process listens, in seconds. The machine may be busy.
START = 20
# Prefixes of variables that the suites set. They are not inherited.
FOREIGN = ("TF_", "TOFU_", "WEFT_", "SIMCLOUD_", "LAB_")


class Broken(Exception):
    """A test failed."""


def wait_until(what, condition, seconds=START, pause=0.02):
    """Waits until `condition()` is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"{what} did not happen within {seconds} s")
        time.sleep(pause)


# Ports for servers that restart on the same port. These ports are below those that systems give to outgoing connections
# (32768 and up on Linux): no client can take such a port while its server is down, not even by connecting to itself.
SERVER_PORTS = range(20000, 32000)


def free_port():
    for port in random.sample(SERVER_PORTS, 1000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise Broken("no free port was found")


def answers(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


def clean_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}



def listens(path):
    """Whether a process accepts connections at a Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        return s.connect_ex(str(path)) == 0

class Process:
    """A process with its output in LOG and its errors in LOG.err. At the end of the stage, it is killed with -9."""

    def __init__(self, arguments, log, cwd=None, env=None, stdin=None):
        self.arguments, self.log = [str(a) for a in arguments], Path(log)
        self.errors = self.log.with_name(self.log.name + ".err")
        with open(self.log, "ab") as out, open(self.errors, "ab") as errors:
            self.popen = subprocess.Popen(self.arguments, cwd=cwd, env=env, stdout=out, stderr=errors,
                                          stdin=stdin or subprocess.DEVNULL, start_new_session=True)

    def alive(self):
        return self.popen.poll() is None

    def kill(self):
        """Sends SIGKILL. Returns whether the process was alive."""
        alive = self.alive()
        if alive:
            self.popen.kill()
        self.popen.wait()
        return alive

    def send(self, number):
        if self.alive():
            self.popen.send_signal(number)

    def wait(self, seconds):
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"{' '.join(self.arguments)} did not end within {seconds} s:\n{self.tail()}") from None

    def stdout(self):
        return self.log.read_text(errors="replace")

    def stderr(self):
        return self.errors.read_text(errors="replace")

    def tail(self, lines=40):
        return "\n".join(self.stdout().splitlines()[-lines:] + self.stderr().splitlines()[-lines:])


class Stage:
    """A directory with processes. Both are removed at its end; `keep` keeps the directory."""

    def __init__(self, bin_dir, keep=False, prefix="weft-stage-"):
        self.bin_dir, self.keep = Path(bin_dir).resolve(), keep
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self.env = clean_environment()
        self.env["TF_IN_AUTOMATION"] = "1"
        self.processes = []
        self.cleanups = []
        self.cli_config([])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
        while self.cleanups:
            self.cleanups.pop()()

    def at_exit(self, work):
        """Work to do once all processes have ended."""
        self.cleanups.append(work)

    def cli_config(self, mirrors):
        """Writes the CLI configuration: providers come only from these filesystem mirrors."""
        lines = ["provider_installation {"]
        for path in mirrors:
            lines.append('  filesystem_mirror {\n    path = "%s"\n  }' % path)
        config = self.path / "cli.tfrc"
        config.write_text("\n".join(lines + ["}", ""]) if mirrors else "")
        self.env["TF_CLI_CONFIG_FILE"] = str(config)

    def mirror(self):
        """The filesystem mirror with the simulated cloud's plugin."""
        path = self.path / "mirror"
        if not path.exists():
            subprocess.run([self.bin_dir / "simcloud", "install-plugin", path, "-symlink"], check=True,
                           capture_output=True)
        return path

    def start(self, name, *arguments, cwd=None, env=None, stdin=None):
        """Starts a process with its output in NAME.log."""
        environment = dict(self.env)
        environment.update(env or {})
        process = Process(arguments, self.path / f"{name}.log", cwd=cwd or self.path, env=environment, stdin=stdin)
        self.processes.append(process)
        return process

    def weft(self, name, *arguments, cwd=None, env=None, stdin=None):
        """Starts weft."""
        return self.start(name, self.bin_dir / "weft", *arguments, cwd=cwd, env=env, stdin=stdin)

    def run(self, *arguments, cwd=None, env=None, seconds=120, stdin=None):
        """Runs weft to its end. Returns a CompletedProcess with texts."""
        environment = dict(self.env)
        environment.update(env or {})
        try:
            return subprocess.run([str(self.bin_dir / "weft"), *map(str, arguments)], cwd=cwd or self.path,
                                  env=environment, capture_output=True, text=True, timeout=seconds, input=stdin or "")
        except subprocess.TimeoutExpired as slow:
            output = "".join((part or b"").decode(errors="replace") for part in (slow.stdout, slow.stderr))
            raise Broken(f"weft {' '.join(map(str, arguments))} did not end within {seconds} s:\n"
                         f"{output[-3000:]}") from None

    def must(self, code, *arguments, **options):
        """Runs weft, and fails on any other exit code."""
        done = self.run(*arguments, **options)
        if done.returncode != code:
            raise Broken(f"weft {' '.join(map(str, arguments))} ended with exit code {done.returncode}, expected {code}:\n"
                         f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def json(self, *arguments, **options):
        """The JSON that weft prints."""
        text = self.must(0, *arguments, **options).stdout
        try:
            return json.loads(text)
        except ValueError as error:
            raise Broken(f"weft {' '.join(map(str, arguments))} printed no JSON: {error}\n{text[:1000]}") from None


class Cloud:
    """The simulated cloud on a stage."""

    def __init__(self, stage, config=None, name="cloud"):
        self.stage = stage
        port_file, config_file = stage.path / f"{name}.port", stage.path / f"{name}.json"
        config_file.write_text(json.dumps(config or {"durability": "process"}))
        self.process = stage.start(name, stage.bin_dir / "simcloud", "-config", config_file, "-db",
                                   stage.path / f"{name}.db", "-port-file", port_file)
        wait_until("the start of the simulated cloud", lambda: port_file.exists() or not self.process.alive())
        if not port_file.exists():
            raise Broken(f"the simulated cloud did not start:\n{self.process.tail()}")
        self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"
        stage.env["SIMCLOUD_URL"] = self.url

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as reply:
            return [json.loads(line) for line in reply.read().decode().splitlines() if line]

    def ledger(self, after=0):
        return self.get(f"/ledger?after={after}")

    def objects(self):
        """Every object: {(type, region, name): [object, ...]}."""
        found = {}
        for line in self.get("/objects"):
            thing = line["object"]
            found.setdefault((line["type"], thing["region"], thing["name"]), []).append(thing)
        return found

    def faults(self, rules):
        request = urllib.request.Request(self.url + "/faults", data=json.dumps(rules).encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=20) as reply:
            reply.read()


class Redis:
    """A Redis server on a stage, by default with the settings that weft requires."""

    SETTINGS = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}

    def __init__(self, stage, settings=None, name="redis"):
        self.stage, self.name, self.port = stage, name, free_port()
        self.settings = dict(self.SETTINGS, **(settings or {}))
        self.folder = stage.path / name
        self.folder.mkdir(exist_ok=True)
        self.start()

    @staticmethod
    def there():
        return shutil.which("redis-server") is not None

    def start(self):
        """Starts the server. When it is started again, it uses the same files."""
        # A value with spaces consists of several words, such as `replicaof HOST PORT`.
        options = [word for key, value in self.settings.items() for word in (f"--{key}", *str(value).split())]
        self.process = self.stage.start(self.name, "redis-server", "--bind", "127.0.0.1", *self.arguments(),
                                        "--dir", self.folder, "--save", "", *options)
        wait_until("the start of Redis", lambda: answers(self.port) or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"Redis did not start:\n{self.process.tail()}")

    def arguments(self):
        """The options for the address at which the server listens."""
        return ["--port", str(self.port)]

    def url(self, state="chaos"):
        return f"redis://127.0.0.1:{self.port}/0?state={state}"


class Moto:
    """A server like S3 and DynamoDB on a stage, with the bucket `states`."""

    def __init__(self, stage):
        self.port = free_port()
        self.process = stage.start("moto", self.program(), "-H", "127.0.0.1", "-p", str(self.port))
        wait_until("the start of moto", lambda: answers(self.port) or not self.process.alive())
        urllib.request.urlopen(urllib.request.Request(f"{self.url()}/states", method="PUT")).close()

    def create_table(self, name):
        """Creates a table for locks in DynamoDB."""
        content = {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                   "AttributeDefinitions": [{"AttributeName": "LockID", "AttributeType": "S"}],
                   "KeySchema": [{"AttributeName": "LockID", "KeyType": "HASH"}]}
        scope = "Credential=key/20200101/us-east-1/dynamodb/aws4_request"
        request = urllib.request.Request(self.url(), json.dumps(content).encode(), {
            "X-Amz-Target": "DynamoDB_20120810.CreateTable", "Content-Type": "application/x-amz-json-1.0",
            "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"})
        urllib.request.urlopen(request).close()

    @staticmethod
    def program():
        return os.environ.get("WEFT_MOTO_SERVER") or shutil.which("moto_server")

    @staticmethod
    def there():
        return Moto.program() is not None

    def url(self):
        return f"http://127.0.0.1:{self.port}"


class Proxy:
    """A slow or failing proxy in front of a service on a stage. `options` are those of `proxy.py`, with `_` for `-`."""

    def __init__(self, stage, port, **options):
        self.port_file, self.count_file = stage.path / f"proxy-{port}.port", stage.path / f"proxy-{port}.counts"
        self.begin_file = stage.path / f"proxy-{port}.begin"
        # A port from `SERVER_PORTS`, which no client can take during an outage.
        words = ["--to", str(port), "--port", str(free_port()), "--port-file", self.port_file, "--counts", self.count_file,
                 "--begin", self.begin_file]
        waits = options.pop("waits", False)
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            words += [option] if value is True else [option, str(value)] if value else []
        if not waits:
            self.begin()
        self.process = stage.start("proxy", sys.executable, Path(__file__).with_name("proxy.py"), *words)
        wait_until("the start of the proxy", lambda: self.port_file.exists() or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"the proxy did not start:\n{self.process.tail()}")
        self.port = int(self.port_file.read_text())

    def begin(self):
        """Begins the troubles."""
        self.begin_file.touch()

    def end(self):
        """Ends the troubles."""
        self.begin_file.unlink(missing_ok=True)

    def url(self):
        return f"http://{self.host()}"

    def host(self):
        return f"127.0.0.1:{self.port}"

    def counts(self):
        """The numbers of requests and of troubles so far."""
        return json.loads(self.count_file.read_text()) if self.count_file.exists() else {"requests": 0}


class StateServer:
    """A server for the backend `http` on a stage."""

    def __init__(self, stage, name="states", port=0):
        port_file = stage.path / "states.port"
        port_file.unlink(missing_ok=True)
        self.process = stage.start(name, sys.executable, ROOT / "tests/cases/state_server.py", "--port", str(port),
                                   "--port-file", port_file, "--file", stage.path / "states.json")
        wait_until("the start of the server for states", lambda: port_file.exists() or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"the server for states did not start:\n{self.process.tail()}")
        self.port = int(port_file.read_text())

    def url(self):
        return f"http://127.0.0.1:{self.port}"


class SmallDisk:
    """A small file system at a folder on a stage, which can be filled. Only root can mount it."""

    # The size of the file system in MiB, at first and after `make_room`.
    SIZE, LATER = 64, 256

    def __init__(self, stage):
        self.folder = stage.path / "disk"
        self.folder.mkdir()
        self.mount(f"size={self.SIZE}m")
        stage.at_exit(lambda: subprocess.run(["umount", "-l", self.folder], capture_output=True))

    def mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], check=True, capture_output=True)

    @staticmethod
    def there():
        """Whether file systems can be mounted."""
        if os.getuid() != 0 or shutil.which("mount") is None:
            return False
        with tempfile.TemporaryDirectory(prefix="weft-mount-") as folder:
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)
            if done.returncode == 0:
                subprocess.run(["umount", folder], capture_output=True)
            return done.returncode == 0

    def fill(self, free):
        """Fills the file system, except for `free` KiB."""
        disk = os.statvfs(self.folder)
        size = max(disk.f_bavail * disk.f_frsize - 1024 * free, 0)
        (self.folder / "filler").write_bytes(bytes(size))

    def make_room(self):
        self.mount(f"remount,size={self.LATER}m")


class FakeGcs:
    """A server like Cloud Storage on a stage, with the bucket `states`."""

    def __init__(self, stage):
        self.port = free_port()
        self.process = stage.start("gcs", self.program(), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1",
                                   "-port", str(self.port), "-public-host", self.host())
        wait_until("the start of fake-gcs-server", lambda: answers(self.port) or not self.process.alive())
        request = urllib.request.Request(f"http://{self.host()}/storage/v1/b", data=b'{"name": "states"}',
                                         headers={"Content-Type": "application/json"})
        urllib.request.urlopen(request).close()

    @staticmethod
    def program():
        return os.environ.get("WEFT_FAKE_GCS_SERVER") or shutil.which("fake-gcs-server")

    @staticmethod
    def there():
        return FakeGcs.program() is not None

    def host(self):
        return f"127.0.0.1:{self.port}"


class Postgres:
    """A PostgreSQL server on a stage, with the database `states` and a user without a password."""

    def __init__(self, stage):
        self.port = free_port()
        # The server refuses to run as root, and its user cannot enter the folder of the stage.
        self.folder = Path(tempfile.mkdtemp(prefix="weft-postgres-"))
        stage.at_exit(lambda: shutil.rmtree(self.folder, ignore_errors=True))
        user = []
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
            user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
        data = self.folder / "data"
        run = lambda *words: subprocess.run(  # noqa: E731
            [*user, *words], check=True, capture_output=True, cwd=self.folder, env={"PATH": os.environ["PATH"]})
        run(self.program("initdb"), "-D", data, "-U", "weft", "-A", "trust", "--no-sync")
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        self.process = stage.start("postgres", *user, self.program("postgres"), "-D", data, "-p", str(self.port), *settings)
        ready = [self.program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until("the start of PostgreSQL", lambda: subprocess.run(ready).returncode == 0 or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"PostgreSQL did not start:\n{self.process.tail()}")
        run(self.program("createdb"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "weft", "states")

    @staticmethod
    def program(name):
        """The path of a program of PostgreSQL, the newest version first."""
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
        return str(found[0]) if found else shutil.which(name)

    @staticmethod
    def there():
        return Postgres.program("initdb") is not None

    def url(self, port=None):
        return f"postgres://weft@127.0.0.1:{port or self.port}/states?sslmode=disable"


class Consul:
    """Consul on a stage: the program that WEFT_CONSUL names, otherwise a small server that answers like it."""

    def __init__(self, stage, program=os.environ.get("WEFT_CONSUL")):
        if program:
            self.port = free_port()
            ports = [f"-{name}-port={port}" for name, port in (
                ("http", self.port), ("server", free_port()), ("serf-lan", free_port()), ("serf-wan", free_port()),
                ("dns", -1), ("grpc", -1))]
            self.process = stage.start("consul", program, "agent", "-dev", "-bind=127.0.0.1", "-client=127.0.0.1",
                                       "-log-level=warn", *ports)
            wait_until("the start of Consul", lambda: self.leads() or not self.process.alive())
        else:
            file = stage.path / "consul.port"
            self.process = stage.start("consul", sys.executable, ROOT / "tests/cases/consul_server.py",
                                       "--port-file", file)
            wait_until("the start of the server like Consul", lambda: file.exists() or not self.process.alive())
            self.port = int(file.read_text()) if file.exists() else 0
        if not self.process.alive():
            raise Broken(f"Consul did not start:\n{self.process.tail()}")

    def leads(self):
        """Whether the agent can change keys."""
        try:
            request = urllib.request.Request(f"http://{self.address()}/v1/kv/begin", data=b"", method="PUT")
            with urllib.request.urlopen(request) as answer:
                return answer.read().strip() == b"true"
        except OSError:
            return False

    def address(self):
        return f"127.0.0.1:{self.port}"


class Kubernetes:
    """The API of Kubernetes on a stage: the kube-apiserver that WEFT_KUBE_APISERVER names over etcd, otherwise a small
    server that answers like it."""

    def __init__(self, stage, program=os.environ.get("WEFT_KUBE_APISERVER")):
        self.stage, self.config = stage, stage.path / "kubeconfig"
        if program:
            cluster, user = self.start_real(program), {"token": "case"}
        else:
            file = stage.path / "kubernetes.port"
            self.process = stage.start("kubernetes", sys.executable, ROOT / "tests/cases/kubernetes_server.py",
                                       "--port-file", file)
            wait_until("the start of the server like Kubernetes", lambda: file.exists() or not self.process.alive())
            cluster, user = {"server": f"http://127.0.0.1:{file.read_text() if file.exists() else 0}"}, {}
        if not self.process.alive():
            raise Broken(f"Kubernetes did not start:\n{self.process.tail()}")
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "case",
            "clusters": [{"name": "case", "cluster": cluster}], "users": [{"name": "case", "user": user}],
            "contexts": [{"name": "case", "context": {"cluster": "case", "user": "case"}}]}))

    def start_real(self, program):
        """Starts etcd and kube-apiserver. Returns the cluster of a kubeconfig file."""
        folder = self.stage.path / "kubernetes"
        folder.mkdir()
        etcd, peers, port = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}", free_port()
        self.stage.start("etcd", "etcd", "--data-dir", folder / "etcd", "--listen-client-urls", etcd, "--unsafe-no-fsync",
                         "--advertise-client-urls", etcd, "--listen-peer-urls", peers, "--initial-cluster",
                         f"default={peers}", "--initial-advertise-peer-urls", peers)
        key = folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (folder / "tokens").write_text("case,case,1,system:masters\n")
        self.process = self.stage.start(
            "kubernetes", program, f"--etcd-servers={etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1",
            f"--cert-dir={folder}/certificates", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}",
            f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

        def ready():
            try:
                address = f"https://127.0.0.1:{port}/api/v1/namespaces/default"
                request = urllib.request.Request(address, headers={"Authorization": "Bearer case"})
                with urllib.request.urlopen(request, context=context, timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False
        wait_until("the start of Kubernetes", lambda: ready() or not self.process.alive(), seconds=90, pause=0.3)
        authority = (folder / "certificates/apiserver.crt").read_bytes()
        return {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": base64.b64encode(authority).decode()}


class Cluster:
    """A coordinator and workers over a Redis server, or over the store of another address."""

    LABELS = ("region=eu", "region=us", "region=far", "region=home")

    def __init__(self, stage, redis, workers, plugin_dir=None, state="chaos", store=None):
        self.stage, self.store = stage, store or redis.url(state)
        self.plugin_dir = plugin_dir or stage.mirror()
        # Short: the path of a socket has at most 107 bytes.
        self.sockets = tempfile.TemporaryDirectory(prefix="weft-")
        self.address = f"unix:{self.sockets.name}/coordinator.sock"
        self.started = 0
        self.workers = []
        self.start_coordinator()
        for _ in range(workers):
            self.start_worker()

    def start_coordinator(self):
        self.coordinator = self.stage.weft("coordinator", "coordinator", "-store", self.store,
                                           "-listen", self.address)
        path = self.address.removeprefix("unix:")
        wait_until("the start of the coordinator", lambda: listens(path) or not self.coordinator.alive())
        if not self.coordinator.alive():
            raise Broken(f"the coordinator did not start:\n{self.coordinator.tail()}")

    def start_worker(self, *more):
        self.started += 1
        folder = self.stage.path / f"worker-{self.started}"
        folder.mkdir(exist_ok=True)
        label = self.LABELS[(self.started - 1) % len(self.LABELS)]
        worker = self.stage.weft(f"worker-{self.started}", "worker", "-coordinator", self.address, "-label", label,
                                 "-plugin-dir", self.plugin_dir, *more, cwd=folder, env=self.identity("worker"))
        self.workers.append(worker)
        return worker

    def identity(self, name):
        """The variables with the certificate of a process. A Unix socket needs none."""
        return {}

    def env(self):
        """The environment of commands that use this cluster."""
        return {"WEFT_STORE": self.store, "WEFT_COORDINATOR": self.address}


def family(pid):
    """A process and its descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def created_twice(ledger):
    """The objects that were created twice according to a ledger: the second `create` of a region, type and name without a
    `delete` in between."""
    there, twice = {}, []
    for line in ledger:
        key = (line["type"], line["region"], line["name"])
        if line["op"] == "create" and line["outcome"] == "done":
            there[key] = there.get(key, 0) + 1
            if there[key] > 1:
                twice.append(key)
        elif line["op"] == "delete":
            there[key] = there.get(key, 0) - 1
    return twice


def ids_in_state(state):
    """The managed objects of a state in format v4, as {(type without the prefix of the provider, id)}."""
    return {(resource["type"].removeprefix("cloud_"), instance["attributes"]["id"])
            for resource in state.get("resources", []) if resource["mode"] == "managed"
            for instance in resource["instances"]}


# `module.region["R"].cloud_TYPE.NAME` with or without a key, and `cloud_dns_record.others["R"]`.
REGION_ADDRESS = re.compile(r'^module\.region\["([^"]+)"\]\.cloud_(\w+)\.(\w+)(?:\["([^"]+)"\])?$')
OTHERS_ADDRESS = re.compile(r'^cloud_dns_record\.others\["([^"]+)"\]$')


def key_in_cloud(address):
    """The object in the cloud for an address of examples/regions: (type, region, name), or None."""
    if match := OTHERS_ADDRESS.match(address):
        return "dns_record", match[1], "others"
    match = REGION_ADDRESS.match(address)
    if not match:
        return None
    region, kind, label, key = match.groups()
    if kind == "network":
        return kind, region, region
    if kind in ("subnet", "instance"):
        return kind, region, f"{region}-{key}"
    return kind, region, key if label == "subnet" else label


SIGINT, SIGTERM = signal.SIGINT, signal.SIGTERM
SIGSTOP, SIGCONT = signal.SIGSTOP, signal.SIGCONT
