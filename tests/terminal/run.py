#!/usr/bin/env python3
"""What a user sees in a terminal: prompts, ^C at each prompt, narrow and wide windows, a window that changes its size, and
pipes.

    run.py [--bin-dir target/debug] [--only NAME] [--update]

Each script drives a real terminal (tmux). The screens that it compares are in `screens/NAME.txt`; `--update` writes them
again. Ids and times are replaced first. Prints one line for each script, and `N passed, N failed` at the end.
"""
import argparse
import difflib
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from stage import ROOT, Broken, Cloud, Stage, wait_until  # noqa: E402

# How long a text may take to appear on a screen, in seconds. The machine may be busy.
PATIENCE = 60
# How long a screen must stay the same before it is compared, in seconds.
STILL = 0.5
# Text that differs from run to run, with the placeholders that the screens have instead.
CHANGING = [
    (re.compile(r"run-[0-9a-f]{16}"), "run-ID"),
    (re.compile(r"rec-[0-9a-f]{8}"), "rec-ID"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, .*\."), "TIME."),
    (re.compile(r"\b\d+(\.\d)? ?(ms|s)\b(?! ago)"), "N s"),
    (re.compile(r"\b\d+ ?(s|seconds?) ago"), "N s ago"),
    (re.compile(r"alice began it on \S+,"), "alice began it on HOST,"),
]


class Terminal:
    """A terminal with a shell on a stage."""

    def __init__(self, stage, work, width=100, height=40):
        self.stage, self.screens = stage, []
        self.socket = stage.path / "tmux"
        env = {**stage.env, "USER": "alice", "LC_ALL": "C.UTF-8", "PATH": f"{stage.bin_dir}:{stage.env['PATH']}"}
        env.pop("TF_IN_AUTOMATION", None)
        startup = stage.path / "startup"
        settings = [f"export {name}={shlex.quote(value)}\n" for name, value in env.items() if name.isidentifier() and name != "TERM"]
        startup.write_text("".join(settings) + "PS1='$ '\n")
        shell = f"bash --noprofile --rcfile {shlex.quote(str(startup))}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, "-c", work, shell)
        stage.at_exit(self.close)
        self.wait("$")

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", str(self.socket), *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"tmux {words[0]}: {done.stderr}")
        return done.stdout

    def text(self):
        """What is on the screen."""
        return self.tmux("capture-pane", "-p").rstrip("\n")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def resize(self, width, height):
        self.tmux("resize-window", "-x", width, "-y", height)

    def wait(self, text):
        """Waits until the screen has this text."""
        try:
            wait_until(text, lambda: text in self.text(), PATIENCE, 0.05)
        except Broken:
            raise Broken(f"{text!r} did not appear:\n{self.text()}") from None

    def run(self, line):
        """Runs a command line on an empty screen, and then prints its exit code, which marks the end."""
        self.keys("C-l")
        self.tmux("clear-history")
        self.type(f"clear; {line}; echo \"exit code $?\"")

    def ended(self):
        """Waits for the end of the command line. Returns the exit code."""
        found = []

        def look():
            found[:] = re.findall(r"(?m)^exit code (\d+)$", self.text())
            return found

        try:
            wait_until("the end of the command", look, PATIENCE, 0.05)
        except Broken:
            raise Broken(f"the command does not end:\n{self.text()}") from None
        return int(found[0])

    def kill(self):
        """Kills the command with SIGKILL."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        subprocess.run(["pkill", "-KILL", "-P", shell], check=True)

    def keep(self, title):
        """Records the screen for comparison at the end, once the screen no longer changes."""
        before, text = None, self.text()
        while text != before:
            time.sleep(STILL)
            before, text = text, self.text()
        for pattern, word in CHANGING:
            text = pattern.sub(word, text)
        self.screens.append(f"== {title}\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n")


class Script:
    """What the scripts need: a stage, a folder with a configuration, and a terminal."""

    def __init__(self, stage):
        self.stage, self.work = stage, stage.path / "work"
        self.work.mkdir()
        self.terminal = None

    def write(self, name, text):
        (self.work / name).write_text(text)

    def weft(self, code, *arguments):
        return self.stage.must(code, *arguments, cwd=self.work)

    def open(self, width=100, height=40):
        self.terminal = Terminal(self.stage, self.work, width, height)
        return self.terminal


def check(value, expected, terminal):
    if value != expected:
        raise Broken(f"the exit code is {value}, expected {expected}:\n{terminal.text()}")


ONE = 'resource "terraform_data" "a" {\n  input = "one"\n}\n'


def approval(script):
    """The question before an apply: no, ^C, ^D and yes."""
    script.write("main.tf", ONE)
    script.weft(0, "init")
    t = script.open()
    for title, keys, code in (("no", ("n", "o", "Enter"), 1), ("^C", ("C-c",), 1), ("^D", ("C-d",), 1)):
        t.run("weft apply")
        t.wait("Enter a value:")
        if title == "no":
            t.keep("the question")
        t.keys(*keys)
        check(t.ended(), code, t)
        t.keep(f"after {title}")
    t.run("weft apply")
    t.wait("Enter a value:")
    t.type("yes")
    check(t.ended(), 0, t)
    t.keep("after yes")
    t.run("weft destroy")
    t.wait("Enter a value:")
    t.keep("the question before a destroy")
    t.keys("C-c")
    check(t.ended(), 1, t)


def variables(script):
    """Questions for variables without values, in order. The value of a sensitive variable is not shown."""
    script.write("main.tf", '''
variable "region" {
  description = "Where everything is."
}
variable "token" {
  type      = string
  sensitive = true
}
output "region" {
  value = var.region
}
''')
    script.weft(0, "init")
    t = script.open()
    t.run("weft plan")
    t.wait("Enter a value:")
    t.keep("the first question")
    t.type("north")
    t.wait("var.token")
    t.tmux("send-keys", "-l", "canary-text")
    t.keep("a secret is typed")
    t.keys("Enter")
    check(t.ended(), 0, t)
    t.keep("after the last answer")
    if "canary" in t.text():
        raise Broken(f"the secret is on the screen:\n{t.text()}")
    t.run("weft plan")
    t.wait("Enter a value:")
    t.keys("C-c")
    check(t.ended(), 1, t)
    t.keep("after ^C")


def widths(script):
    """The same plan and the same error in narrow and wide windows, and without colours in a pipe."""
    script.write("main.tf", ONE + f'''
resource "terraform_data" "long" {{
  input = "{'words and ' * 12}"
}}
''')
    script.weft(0, "init")
    t = script.open(50, 60)
    for width in (50, 100, 160):
        t.resize(width, 60)
        t.run("weft plan")
        check(t.ended(), 0, t)
        t.keep(f"a plan, {width} columns")
        t.run("weft apply -target=nothing.at.all")
        check(t.ended(), 1, t)
        t.keep(f"an error, {width} columns")
    t.run("weft plan | cat -v | grep -c '\\^\\['")
    t.ended()
    t.keep("lines with colours in a pipe")
    t.run("weft plan | head -n 2")
    check(t.ended(), 0, t)
    t.keep("a pipe that closes early")


CLOUD = '''
terraform {
  required_providers {
    cloud = { source = "weft.test/sim/cloud" }
  }
}
resource "cloud_dns_record" "r" {
  count  = 3
  name   = "r${count.index}"
  type   = "A"
  values = ["192.0.2.1"]
}
'''


def in_the_cloud(script, config):
    cloud = Cloud(script.stage, {"durability": "process", **config})
    script.stage.cli_config([script.stage.mirror()])
    script.write("main.tf", CLOUD)
    script.weft(0, "init")
    return cloud


def doors(script):
    """`apply` finds an unfinished run and asks about it. Then the user settles the doubts, one question after
    another."""
    hangs = {"type": "dns_record", "op": "create", "nth": [1, 2], "what": "hang", "when": "after"}
    cloud = in_the_cloud(script, {"faults": [hangs]})
    t = script.open(100, 70)
    t.run("weft apply -auto-approve -parallelism=1")
    wait_until("the first call", lambda: len(cloud.ledger()) == 1, PATIENCE)
    t.kill()
    check(t.ended(), 137, t)
    t.run("weft apply")
    t.wait("Enter a value:")
    t.keep("the door")
    t.keys("C-c")
    check(t.ended(), 1, t)
    t.keep("after ^C at the door")
    t.run("weft runs settle")
    t.wait("Enter a value:")
    t.keep("a doubt")
    t.keys("C-c")
    check(t.ended(), 1, t)
    t.keep("after ^C at the doubt")


def progress(script):
    """A long operation, a window that changes its size meanwhile, and ^C."""
    cloud = in_the_cloud(script, {"regions": {"*": {"latency_ms": 2500}}})
    t = script.open(100, 40)
    t.run("weft apply -auto-approve")
    wait_until("the calls", lambda: t.text().count("Creating...") == 3, PATIENCE)
    # After ^C, an operation whose call has not begun does not start. One second is enough for all three calls to begin.
    for width in (60, 140, 90):
        time.sleep(0.4)
        t.resize(width, 40)
    t.keys("C-c")
    check(t.ended(), 0, t)
    begun, effects = t.text().count("Creating..."), len(cloud.ledger())
    if begun != effects:
        raise Broken(f"{begun} calls had begun, and {effects} took effect:\n{t.text()}")
    for text in ("No new operations start.", "Creation complete"):
        if text not in t.text():
            raise Broken(f"{text!r} is missing:\n{t.text()}")


def console(script):
    """Expressions line by line: an answer, an error, ^C and ^D."""
    script.write("main.tf", ONE)
    script.weft(0, "init")
    t = script.open()
    t.run("weft console")
    t.wait(">")
    t.type("1 + 1")
    t.wait("2")
    t.type("nothing.here")
    t.wait("Reference to undeclared resource")
    t.type("[")
    t.type("1]")
    t.keep("answers")
    t.keys("C-d")
    t.ended()
    t.keep("after ^D")


def first_hour(script):
    """From a folder with a configuration to a plan, a crash, a resume and a settled doubt. Every command except the
    first was proposed by a message on the screen. At most twelve commands are needed."""
    hangs = {"type": "dns_record", "op": "create", "nth": [1], "what": "hang", "when": "after"}
    cloud = in_the_cloud(script, {"faults": [hangs], "regions": {"*": {"latency_ms": 300}}})
    shutil.rmtree(script.work / ".terraform")
    (script.work / ".terraform.lock.hcl").unlink()
    t = script.open(140, 200)
    said, commands = [], []

    def command(line, proposed, code=None, killed=None):
        if proposed not in " ".join(" ".join(said).split()):
            raise Broken(f"no message has proposed {proposed!r}:\n{t.text()}")
        commands.append(line)
        t.run(line)
        if killed:
            wait_until("the moment of the crash", killed, PATIENCE)
            t.kill()
        check(t.ended(), code, t)
        said.append(t.text())

    said.append("weft plan")
    command("weft plan", "weft plan", 1)
    command("weft init", "weft init", 0)
    command("weft plan", "weft plan", 0)
    command("weft plan -out=plan.weft", "-out option", 0)
    command("weft apply plan.weft", 'weft apply "plan.weft"', 137, killed=lambda: t.text().count("Creation complete") == 2)
    command("weft plan", "weft plan", 0)
    run = re.search(r"run-[0-9a-f]{16}", said[-1])[0]
    command(f"weft runs resume {run}", f"weft runs resume {run}", 3)
    resolve, address = re.search(rf"(weft runs resolve {run} '?(cloud_dns_record\.r\[\d\])'?) -adopt ID", said[-1]).groups()
    name = "r" + address[-2]
    number = next(thing["id"] for key, things in cloud.objects().items() for thing in things if thing["name"] == name)
    command(f"{resolve} -adopt {number}", f"{resolve} -adopt ID", 0)
    command(f"weft runs resume {run}", f"weft runs resume {run}", 0)
    command("weft plan -detailed-exitcode", "weft plan", 0)
    if len(commands) > 12:
        raise Broken(f"{len(commands)} commands were needed: {commands}")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", default=ROOT / "target" / "debug")
    a.add_argument("--only")
    a.add_argument("--update", action="store_true")
    o = a.parse_args()
    if shutil.which("tmux") is None:
        print("SKIPPED: tmux is not installed, so NOTHING WAS TESTED IN A TERMINAL")
        return
    passed = failed = 0
    for work in (approval, variables, widths, doors, progress, console, first_hour):
        name = work.__name__
        if o.only and o.only != name:
            continue
        file, problem = HERE / "screens" / f"{name}.txt", None
        with Stage(o.bin_dir, prefix="weft-terminal-") as stage:
            script = Script(stage)
            try:
                work(script)
                seen = "\n".join(script.terminal.screens)
                if o.update:
                    file.write_text(seen)
                wanted = file.read_text() if file.exists() else ""
                if seen != wanted:
                    problem = "".join(difflib.unified_diff(wanted.splitlines(True), seen.splitlines(True), str(file.name), "seen"))
            except Broken as broken:
                problem = str(broken)
        passed, failed = passed + (problem is None), failed + (problem is not None)
        print(f"ok {name}" if problem is None else f"FAIL {name}\n{problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
