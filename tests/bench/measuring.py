"""The common part of the benches: the cost of a command, its bounds, growth with the size, and engines side by side."""
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from stage import ROOT, clean_environment  # noqa: E402

# The most a command may take: time, and address space (Go reserves more than it uses).
SECONDS = 120
ADDRESS_SPACE = 12 << 30
# What can be told apart on a machine that does other things too: below it, growth is taken for this much.
LEAST_SECONDS, LEAST_BYTES = 0.02, 4 << 20
# Seconds from one look at the memory of a process to the next, and looks from one search for its children to the next.
LOOK, SEARCH = 0.01, 10
# The last look is that much below the peak at most; a process that started larger ones is below it by more.
STALE = 0.95
# Ten times the size may cost this many times as much.
LINEAR = 12
# With this much more to do than processors, the clock tells more of others than of us. Our own work counts once.
SPARE_LOAD = 1
# What a command is given besides.
PLAIN = ("-input=false", "-no-color")


class Cost:
    """What a command took; `seconds` is None when it did not end in time or within its memory. `cpu`: processor time of
    it and of its plugins, without what the kernel does for them: that varies with what else the machine does. `peak`:
    memory of the command's own process; `plugins`: of the largest that it started, 0 where none is larger. Plugins are
    the same under every engine, and some keep something of each call."""

    def __init__(self, seconds, peak, why="", cpu=0.0, plugins=0):
        self.seconds, self.peak, self.why, self.cpu, self.plugins = seconds, peak, why, cpu, plugins

    def __str__(self):
        if self.seconds is None:
            return f"{self.why:>20}"
        plugins = f" (plugins {self.plugins / 2**20:.0f} MB)" if self.plugins else ""
        return f"{self.seconds:9.3f} s {self.peak / 2**20:6.0f} MB{plugins}"


def median(costs):
    """The middle of several, in each number; the first that did not end where one did not."""
    for cost in costs:
        if cost.seconds is None:
            return cost
    middle = lambda number: statistics.median(number(cost) for cost in costs)  # noqa: E731
    return Cost(middle(lambda c: c.seconds), middle(lambda c: c.peak), cpu=middle(lambda c: c.cpu),
                plugins=middle(lambda c: c.plugins))


class Memory(threading.Thread):
    """Looks at the memory of a process until it ends. When it has, the system tells the peak of the largest process
    among it and those that it started, which is its own only where it started none."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.own, self.started = pid, 0, False
        self.start()

    def run(self):
        looks = 0
        while self.look():
            if looks % SEARCH == 0 and not self.started:
                self.started = self.has_children()
            looks += 1
            time.sleep(LOOK)

    def has_children(self):
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                # Behind the name, which may hold anything: the state, then the parent.
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self.pid:
                    return True
            except (OSError, IndexError, ValueError):
                continue
        return False

    def look(self):
        """Whether the process is still there."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return False
        peak = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        if peak:
            self.own = int(peak[0].split()[1]) << 10
        return bool(peak)

    def peaks(self, largest):
        """Of the process, and of the largest that it started where that is larger; `largest` is what the system told."""
        return (self.own, largest) if self.started and self.own < largest * STALE else (largest, 0)


def measure(arguments, folder, env, codes=(0,)):
    """Runs a command to its end."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            arguments, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, -1)))
        memory = Memory(process.pid)
        # The wait below ends with the process that the alarm kills.
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(SECONDS)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        late = signal.alarm(0) == 0
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.join()
        peak, plugins = memory.peaks(usage.ru_maxrss << 10)
        if process.returncode in codes:
            return Cost(seconds, peak, cpu=usage.ru_utime, plugins=plugins)
        output.seek(0)
        text = output.read().decode(errors="replace")
        if late and process.returncode < 0:
            return Cost(None, peak, f"over {SECONDS} s")
        if "out of memory" in text or "cannot allocate memory" in text:
            return Cost(None, peak, "out of memory")
        sys.exit(f"{' '.join(arguments)} in {folder} ended with {process.returncode}:\n{text[-3000:]}")


class Bounds:
    """Bounds that were looked at."""

    def __init__(self):
        self.held, self.broken = 0, []

    def hold(self, what, held):
        if held:
            self.held += 1
        else:
            self.broken.append(what)

    def tell(self):
        """Prints what did not hold, and the totals."""
        for what in self.broken:
            print(f"FAIL {what}")
        print(f"{self.held} passed, {len(self.broken)} failed")


def linear(bounds, what, none, small, large, sizes=(1_000, 10_000)):
    """t(large) - t(empty) against t(small) - t(empty), memory likewise."""
    if None in (none.seconds, small.seconds, large.seconds):
        bounds.hold(f"{what}: one of the sizes did not end", False)
        return
    by_clock = (large.seconds - none.seconds) / max(small.seconds - none.seconds, LEAST_SECONDS)
    by_processor = (large.cpu - none.cpu) / max(small.cpu - none.cpu, LEAST_SECONDS)
    busy = os.getloadavg()[0] > (os.cpu_count() or 1) + SPARE_LOAD
    time_ratio = by_processor if busy else by_clock
    memory_ratio = (large.peak - none.peak) / max(small.peak - none.peak, LEAST_BYTES)
    print(f"   {what:18} ten times the size: {by_clock:4.1f} times the time{' (the machine is busy)' if busy else ''}, "
          f"{by_processor:4.1f} times the processor time, {memory_ratio:4.1f} times the memory")
    between = f"from {sizes[0]:,} to {sizes[1]:,}"
    bounds.hold(f"{what}: time grows {time_ratio:.1f}-fold {between}", time_ratio <= LINEAR)
    bounds.hold(f"{what}: memory grows {memory_ratio:.1f}-fold {between}", memory_ratio <= LINEAR)


def write(folder, files):
    """A configuration: {name: text}."""
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def release_build():
    """The release build of weft, made now."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                   cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "weft"


def peers():
    """(name, path) of the others that are on PATH."""
    return [(name, path) for name in ("terraform", "tofu") if (path := shutil.which(name))]
