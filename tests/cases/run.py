#!/usr/bin/env python3
"""Runs cases: each .txt file beside this one is a script of commands with the output that each must print.

    run.py --bin target/debug/weft [--plugins DIR] [--jobs N] [--keep] [NAME ...]

A case begins with `#` lines that describe it. The other lines are:

    $ COMMAND                    a command for bash, in the folder of the case. The expected output follows:
    fragment of the output         fragments in this order, stdout before stderr; `*` matches anything,
    ! fragment                     a fragment that must not occur,
    @ [0].counts.done = 9          a part of the JSON on stdout; also `len PATH` and `keys PATH`,
    [1]                            the exit code if it is not 0; `[?]` for any
    $ COMMAND &                  a command in the background
    > wait [SECONDS]             waits for it to end; its fragments and exit code follow
    > kill SIGNAL                sends it INT, TERM, STOP, CONT or KILL; `kill SIGNAL NAME` signals a process that
                                 `> worker` or a similar line started
    > until COMMAND              repeats the command until it succeeds
    > write FILE                 writes the lines up to a line with `.` into the file
    > flip FILE POSITION         flips a bit of the byte at this position, counted from the end if negative
    > cd FOLDER
    > env NAME=VALUE             for all following commands; `env NAME` removes the variable
    > need PROGRAM               skips the case if the program is missing
    > cloud [JSON]               starts the simulated cloud with this configuration, and the mirror of its plugin
    > plugins                    adds the mirror with the providers of the conformance cases
    > redis [SETTING=VALUE ...]  starts Redis; {redis} is its address as a store
    > redis-tls [SETTING=VALUE ...]  starts Redis with TLS and users, and sets the variables that lead to it;
                                 {certificates} is the folder of its certificates, and {rediscli} the command of its
                                 administrator
    > sentinels                  starts Redis as a master and a replica, with Sentinels, whose address is {redis}
    > certificate NAME DAYS [NAMES]  issues NAME.crt and NAME.key in {certificates}
    > states                     starts a server for the backend `http`; {states} is its address. A second time, after
                                 `> kill KILL states`: starts it again with its states, at the same address
    > cos, > oss                 starts a server for the backend `cos` or `oss`; {cos} or {oss} is its address, also as a
                                 proxy, and {certificate} the file with the certificate of its authority
    > keys                       starts services that keep keys (see keys_server.py); {keys} is their address, and
                                 {authority} the file with the authority of their certificates
    > kms                        starts moto with a key of KMS under `alias/states`; {kms} is its address
    > s3 [OPTION ...]            starts moto with the bucket `states`; {s3} is its address. With options, {s3} is the
                                 address of tests/chaos/proxy.py with these options, and {moto} that of moto
    > gcs                        starts fake-gcs-server with the bucket `states`, and sets the variable that leads to it
    > azurite                    starts Azurite with the container `states` in the account `states1`, and sets the
                                 variables that lead to it, with the key of the account
    > hosted                     starts a service like HCP Terraform (see cloud_service.py); {hosted} is its host, and the
                                 CLI configuration has a token for it
    > postgres                   starts PostgreSQL; {postgres} is its address
    > sshd                       starts an SSH server; {sshport} is its port, {ssh} the folder with keys (see
                                 tests/chaos/sshd.py), and {user} the user. A second time, after `> kill KILL sshd`:
                                 starts it again at the same port
    > agent KEY ...              starts an SSH agent with these keys of {ssh}, and sets the variable that leads to it
    > coordinator [STORE]        starts a coordinator with {redis}, or with another store; {coordinator} is its address
    > kubernetes                 starts kube-apiserver (WEFT_KUBE_APISERVER, with etcd), or a server like it;
                                 {kubernetes} is a kubeconfig file
    > consul                     starts Consul (WEFT_CONSUL), or a server like it; {consul} is its address
    > worker                     starts a worker

`{NAME}` matches text without spaces: anything the first time, and the same text later. In a command it becomes the
text that was found. Box drawing, colors and line breaks in the output count as spaces. `{root}` is the project, and
`{here}` is the folder of the case.
"""
import argparse
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from azurite import Azurite  # noqa: E402
from sshd import Sshd  # noqa: E402
from stage import (ROOT, SIGCONT, SIGINT, SIGSTOP, SIGTERM, Broken, Cloud, Cluster, Consul, FakeGcs,  # noqa: E402
                   Kubernetes, Moto, Postgres, Proxy, Redis, Stage, StateServer, listens, wait_until)
