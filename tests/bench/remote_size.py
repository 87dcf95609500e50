#!/usr/bin/env python3
"""A large state in a backend far away: 50,000 instances in an object store whose every request takes 30 ms, against the
same state on the embedded store.

    remote_size.py [--bin-dir target/release] [--instances N] [--operations N] [--rounds N] [--check]

The run changes few of the instances, but takes long enough for the state to be written several times meanwhile. Prints
the medians of its time and of the peak memory of its process. With `--check`, the exit code is 1 if the run takes more
than 10% longer, or needs more than half as much memory again.
"""
import argparse
import json
import statistics
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
import measuring  # noqa: E402
from remote_cost import REQUEST  # noqa: E402
from stage import ROOT, Cloud, Moto, Proxy, Stage  # noqa: E402

# The time of an operation, in milliseconds. 64 are in flight, so that the run takes 50 s.
OPERATION, IN_FLIGHT = 5_000, 64
# The bounds: time and memory against the embedded store.
LONGER, MORE = 1.10, 1.5
# The text in each instance, about as long as the attributes of a small resource.
TEXT = "text-" * 60

BACKEND = """
terraform {
  backend "s3" {
    bucket         = "states"
    key            = "bench/KEY"
    use_lockfile   = true
    use_path_style = true
  }
}
"""


def configuration(instances, operations):
    return f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
resource "terraform_data" "large" {{
  count = {instances}
  input = "{TEXT}"
}}
resource "cloud_dns_record" "r" {{
  count  = {operations}
  name   = "r${{count.index}}"
  type   = "A"
  values = ["192.0.2.1"]
}}
"""


def state(instances):
    """A state with the large resource."""
    text = {"value": TEXT, "type": "string"}
    return json.dumps({
        "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": str(uuid.uuid4()), "outputs": {},
        "resources": [{
            "mode": "managed", "type": "terraform_data", "name": "large",
            "provider": 'provider["terraform.io/builtin/terraform"]',
            "instances": [{
                "index_key": index, "schema_version": 0, "sensitive_attributes": [],
                "attributes": {"id": str(uuid.uuid4()), "input": text, "output": text, "triggers_replace": None},
            } for index in range(instances)]}],
        "check_results": None})


def measure(stage, name, o, more, env):
    """The cost of the apply."""
    work = stage.path / name
    work.mkdir()
    (work / "main.tf").write_text(configuration(o.instances, o.operations) + more)
    (work / "large.tfstate").write_text(state(o.instances))
    environment = {**stage.env, **env}

    def weft(*arguments):
        return stage.must(0, *arguments, cwd=work, env=env, seconds=measuring.SECONDS)

    weft("init", "-input=false", "-no-color")
    weft("state", "push", "large.tfstate")
    weft("plan", "-out=plan.weft", *measuring.PLAIN)
    plan = json.loads(weft("show", "-json", "plan.weft").stdout)
    changed = sum(change["change"]["actions"] != ["no-op"] for change in plan["resource_changes"])
    if changed != o.operations:
        sys.exit(f"the plan changes {changed} objects, not {o.operations}")
    arguments = [str(stage.bin_dir / "weft"), "apply", *measuring.PLAIN, f"-parallelism={IN_FLIGHT}", "plan.weft"]
    cost = measuring.measure(arguments, work, environment)
    weft("apply", "-auto-approve", f"-parallelism={IN_FLIGHT}", *measuring.PLAIN, "-destroy", "-target=cloud_dns_record.r")
    return cost


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    a.add_argument("--instances", type=int, default=50_000)
    a.add_argument("--operations", type=int, default=640)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Moto.there():
        print("SKIPPED remote size: moto_server is not installed")
        return
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    near, far = [], []
    with Stage(o.bin_dir, prefix="weft-size-") as stage:
        stage.cli_config([stage.mirror()])
        Cloud(stage, {"regions": {"*": {"latency_ms": OPERATION}}})
        proxy = Proxy(stage, Moto(stage).port, latency=REQUEST)
        env = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
               "AWS_ENDPOINT_URL": proxy.url()}
        for number in range(o.rounds):
            near.append(measure(stage, f"near-{number}", o, "", {}))
            before = proxy.counts()["requests"]
            far.append(measure(stage, f"far-{number}", o, BACKEND.replace("KEY", str(number)), env))
            print(f"   {o.instances:,} instances, {o.operations:,} operations: embedded {near[-1]}, over the object store "
                  f"{far[-1]}, {proxy.counts()['requests'] - before} requests with plan and destroy", flush=True)
    bounds = measuring.Bounds()
    ended = all(cost.seconds is not None for cost in near + far)
    bounds.hold("a run did not end", ended)
    if ended:
        ratio = statistics.median(c.seconds for c in far) / statistics.median(c.seconds for c in near)
        memory = statistics.median(c.peak for c in far) / statistics.median(c.peak for c in near)
        print(f"printed: {o.instances:,} instances in an object store with {REQUEST} ms: {ratio:.3f} times the time and "
              f"{memory:.2f} times the memory of the embedded store")
        bounds.hold(f"the run takes {ratio:.3f} times as long, and may take {LONGER}", ratio <= LONGER)
        bounds.hold(f"the run needs {memory:.2f} times the memory, and may need {MORE}", memory <= MORE)
    bounds.tell()
    if o.check and bounds.broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
