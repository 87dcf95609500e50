#!/usr/bin/env python3
"""Searches for secrets where they must not be. The secrets are unique texts in variables, in the configuration of
providers, in attributes, in ephemeral values, in a passphrase, in the passwords of Redis and of a backend, in keys of
certificates, and in tokens of OpenID Connect.

    canaries.py --bin-dir target/debug --plugins target/lab-plugins [--only NAME] [--keep]

Each round plans, applies, kills the apply with -9, resumes it, applies a change, and reads the state, with the most
verbose logs. There are rounds in one process, in one process over a backend, and with coordinator, worker and Redis,
each with encryption and without. After each step, every file of every process is searched. During the apply, the arguments and the environment
of all processes are searched too. A secret is found in plain text, in base64 and in hexadecimal digits. `PLACES` lists
the files that may contain a secret, as docs/security.md documents.
"""
import argparse
import base64
import fnmatch
import json
import os
import re
import secrets as randomness
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from issuer import Issuer  # noqa: E402
from secure_cluster import Certificates  # noqa: E402
from stage import Broken, Redis, Stage, answers, family, free_port, wait_until  # noqa: E402

MAIN = """
terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "attribute" {
  type      = string
  sensitive = true
}
variable "configured" {
  type      = string
  sensitive = true
}
variable "ephemeral" {
  type      = string
  ephemeral = true
}
variable "size" {
  default = 1
}
provider "lab" {
  token = var.configured
}
provider "lab" {
  alias = "ephemeral"
  token = var.ephemeral
}
ephemeral "lab_token" "t" {
  name = "t-${var.ephemeral}"
}
resource "lab_thing" "a" {
  count             = 4
  name              = "a${count.index}"
  size              = var.size
  secret            = "<${var.attribute}>"
  secret_wo         = "<${var.ephemeral}>"
  secret_wo_version = 1
  delay_ms          = 600
}
resource "lab_thing" "b" {
  provider          = lab.ephemeral
  name              = "b"
  secret            = var.attribute
  secret_wo         = ephemeral.lab_token.t.token
  secret_wo_version = 1
  depends_on        = [lab_thing.a]
}
output "o" {
  value     = var.attribute
  sensitive = true
}
"""

# The files that may contain each secret, as patterns below the folder of a round: without encryption, and with
# encryption.
VALUES = ["server/*", "work/plan*.weft", "work/terraform.tfstate", "work/terraform.tfstate.backup", "work/.weft/runs/*", "redis/*",
          "*/.terraform/weft/*", "*/weft-data/*"]
PLACES = {
    # name: (without encryption, with encryption)
    "attribute": (VALUES, []),
    "configured": (VALUES, []),
    "ephemeral": ([], []),
    "passphrase": ([], []),
    # The server keeps the password in its own files.
    "password": (["redis/redis.conf"], ["redis/redis.conf"]),
    "key": ([], []),
    "token": ([], []),
    # As in OpenTofu, plan files and the working directory contain the settings of the backend.
    "login": (["work/plan*.weft", "work/.terraform/terraform.tfstate"], ["work/.terraform/terraform.tfstate"]),
}
# Files with the secrets as the user wrote them, and those of the test provider's service.
GIVEN = ["*.tfvars", "tls/*.pem", "lab/*", "given/*", "issuer/*"]
# The secrets that a process may have in its environment: for `weft`, those that were passed in this way; for plugins,
# none.
IN_ENVIRONMENT = {"weft": {"passphrase", "password", "token"}, "plugin": set()}