from redis_servers import Authority, RedisSentinels, RedisTls  # noqa: E402

# The maximum time of a command, in seconds. The machine may be busy.
COMMAND_SECONDS = 60
# The maximum length of the text that `*` matches, in characters.
WILD = 2000


class Skipped(Exception):
    """A requirement of the case is missing."""


class Step:
    def __init__(self, number, head):
        self.number, self.head, self.below = number, head, []


def read_case(path):
    """The steps of a case."""
    steps, body = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if body is not None:
            if line == ".":
                body = None
            else:
                body.append(line)
        elif line.startswith(("$ ", "> ")):
            steps.append(Step(number, line))
            if line.startswith("> write "):
                body = steps[-1].below
        elif not steps and (line.startswith("#") or not line):
            continue
        elif not steps:
            raise Broken(f"line {number}: expected output before the first command")
        elif line.strip():
            steps[-1].below.append(line)
    if body is not None:
        raise Broken("a `> write` has no end: a line with `.` is missing")
    return steps


def flowed(text):
    """Output as one line, without colors, boxes and line breaks."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    text = re.sub(r"[│╷╵┃]", " ", text)
    return re.sub(r"\s+", " ", text).strip()


class Case:
    def __init__(self, path, options, stage):
        self.options, self.stage, self.steps = options, stage, read_case(path)
        self.folder = stage.path / "case"
        self.folder.mkdir()
        self.names = {"root": str(ROOT), "here": str(self.folder)}
        self.mirrors, self.background, self.started, self.processes = [], None, 0, {}
        self.cloud = self.redis = self.cluster = None
        programs = stage.path / "bin"
        programs.mkdir()
        for name in ("weft", "simcloud"):
            if (stage.bin_dir / name).exists():
                (programs / name).symlink_to(stage.bin_dir / name)
        stage.env["PATH"] = f"{programs}:{stage.env.get('PATH', '')}"
        # Commands must not ask questions.
        stage.env["TF_INPUT"] = "0"

    def play(self):
        for step in self.steps:
            try:
                if step.head.startswith("$ "):
                    self.command(step)
                else:
                    self.directive(step)
            except Broken as problem:
                raise Broken(f"line {step.number}: {step.head}\n{problem}") from None

    def filled(self, text):
        return re.sub(r"\{(\w+)\}", lambda m: self.names.get(m[1], m[0]), text)

    def command(self, step):
        command = self.filled(step.head[2:])
        if command.endswith(" &"):
            self.started += 1
            self.background = self.stage.start(f"background-{self.started}", "bash", "-c", "exec " + command[:-2],
                                               cwd=self.folder)
            return
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.stage.env, capture_output=True,
                                  text=True, errors="replace", timeout=COMMAND_SECONDS, input="")
        except subprocess.TimeoutExpired as slow:
            output = b"".join(part or b"" for part in (slow.stdout, slow.stderr)).decode(errors="replace")
            raise Broken(f"it did not end within {COMMAND_SECONDS} s:\n{output[-2000:]}") from None
        self.check(step, done.returncode, done.stdout, done.stderr)

    def check(self, step, code, stdout, stderr):
        """Compares the output of a command with the lines below the command."""
        text, position, want = flowed(stdout + "\n" + stderr), 0, "0"
        shown = f"exit code {code}\n{(stdout + stderr)[-4000:]}"
        for line in step.below:
            line = line.strip()
            if match := re.fullmatch(r"\[(\d+|\?)\]", line):
                want = match[1]
            elif line.startswith("! "):
                if re.search(self.pattern(flowed(line[2:]), bind=False), text):
                    raise Broken(f"unexpected: {line[2:]}\n{shown}")
            elif line.startswith("@ "):
                self.check_json(line[2:], stdout, shown)
            else:
                found = re.compile(self.pattern(flowed(line))).search(text, position)
                if not found:
                    raise Broken(f"missing: {line}\n{shown}")
                position = found.end()
                self.names.update(found.groupdict())
        if want not in ("?", str(code)):
            raise Broken(f"exit code {code}, expected {want}\n{shown}")

    def pattern(self, line, bind=True):
        """The regular expression of a fragment."""
        parts, bound = [], set()
        for part in re.split(r"(\*|\{\w+\})", line):
            name = part[1:-1]
            if part == "*":
                parts.append(f".{{0,{WILD}}}?")
            elif not re.fullmatch(r"\{\w+\}", part):
                parts.append(re.escape(part))
            elif name in self.names:
                parts.append(re.escape(self.names[name]))
            elif name in bound:
                parts.append(f"(?P={name})")
            elif bind:
                bound.add(name)
                parts.append(f"(?P<{name}>[^\\s\"'`,;]+)")
            else:
                parts.append("\\S+")
        return "".join(parts)

    def check_json(self, line, stdout, shown):
        try:
            value = json.loads(stdout)
        except ValueError as error:
            raise Broken(f"no JSON on stdout: {error}\n{shown}") from None
        path, _, want = line.partition(" = ")
        word, _, rest = path.partition(" ")
        if word in ("len", "keys"):
            path = rest.strip()
        else:
            word = ""
        for name, index in re.findall(r"\.(\w+)|\[(-?\d+)\]", path):
            try:
                value = value[name] if name else value[int(index)]
            except (KeyError, IndexError, TypeError):
                raise Broken(f"{path} does not exist\n{shown}") from None
        value = len(value) if word == "len" else sorted(value) if word == "keys" else value
        if match := re.fullmatch(r"\{(\w+)\}", want.strip()):
            if self.names.setdefault(match[1], str(value)) != str(value):
                raise Broken(f"{path} is {value}, expected {self.names[match[1]]}\n{shown}")
        elif want.strip() == "*":
            return
        elif value != json.loads(self.filled(want)):
            raise Broken(f"{path} is {json.dumps(value)}, expected {want}\n{shown}")

    def directive(self, step):
        word, _, rest = step.head[2:].partition(" ")
        rest = self.filled(rest.strip())
        action = getattr(self, f"do_{word.replace('-', '_')}", None)
        if action is None:
            raise Broken("there is no such directive")
        if step.below and word not in ("wait", "write"):
            raise Broken("this directive takes no lines below it")
        action(rest, step)

    def do_wait(self, rest, step):
        if self.background is None:
            raise Broken("no command runs in the background")
        code = self.background.wait(float(rest or COMMAND_SECONDS))
        process, self.background = self.background, None
        self.check(step, code, process.stdout(), process.stderr())

    def do_kill(self, rest, _):
        word, _, name = rest.partition(" ")
        process = self.processes.get(name) if name else self.background
        if process is None:
            raise Broken("there is no such process")
        if not process.alive():
            raise Broken(f"the process has already ended:\n{process.tail()}")
        if word == "KILL":
            process.kill()
            if not name:
                self.background = None
        else:
            process.send({"INT": SIGINT, "TERM": SIGTERM, "STOP": SIGSTOP, "CONT": SIGCONT}[word])

    def do_until(self, rest, _):
        def holds():
            return subprocess.run(["bash", "-c", rest], cwd=self.folder, env=self.stage.env, capture_output=True,
                                  stdin=subprocess.DEVNULL).returncode == 0
        try:
            wait_until(rest, holds, pause=0.05)
        except Broken as problem:
            raise Broken(f"{problem}\n{self.background.tail() if self.background else ''}") from None

    def do_write(self, rest, step):
        path = self.folder / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in step.below))

    def do_fill(self, rest, _):
        path = self.folder / rest
        path.write_text(self.filled(path.read_text()))

    def do_flip(self, rest, _):
        name, position = rest.split()
        data = bytearray((self.folder / name).read_bytes())
        data[int(position)] ^= 0x10
        (self.folder / name).write_bytes(data)

    def do_cd(self, rest, _):
        self.folder = (self.folder / rest).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def do_env(self, rest, _):
        name, equals, value = rest.partition("=")
        if equals:
            self.stage.env[name] = value
        else:
            self.stage.env.pop(name, None)

    def do_need(self, rest, _):
        if shutil.which(rest, path=self.stage.env["PATH"]) is None:
            raise Skipped(f"{rest} is not installed")

    def do_cloud(self, rest, _):
        self.cloud = Cloud(self.stage, json.loads(rest) if rest else None)
        self.add_mirror(self.stage.mirror())

    def do_plugins(self, _rest, _):
        if not self.options.plugins or not Path(self.options.plugins).is_dir():
            raise Skipped("the providers of the conformance cases are missing: use --plugins")
        self.add_mirror(Path(self.options.plugins).resolve())

    def add_mirror(self, path):
        self.mirrors.append(path)
        self.stage.cli_config(self.mirrors)

    def do_redis(self, rest, _):
        if not Redis.there():
            raise Skipped("redis-server is not installed")
        self.redis = Redis(self.stage, dict(word.split("=", 1) for word in rest.split()))
        self.names["redis"] = self.redis.url("case")

    def do_redis_tls(self, rest, _):
        if not Redis.there() or not Authority.there():
            raise Skipped("redis-server or openssl is not installed")
        self.redis = RedisTls(self.stage, dict(word.split("=", 1) for word in rest.split()))
        self.processes["redis"] = self.redis.process
        self.names.update(redis=self.redis.url("case"), certificates=str(self.redis.folder), rediscli=self.redis.cli())

    def do_certificate(self, rest, _):
        name, days, *names = rest.split()
        self.redis.authority.issue(name, *names, days=days)

    def do_sentinels(self, _rest, _):
        if not Redis.there():
            raise Skipped("redis-server is not installed")
        self.redis = RedisSentinels(self.stage)
        self.processes.update(master=self.redis.master.process, replica=self.redis.replica.process)
        self.names["redis"] = self.redis.url("case")

    def do_states(self, _rest, _):
        before = self.processes.get("states")
        port = int(self.names["states"].rsplit(":", 1)[1]) if before else 0
        server = StateServer(self.stage, "states-again" if before else "states", port)
        self.processes["states"] = server.process
        self.names["states"] = server.url()

    def do_cos(self, _rest, _):
        self.start_shop("cos")

    def do_oss(self, _rest, _):
        self.start_shop("oss")

    def start_shop(self, name):
        if shutil.which("openssl") is None:
            raise Skipped("openssl is not installed")
        port, certificate = self.stage.path / f"{name}.port", self.stage.path / f"{name}.pem"
        self.stage.start(name, sys.executable, HERE / f"{name}_server.py", "--ca", certificate, "--port-file", port)
        wait_until(f"the start of the server for {name}", port.exists)
        self.names[name] = f"http://127.0.0.1:{port.read_text()}"
        self.names["certificate"] = str(certificate)

    def do_keys(self, _rest, _):
        if shutil.which("openssl") is None:
            raise Skipped("openssl is not installed")
        folder = self.stage.path / "keys"
        folder.mkdir()
        port = folder / "port"
        self.stage.start("keys", sys.executable, HERE / "keys_server.py", "--folder", folder, "--port-file", port)
        wait_until("the start of the server for keys", port.exists)
        self.names["keys"] = f"http://127.0.0.1:{port.read_text()}"
        self.names["authority"] = str(folder / "authority.pem")

    def do_kms(self, _rest, _):
        if not Moto.there():
            raise Skipped("moto_server is not installed")
        self.names["kms"] = url = Moto(self.stage).url()

        def ask(operation, content):
            scope = "Credential=key/20200101/us-east-1/kms/aws4_request"
            headers = {"X-Amz-Target": f"TrentService.{operation}", "Content-Type": "application/x-amz-json-1.1",
                       "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}
            request = urllib.request.Request(url, json.dumps(content).encode(), headers, method="POST")
            with urllib.request.urlopen(request) as answer:
                return answer.read()
        key = json.loads(ask("CreateKey", {}))["KeyMetadata"]["KeyId"]
        ask("CreateAlias", {"AliasName": "alias/states", "TargetKeyId": key})

    def do_hosted(self, _rest, _):
        if shutil.which("openssl") is None:
            raise Skipped("openssl is not installed")
        folder = self.stage.path / "hosted"
        folder.mkdir()
        self.stage.start("hosted", sys.executable, HERE / "cloud_service.py", cwd=folder)
        port = folder / "service.port"
        wait_until("the start of the service for states", port.exists)
        self.names["hosted"] = host = f"localhost:{port.read_text().strip()}"
        settings = folder / "cli.tfrc"
        settings.write_text(f'disable_checkpoint = true\ncredentials "{host}" {{\n  token = "first-token"\n}}\n')
        self.stage.env.update(SSL_CERT_FILE=str(folder / "ca.pem"), TF_CLI_CONFIG_FILE=str(settings))

    def do_s3(self, rest, _):
        if not Moto.there():
            raise Skipped("moto_server is not installed")
        service = Moto(self.stage)
        self.names["s3"] = self.names["moto"] = service.url()
        if rest:
            words = rest.replace("=", " ").split()
            options = {}
            for name, value in zip(words, words[1:] + ["--"]):
                if name.startswith("--"):
                    options[name[2:].replace("-", "_")] = True if value.startswith("--") else value
            self.names["s3"] = Proxy(self.stage, service.port, **options).url()

    def do_gcs(self, _rest, _):
        if not FakeGcs.there():
            raise Skipped("fake-gcs-server is not installed")
        self.stage.env["STORAGE_EMULATOR_HOST"] = FakeGcs(self.stage).host()

    def do_azurite(self, _rest, _):
        if not Azurite.there():
            raise Skipped("azurite-blob (or openssl) is not installed")
        self.stage.env.update(Azurite(self.stage).env())

    def do_postgres(self, _rest, _):
        if not Postgres.there():
            raise Skipped("PostgreSQL is not installed")
        self.names["postgres"] = Postgres(self.stage).url()

    def do_sshd(self, _rest, _):
        if not Sshd.there():
            raise Skipped("sshd is not installed, so PROVISIONERS OVER SSH ARE NOT TESTED")
        port = int(self.names.get("sshport", 0))
        server = Sshd(self.stage, "sshd-again" if port else "sshd", port)
        self.processes["sshd"] = server.process
        self.stage.env.pop("SSH_AUTH_SOCK", None)
        self.names.update(sshport=str(server.port), ssh=str(server.folder), user=getpass.getuser())

    def do_agent(self, rest, _):
        # Short: the path of a socket has at most 107 bytes.
        folder = tempfile.mkdtemp(prefix="weft-agent-")
        self.stage.at_exit(lambda: shutil.rmtree(folder, ignore_errors=True))
        self.stage.env["SSH_AUTH_SOCK"] = f"{folder}/socket"
        agent = self.stage.start("agent", "ssh-agent", "-D", "-a", f"{folder}/socket")
        wait_until("the start of ssh-agent", lambda: listens(f"{folder}/socket") or not agent.alive())
        keys = [f"{self.names['ssh']}/{key}" for key in rest.split()]
        subprocess.run(["ssh-add", "-q", *keys], check=True, capture_output=True, env=self.stage.env)

    def do_consul(self, _rest, _):
        self.names["consul"] = Consul(self.stage).address()

    def do_kubernetes(self, _rest, _):
        self.names["kubernetes"] = str(Kubernetes(self.stage).config)

    def do_coordinator(self, rest, _):
        if self.cluster is None:
            plugins = self.mirrors[-1] if self.mirrors else None
            store = rest if rest else None
            self.cluster = Cluster(self.stage, self.redis, workers=0, plugin_dir=plugins, state="case", store=store)
        else:
            self.cluster.start_coordinator()
        self.names["coordinator"] = self.cluster.address
        self.processes["coordinator"] = self.cluster.coordinator

    def do_worker(self, rest, _):
        process = self.cluster.start_worker(*rest.split())
        self.processes[f"worker-{self.cluster.started}"] = process


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", required=True, help="weft, with simcloud and its plugin in the same folder")
    a.add_argument("--plugins", default=os.environ.get("LAB_PLUGINS"), help="mirror with the lab providers")
    # Most of the time, a case waits for processes and servers.
    a.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2))
    a.add_argument("--keep", action="store_true", help="keep the folders of cases that failed")
    a.add_argument("names", nargs="*", help="cases to run, by default all")
    o = a.parse_args()
    binary = Path(o.bin).resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"{binary} does not exist or is not executable")
    names = [Path(name).name.removesuffix(".txt") for name in o.names]
    cases = [path for path in sorted(HERE.glob("*.txt")) if not names or path.stem in names]
    if not cases:
        sys.exit("there is no such case")

    def attempt(path):
        start, stage = time.monotonic(), Stage(binary.parent, keep=o.keep, prefix=f"weft-case-{path.stem}-")
        with stage:
            try:
                Case(path, o, stage).play()
                stage.keep, outcome = False, None
            except Skipped as why:
                stage.keep, outcome = False, why
            except Exception as problem:  # noqa: BLE001  one broken case must not end the others
                outcome = problem
        return path.stem, outcome, time.monotonic() - start, stage.path if stage.keep else None

    passed = skipped = 0
    failed = []
    with ThreadPoolExecutor(o.jobs) as pool:
        for name, outcome, seconds, kept in pool.map(attempt, cases):
            if outcome is None:
                passed += 1
                print(f"ok {name} {seconds:.1f} s", flush=True)
            elif isinstance(outcome, Skipped):
                skipped += 1
                print(f"SKIPPED {name}: {outcome}", flush=True)
            else:
                failed.append(name)
                words = str(outcome) if isinstance(outcome, Broken) else f"{type(outcome).__name__}: {outcome}"
                print(f"FAIL {name}: " + words.replace("\n", "\n    "), flush=True)
                if kept:
                    print(f"    kept: {kept}", flush=True)
    print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed:
        print("failed cases: " + " ".join(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
