#!/usr/bin/env python3
"""The cost of a remote backend: a run over an object store whose every request takes 30 ms, against the same run on the
embedded store.

    remote_cost.py [--bin-dir target/release] [--operations N] [--rounds N] [--check]

Each operation takes 200 ms, and 64 are in flight. Prints the medians, their ratio, and the number of requests for each
operation. With `--check`, the exit code is 1 if the run takes over 10% longer, or if there are at least 0.1 requests
for each operation.
"""
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from remote import IN_FLIGHT, LONGER, REQUEST, backend, configuration, far_away, options  # noqa: E402

# The time of an operation, in milliseconds.
OPERATION = 200
# The bound: the number of requests for each operation.
REQUESTS = 0.1
# The maximum time of a command, in seconds.
LONG = 300


def measure(stage, name, operations, more, env):
    """The seconds of an apply."""
    work = stage.path / name
    work.mkdir()
    (work / "main.tf").write_text(configuration(operations) + more)

    def weft(command, *arguments):
        return stage.must(0, command, "-input=false", "-no-color", *arguments, cwd=work, env=env, seconds=LONG)

    weft("init")
    weft("plan", "-out=plan.weft")
    start = time.perf_counter()
    weft("apply", f"-parallelism={IN_FLIGHT}", "plan.weft")
    seconds = time.perf_counter() - start
    weft("destroy", "-auto-approve", f"-parallelism={IN_FLIGHT}")
    return seconds


def main():
    o = options(__doc__, "remote cost", operations=2_000)
    if o is None:
        return
    near, far, requests = [], [], []
    with far_away(o.bin_dir, "weft-remote-", OPERATION) as (stage, proxy, env):
        for number in range(o.rounds):
            near.append(measure(stage, f"near-{number}", o.operations, "", {}))
            before = proxy.counts()["requests"]
            far.append(measure(stage, f"far-{number}", o.operations, backend(number), env))
            # There are two operations for each object: `measure` creates the objects and destroys them again.
            requests.append((proxy.counts()["requests"] - before) / (2 * o.operations))
            print(f"   {o.operations:,} operations: embedded {near[-1]:.2f} s, over the object store {far[-1]:.2f} s, "
                  f"{requests[-1]:.3f} requests for each", flush=True)
    ratio, rate = statistics.median(far) / statistics.median(near), statistics.median(requests)
    print(f"printed: an object store with {REQUEST} ms: {ratio:.3f} times the embedded store, {rate:.3f} requests for each operation")
    if ratio > LONGER or rate >= REQUESTS:
        print(f"FAIL the bounds are {LONGER} times and {REQUESTS} requests")
        if o.check:
            sys.exit(1)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
