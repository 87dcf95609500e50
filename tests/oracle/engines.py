"""Runs a case with one engine, step by step, and caches the results of the reference."""
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from cases import CONFORMANCE, save_case

sys.path.insert(0, str(CONFORMANCE))
import difftest  # noqa: E402

# Generated names contain ids inside other text, also in capitals.
difftest.PLACEHOLDERS[:] = [
    ("uuid", re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")),
    ("lab", re.compile(r"[lL][aA][bB]-[0-9a-fA-F]{12}(?![0-9a-fA-F])")),
    difftest.PLACEHOLDERS[2],
]
CRASH_EXITS = (101, 134, 139)  # a Rust panic, an abort, a segmentation fault
CRASH_WORDS = ("panicked at", "OPENTOFU CRASH")


class StepRunner(difftest.Runner):
    """Runs single steps. An exception is the result of its step. Panics and the headings on stderr are recorded."""

    def execute(self, args, stdin=None):
        r = super().execute(args, stdin)
        if not (args and args[0] == "show" and self.last):  # the harness itself runs `show` after a plan
            self.last = r
        return r

    def run_step(self, step):
        self.last = None
        try:
            r = super().run_step(step)
        except Exception as e:
            r = {"harness": f"{type(e).__name__}: {re.sub(r'/tmp/[^ ]*', '', str(e))[:80]}"}
        if self.last and r is not None:
            code, _, err = self.last
            if code in CRASH_EXITS or (isinstance(code, int) and code < 0) or any(w in err for w in CRASH_WORDS):
                r["crash"] = err[-1500:]
            if code == "timeout":
                r["crash"] = "timeout"
            plain = re.sub(r"\x1b\[[0-9;]*m", "", err)
            heads = re.findall(r"^(?:[│╷ ]*)((?:Error|Warning): .*?)(?: \[W\d+\])?\s*$", plain, re.M)
            if heads:
                r["headings"] = sorted({self.normal.text(h) for h in heads})
        return blank(r)


def blank(v):
    """Removes the numbers of reads that lab_echo returns, because they depend on the order."""
    if isinstance(v, str):
        # The same numbers in text output.
        return re.sub(r"(?m)^([-+~ ]*at +[=] )\d+$(?=\n[-+~ ]*result +=)", r"\1<read>", v)
    if isinstance(v, dict):
        return {k: blank(x) for k, x in v.items() if not (k == "at" and "result" in v)}
    if isinstance(v, list):
        return [blank(x) for x in v]
    return v


def run(case, binary, plugins, stop=None):
    """The results of a case, one for each step (None if there is nothing to compare).

    `stop(index, result)` is called after each step. If it returns true, no further step runs. A step that uses the
    missing plan file of a failed plan is {"skipped": True}; `stop` gets it too.
    """
    where = tempfile.mkdtemp(prefix="oracle-")
    try:
        save_case(case, where + "/case")
        try:
            runner = StepRunner(where + "/case", binary, plugins)
        except Exception as e:
            return [{"harness": str(e)}]
        try:
            return run_steps(case, runner, stop)
        finally:
            shutil.rmtree(runner.root, ignore_errors=True)
    finally:
        shutil.rmtree(where, ignore_errors=True)


def run_steps(case, runner, stop):
    """Runs the steps of a case in an existing working directory."""
    results, plans = [], set()
    for i, step in enumerate(case["steps"]):
        words = step.get("run", [""])
        missing = [w for w in words[1:] if w in plans and not os.path.exists(os.path.join(runner.workdir, w))]
        if words[0] in ("apply", "show") and missing:
            results.append({"skipped": True})
        else:
            plans |= {w[5:] for w in words if w.startswith("-out=") and w[5:]}
            results.append(runner.run_step(step))
        if stop and stop(i, results[-1]):
            break
    return results


def case_key(case, number):
    """The name of a cached result: everything that the result depends on, except the engine."""
    trees = {t: {f: x if isinstance(x, str) else x.hex() for f, x in files.items()} for t, files in case["trees"].items()}
    text = json.dumps([case | {"trees": trees}, number], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Reference:
    """OpenTofu. Its results are cached in a folder, so each case runs once."""

    def __init__(self, binary, plugins, cache):
        self.binary, self.plugins, self.cache = binary, plugins, Path(cache)

    def results(self, case, number=0):
        """The results of a case. Another number means another run, to find cases with unstable results."""
        key = case_key(case, number)
        path = self.cache / key[:2] / key
        if path.exists():
            return json.loads(path.read_text())
        r = run(case, self.binary, self.plugins)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.{number}")
        temporary.write_text(json.dumps(r))
        temporary.rename(path)
        return r