class Canaries:
    """The secrets of a round."""

    def __init__(self):
        self.texts = {name: f"canary{name}{randomness.token_hex(12)}" for name in
                      ("attribute", "configured", "ephemeral", "passphrase", "password", "login")}

    def forms(self, name):
        """The bytes that count as this secret."""
        text = self.texts[name].encode()
        found = [text, text.hex().encode(), text.hex().upper().encode()]
        for before in range(3):
            # The characters of base64 that depend on the secret alone, at each alignment.
            padded = base64.b64encode(bytes(before) + text)
            inner = padded[(before * 8 + 5) // 6:(before + len(text)) * 8 // 6]
            found += [inner, inner.replace(b"+", b"-").replace(b"/", b"_")]
        return found

    def in_bytes(self, content):
        return {name for name in self.texts if any(form in content for form in self.forms(name))}


class Round:
    def __init__(self, stage, plugins, store, encrypted):
        self.stage, self.cluster, self.encrypted = stage, store == "redis", encrypted
        # The folder in which a search must find the attribute, unless it is encrypted.
        self.stored = {"redis": "redis", "backend": "server"}.get(store, "work")
        self.canaries, self.found, self.looked_at = Canaries(), [], 0
        # The secrets that were found in files that may contain them, each with the folder of the file.
        self.seen = set()
        self.work = stage.path / "work"
        for name in ("work", "tmp", "lab", "given"):
            (stage.path / name).mkdir()
        (self.work / "main.tf").write_text(MAIN)
        texts = self.canaries.texts
        given = {name: texts[name] for name in ("attribute", "configured", "ephemeral")}
        (self.work / "secret.auto.tfvars").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items()))
        stage.cli_config([plugins])
        stage.env.update({"TF_LOG": "trace", "WEFT_LOG": "trace", "TMPDIR": str(stage.path / "tmp"),
                          "LAB_STORE": str(stage.path / "lab")})
        if encrypted:
            stage.env["TF_ENCRYPTION"] = f"""
              key_provider "pbkdf2" "p" {{ passphrase = "{texts['passphrase']}" }}
              method "aes_gcm" "m" {{ keys = key_provider.pbkdf2.p }}
              state {{ method = method.aes_gcm.m }}
              plan {{ method = method.aes_gcm.m }}
            """
        self.names = 0
        self.init = []
        if store == "redis":
            self.start_cluster(plugins)
        if store == "backend":
            self.start_backend()

    def start_backend(self):
        """Starts a server for states. The settings of the backend come from a file."""
        stage, port = self.stage, free_port()
        (stage.path / "server").mkdir()
        server = Path(__file__).resolve().parent.parent / "cases/state_server.py"
        stage.start("server", sys.executable, server, "--port", str(port), "--file", stage.path / "server/states.json",
                    env={"TF_ENCRYPTION": ""})
        wait_until("the start of the server", lambda: answers(port))
        (self.work / "backend.tf").write_text('terraform {\n  backend "http" {}\n}\n')
        address = f"http://127.0.0.1:{port}/state"
        settings = {"address": address, "lock_address": address, "unlock_address": address, "username": "canary",
                    "password": self.canaries.texts["login"]}
        file = stage.path / "given/backend.hcl"
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
        self.init = [f"-backend-config={file}"]

    def start_cluster(self, plugins):
        stage = self.stage
        (stage.path / "redis").mkdir()
        password = self.canaries.texts["password"]
        (stage.path / "redis/redis.conf").write_text(f"requirepass {password}\n")
        redis = Redis.__new__(Redis)
        redis.stage, redis.name, redis.port, redis.settings = stage, "redis", free_port(), dict(Redis.SETTINGS)
        redis.folder = stage.path / "redis"
        options = [word for key, value in redis.settings.items() for word in (f"--{key}", value)]
        redis.process = stage.start("redis-server", "redis-server", redis.folder / "redis.conf", "--bind", "127.0.0.1",
                                    "--port", str(redis.port), "--dir", redis.folder, "--save", "", *options)
        wait_until("the start of Redis", lambda: answers(redis.port))
        self.redis = redis
        stage.env["WEFT_STORE"] = f"redis://default:{password}@127.0.0.1:{redis.port}/0?state=canaries"
        certificates = Certificates(stage, stage.path / "tls", {
            "coordinator": ["-host", "127.0.0.1"], "worker": ["-role", "worker"]})
        (stage.path / "issuer").mkdir()
        issuer = Issuer(stage.path / "issuer")
        policy = stage.path / "issuer/policy.toml"
        policy.write_text(issuer.policy({"spiffe://weft.test/weft/worker/*": ["worker"]}, ["apply", "resolve"]))
        identity = certificates.identity
        lines = (certificates.folder / "worker-key.pem").read_text().splitlines()
        self.canaries.texts["key"] = lines[2 if len(lines) > 4 else 1]
        self.address = f"127.0.0.1:{free_port()}"
        for folder in ("coordinator", "worker"):
            (stage.path / folder).mkdir()
        port = int(self.address.rsplit(":", 1)[1])
        self.coordinator = stage.weft("coordinator", "coordinator", "-listen", self.address, "-policy", policy,
                                      cwd=stage.path / "coordinator", env=identity("coordinator"))
        wait_until("the start of the coordinator", lambda: answers(port) or not self.coordinator.alive())
        worker = {**identity("worker"), "WEFT_STORE": "", "WEFT_COORDINATOR": self.address}
        self.worker = stage.weft("worker", "worker", "-plugin-dir", plugins, cwd=stage.path / "worker", env=worker)
        wait_until("the start of the worker", lambda: "works for" in self.worker.stdout() or not self.worker.alive())
        token = issuer.token()
        # The signature: with it, anybody could use the token.
        self.canaries.texts["token"] = token.rsplit(".", 1)[1]
        stage.env.update(WEFT_TLS_CA=str(certificates.folder / "ca.pem"), WEFT_TOKEN=token, WEFT_COORDINATOR=self.address)

    def log(self, name):
        self.names += 1
        return f"{self.names:02}-{name}"

    def weft(self, name, *arguments, codes=(0,)):
        """Runs a command to its end, with its output in files."""
        process = self.stage.weft(self.log(name), *arguments, "-no-color", cwd=self.work)
        code = process.wait(120)
        if code not in codes:
            raise Broken(f"weft {' '.join(arguments)} ended with exit code {code}:\n{process.tail()[-4000:]}")
        return process

    def play(self):
        self.weft("init", "init", *self.init)
        self.weft("plan", "plan", "-input=false", "-out=plan.weft")
        self.search("plan")
        process = self.stage.weft(self.log("apply"), "apply", "-input=false", "-no-color", "plan.weft", cwd=self.work)
        ledger = self.stage.path / "lab/ledger.jsonl"
        wait_until("the begin of the apply", lambda: ledger.exists() and ledger.read_text().count("create") > 0
                   or not process.alive(), 60)
        self.search_processes("apply")
        victim = self.coordinator if self.cluster else process
        if not victim.kill():
            raise Broken(f"the victim had ended before:\n{victim.tail()[-3000:]}")
        time.sleep(1)
        self.search("crash")
        if self.cluster:
            process.kill()
            self.restart_coordinator()
        self.weft("resume", "runs", "resume", codes=(0, 1, 3))
        self.search("resume")
        self.end_doubts()
        self.weft("second-plan", "plan", "-input=false", "-var", "size=2", "-out=plan2.weft")
        self.weft("second-apply", "apply", "-input=false", "plan2.weft")
        self.weft("show", "show")
        self.weft("show-plan", "show", "plan2.weft")
        self.weft("inspect", "plan", "inspect", "plan2.weft")
        self.weft("runs", "runs", "show")
        self.weft("output", "output")
        self.search("end")
        # This shows that the search works: without encryption, it must find the attribute in the state.
        if (("attribute", self.stored) in self.seen) == self.encrypted:
            raise Broken(f"the attribute was {'' if self.encrypted else 'not '}found in {self.stored}")

    def restart_coordinator(self):
        port = int(self.address.rsplit(":", 1)[1])
        old = self.coordinator
        self.coordinator = self.stage.start("coordinator-again", *old.arguments, cwd=self.stage.path / "coordinator",
                                            env={"WEFT_TOKEN": "", "WEFT_TLS_CERT": str(self.stage.path / "tls/coordinator.pem"),
                                                 "WEFT_TLS_KEY": str(self.stage.path / "tls/coordinator-key.pem")})
        wait_until("the start of the coordinator", lambda: answers(port) or not self.coordinator.alive())

    def end_doubts(self):
        """Makes the run end: resolves each doubt as absent. Objects that exist nevertheless do not matter here."""
        for _ in range(10):
            shown = self.stage.run("runs", "show", "-json", cwd=self.work)
            run = json.loads(shown.stdout)
            doubts = [o["address"] for o in run.get("operations", []) if o.get("status") == "in-doubt"]
            if run.get("status") == "done":
                return
            for address in doubts:
                self.stage.run("runs", "resolve", run["id"], address, "-absent", cwd=self.work)
            self.weft("resume", "runs", "resume", codes=(0, 1, 3))
        raise Broken(f"the run did not end: {shown.stdout[:2000]}")

    def search(self, when):
        """Looks for secrets in every file."""
        for folder, _, files in os.walk(self.stage.path):
            for name in files:
                path = Path(folder, name)
                relative = str(path.relative_to(self.stage.path))
                if any(fnmatch.fnmatch(relative, given) for given in GIVEN) or not path.is_file() or path.is_symlink():
                    continue
                self.looked_at += 1
                for secret in self.canaries.in_bytes(path.read_bytes()):
                    allowed = PLACES[secret][self.encrypted]
                    if any(fnmatch.fnmatch(relative, place) for place in allowed):
                        self.seen.add((secret, relative.split("/")[0]))
                    else:
                        self.found.append(f"{secret} in {relative} after {when}")

    def search_processes(self, when):
        """Looks for secrets in the arguments and environments of all processes, and checks that none dumps core."""
        for pid in [pid for process in self.stage.processes for pid in family(process.popen.pid)]:
            try:
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
                environment = Path(f"/proc/{pid}/environ").read_bytes()
                limits = Path(f"/proc/{pid}/limits").read_text()
            except OSError:
                continue
            program = Path(arguments.split(b"\0")[0].decode(errors="replace")).name
            if program.startswith("redis"):
                continue
            self.looked_at += 1
            for secret in self.canaries.in_bytes(arguments):
                self.found.append(f"{secret} in the arguments of {program} during {when}")
            for secret in self.canaries.in_bytes(environment):
                if secret not in IN_ENVIRONMENT["weft" if program == "weft" else "plugin"]:
                    self.found.append(f"{secret} in the environment of {program} during {when}")
            core = re.search(r"Max core file size\s+(\S+)", limits)
            if core and core.group(1) != "0":
                self.found.append(f"{program} may dump core: the limit is {core.group(1)} during {when}")


