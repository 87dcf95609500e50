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

# The limits of a command: time, and address space (Go reserves more than it uses).
SECONDS = 120
ADDRESS_SPACE = 12 << 30
# The smallest cost that can be measured on a machine with other processes. For a smaller cost, growth is computed from
# this value.
LEAST_SECONDS, LEAST_BYTES = 0.02, 4 << 20
# The seconds between two reads of the memory of a process, and the number of reads between two searches for children.
LOOK, SEARCH = 0.01, 10
# The last read is at least this share of the peak, unless the process started a larger process.
STALE = 0.95
# Ten times the size may cost at most this many times as much.
LINEAR = 12
# If the load exceeds the number of processors by more than this, the clock measures other processes. The measured
# process itself is a load of one.
SPARE_LOAD = 1
# The options that every command gets.
PLAIN = ("-input=false", "-no-color")


class Cost:
    """The cost of a command.

    `seconds` is None if the command did not end within the time and memory limits. `cpu` is the processor time of the
    command and its plugins in user mode: time in the kernel varies with the load of the machine. `peak` is the memory
    of the command's own process, and `plugins` that of the largest process that it started, or 0 if none is larger.
    Plugins are the same for every engine, and some use more memory with each call.
    """

    def __init__(self, seconds, peak, why="", cpu=0.0, plugins=0):
        self.seconds, self.peak, self.why, self.cpu, self.plugins = seconds, peak, why, cpu, plugins

    def __str__(self):
        if self.seconds is None:
            return f"{self.why:>20}"
        plugins = f" (plugins {self.plugins / 2**20:.0f} MB)" if self.plugins else ""
        return f"{self.seconds:9.3f} s {self.peak / 2**20:6.0f} MB{plugins}"


def median(costs):
    """The median of each number, or the first cost without an end if there is one."""
    for cost in costs:
        if cost.seconds is None:
            return cost
    middle = lambda number: statistics.median(number(cost) for cost in costs)  # noqa: E731
    return Cost(middle(lambda c: c.seconds), middle(lambda c: c.peak), cpu=middle(lambda c: c.cpu),
                plugins=middle(lambda c: c.plugins))


class Memory(threading.Thread):
    """Reads the memory of a process until the process ends. The system itself reports only the peak of the largest
    process among this process and its children."""

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
                # After the name, which may contain any character: the state, then the parent.
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self.pid:
                    return True
            except (OSError, IndexError, ValueError):
                continue
        return False

    def look(self):
        """Whether the process still runs."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return False
        peak = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        if peak:
            self.own = int(peak[0].split()[1]) << 10
        return bool(peak)

    def peaks(self, largest):
        """The peak of the process, and the peak of its largest child if that child is larger. `largest` is the peak
        that the system reports."""
        return (self.own, largest) if self.started and self.own < largest * STALE else (largest, 0)


def measure(arguments, folder, env, codes=(0,)):
    """Runs a command to its end."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            arguments, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, -1)))
        memory = Memory(process.pid)
        # The alarm kills the process. This ends the wait below.
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
    """The bounds that were checked."""

    def __init__(self):
        self.held, self.broken = 0, []

    def hold(self, what, held):
        if held:
            self.held += 1
        else:
            self.broken.append(what)

    def tell(self):
        """Prints the bounds that failed, and the totals."""
        for what in self.broken:
            print(f"FAIL {what}")
        print(f"{self.held} passed, {len(self.broken)} failed")


def linear(bounds, what, none, small, large, sizes=(1_000, 10_000)):
    """Compares t(large) - t(empty) with t(small) - t(empty), and memory likewise."""
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
    """Builds weft in the release profile, and returns its path."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                   cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "weft"


def peers():
    """The (name, path) of the other engines on PATH."""
    return [(name, path) for name in ("terraform", "tofu") if (path := shutil.which(name))]
