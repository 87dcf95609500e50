#!/usr/bin/env python3
"""Searches for secrets of other shards in workers: shard_secrets.py --bin-dir target/debug --plugins target/lab-plugins

Two provider instances are placed on two workers. Each has secrets of its own: a variable in the configuration of the
provider, one in an attribute, and an ephemeral one. During and after an apply, the memory of each worker and its
plugins is read, and the traffic between each worker and the coordinator is recorded. A worker has the secrets of its
own shard, which shows that the search works, and never those of the other shard.

Needs Linux, and root, because weft does not let other processes of its user read its memory.
"""
import argparse
import json
import os
import re
import secrets as randomness
import socket
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from stage import ROOT, Broken, Cluster, Redis, Stage, family, wait_until  # noqa: E402

SHARDS = ("eu", "us")
KINDS = ("configured", "attribute", "ephemeral")
# The maximum time of the run, in seconds.
PATIENCE = 120
# The number of bytes that are read from the memory of a process at once.
CHUNK = 16 << 20


def configuration():
    text = 'terraform {\n  required_providers {\n    lab = { source = "weft.test/lab/lab" }\n  }\n}\n'
    for shard in SHARDS:
        for kind in KINDS:
            property_ = "ephemeral" if kind == "ephemeral" else "sensitive"
            text += f'variable "{kind}_{shard}" {{\n  type = string\n  {property_} = true\n}}\n'
        text += f"""
provider "lab" {{
  alias = "{shard}"
  token = var.configured_{shard}
}}
resource "lab_thing" "{shard}" {{
  count             = 3
  provider          = lab.{shard}
  name              = "{shard}-${{count.index}}"
  secret            = var.attribute_{shard}
  secret_wo         = var.ephemeral_{shard}
  secret_wo_version = 1
  delay_ms          = 1500
}}
"""
    return text


PLACEMENT = "".join(f'[[rule]]\nalias = "{shard}"\nlabels = {{ region = "{shard}" }}\n' for shard in SHARDS)


class Unreadable(Exception):
    """This system does not let root read the memory of other processes."""


class Recorder:
    """A socket that passes everything on to another one, and keeps it."""

    def __init__(self, path, target):
        self.target, self.seen = target, bytearray()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            one, _ = self.server.accept()
            other = socket.socket(socket.AF_UNIX)
            try:
                other.connect(self.target)
            except OSError:
                one.close()
                continue
            for source, sink in ((one, other), (other, one)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                self.seen += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class RecordedCluster(Cluster):
    """A cluster whose workers are connected through recorders."""

    def __init__(self, *arguments, **options):
        self.recorders = []
        super().__init__(*arguments, **options)

    def start_worker(self, *more):
        real = self.address
        path = f"{self.sockets.name}/worker-{self.started + 1}.sock"
        self.recorders.append(Recorder(path, real.removeprefix("unix:")))
        self.address = f"unix:{path}"
        try:
            return super().start_worker(*more)
        finally:
            self.address = real


def found_in_memory(pid, canaries):
    """The names of the secrets in the writable memory of a process."""
    found = set()
    overlap = max(len(text) for text in canaries.values())
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for start, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw", maps, re.M):
                at, end, tail = int(start, 16), int(end, 16), b""
                while at < end:
                    try:
                        memory.seek(at)
                        data = memory.read(min(CHUNK, end - at))
                    except (OSError, ValueError):
                        break
                    if not data:
                        break
                    at += len(data)
                    found |= {name for name, text in canaries.items() if text in tail + data}
                    tail = data[-overlap:]
    except PermissionError as error:
        raise Unreadable(f"the memory of process {pid} cannot be read: {error}") from None
    except OSError:
        # The process has ended.
        pass
    return found


def play(stage, plugins):
    stage.env["LAB_STORE"] = str(stage.path / "lab")
    stage.cli_config([plugins])
    cluster = RecordedCluster(stage, Redis(stage), workers=len(SHARDS), plugin_dir=plugins)
    stage.env.update(cluster.env())
    canaries = {(kind, shard): f"canary{kind}{shard}{randomness.token_hex(12)}".encode() for kind in KINDS for shard in SHARDS}
    work = stage.path / "work"
    work.mkdir()
    (work / "main.tf").write_text(configuration())
    (work / "placement.toml").write_text(PLACEMENT)
    (work / "secret.auto.tfvars").write_text(
        "".join(f"{kind}_{shard} = {json.dumps(text.decode())}\n" for (kind, shard), text in canaries.items()))
    stage.must(0, "init", "-no-color", cwd=work)
    stage.must(0, "plan", "-no-color", "-placement=placement.toml", "-out=plan.weft", cwd=work)
    apply = stage.weft("apply", "apply", "-no-color", "-parallelism=4", "plan.weft", cwd=work)
    ledger = stage.path / "lab/ledger.jsonl"
    wait_until("the first create", lambda: ledger.exists() and "create" in ledger.read_text() or not apply.alive(), PATIENCE)
    seen = {shard: set() for shard in SHARDS}
    looks = 0
    while True:
        going_on = apply.alive()
        for shard, worker in zip(SHARDS, cluster.workers):
            for pid in family(worker.popen.pid):
                seen[shard] |= {("memory", *name) for name in found_in_memory(pid, canaries)}
        looks += 1
        if not going_on:
            break
        time.sleep(0.3)
    if apply.wait(PATIENCE) != 0:
        raise Broken(f"the apply failed:\n{apply.tail()}")
    for shard, recorder in zip(SHARDS, cluster.recorders):
        seen[shard] |= {("traffic", *name) for name, text in canaries.items() if text in recorder.seen}
    problems = []
    for shard in SHARDS:
        problems += [f"the {place} of the worker for {shard} has the {kind} secret of {other}"
                     for place, kind, other in sorted(seen[shard]) if other != shard]
        for place in ("memory", "traffic"):
            if not any(name[0] == place and name[2] == shard for name in seen[shard]):
                problems.append(f"the search found no secret of {shard} in the {place} of its own worker")
    if problems:
        raise Broken("\n".join(problems))
    sizes = sum(len(recorder.seen) for recorder in cluster.recorders)
    return f"{looks} looks at the memory of two workers, and {sizes} bytes of traffic"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", default=str(ROOT / "target/debug"))
    a.add_argument("--plugins", default=os.environ.get("LAB_PLUGINS"), help="the filesystem mirror of the lab plugin")
    a.add_argument("--keep", action="store_true")
    o = a.parse_args()
    if not Redis.there() or os.geteuid() != 0:
        print("SKIPPED: redis-server is missing, or this is not root, so THE MEMORY OF WORKERS IS NOT SEARCHED")
        return
    with Stage(Path(o.bin_dir), keep=o.keep, prefix="weft-shards-") as stage:
        try:
            print(f"   {play(stage, Path(o.plugins).resolve())}\n1 passed, 0 failed")
            stage.keep = False
        except Unreadable as error:
            print(f"SKIPPED: {error}, so THE MEMORY OF WORKERS IS NOT SEARCHED")
        except Broken as broken:
            print(f"FAIL {broken}\n0 passed, 1 failed")
            sys.exit(1)


if __name__ == "__main__":
    main()