# The store of each round, and whether it encrypts.
ROUNDS = {
    "embedded": ("embedded", False),
    "embedded-encrypted": ("embedded", True),
    "backend": ("backend", False),
    "backend-encrypted": ("backend", True),
    "cluster": ("redis", False),
    "cluster-encrypted": ("redis", True),
}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", required=True)
    a.add_argument("--plugins", default=os.environ.get("LAB_PLUGINS"), help="the filesystem mirror of the lab plugin")
    a.add_argument("--only", choices=list(ROUNDS))
    a.add_argument("--keep", action="store_true")
    o = a.parse_args()
    plugins = Path(o.plugins).resolve()
    passed, failed = 0, 0
    for name, (store, encrypted) in ROUNDS.items():
        if o.only not in (None, name):
            continue
        if store == "redis" and not Redis.there():
            print(f"SKIPPED {name}: redis-server is not installed")
            continue
        with Stage(o.bin_dir, keep=o.keep, prefix="weft-canaries-") as stage:
            try:
                round_ = Round(stage, plugins, store, encrypted)
                round_.play()
                found = sorted(set(round_.found))
            except Broken as broken:
                found = [str(broken)]
            if found:
                failed += 1
                print(f"FAIL {name}" + (f" ({stage.path})" if o.keep else ""))
                print("".join(f"   {line}\n" for line in found), end="")
            else:
                passed += 1
                print(f"   {name}: {round_.looked_at} files and processes searched")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
