#!/usr/bin/env python3
"""A large state in a remote backend: 50,000 instances in an object store whose every request takes 30 ms, against the
same state on the embedded store.

    remote_size.py [--bin-dir target/release] [--instances N] [--operations N] [--rounds N] [--check]

The run changes few of the instances, but takes long enough for the state to be written several times. Prints the
medians of the time of the run and of the peak memory of its process. With `--check`, the exit code is 1 if the run
takes over 10% longer, or needs more than 1.5 times the memory.
"""
import json
import statistics
import sys
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import measuring  # noqa: E402
import remote  # noqa: E402
from remote import IN_FLIGHT, LONGER, REQUEST, backend, far_away, options  # noqa: E402

# The time of an operation, in milliseconds. 64 are in flight, so that the run takes 50 s.
OPERATION = 5_000
# The bound: the maximum memory, as a multiple of the memory with the embedded store.
MORE = 1.5
# The text in each instance, about as long as the attributes of a small resource.
TEXT = "text-" * 60


def configuration(instances, operations):
    return remote.configuration(operations) + f"""
resource "terraform_data" "large" {{
  count = {instances}
  input = "{TEXT}"
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
    o = options(__doc__, "remote size", instances=50_000, operations=640)
    if o is None:
        return
    near, far = [], []
    with far_away(o.bin_dir, "weft-size-", OPERATION) as (stage, proxy, env):
        for number in range(o.rounds):
            near.append(measure(stage, f"near-{number}", o, "", {}))
            before = proxy.counts()["requests"]
            far.append(measure(stage, f"far-{number}", o, backend(number), env))
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
