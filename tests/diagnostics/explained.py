#!/usr/bin/env python3
"""Checks the examples of `weft explain`: a wrong example reports its code, and the right one does not.

    explained.py --bin weft --plugins MIRROR              all entries
    explained.py --bin weft --plugins MIRROR CODE...      entries with these codes
    explained.py --bin weft --plugins MIRROR -v CODE...   also prints what weft printed

The entries are in graph-format/src/explain/*.txt. The lines of an example determine how it is run:

- `weft ...` or `$ ...`: a command. All commands run in the same directory, one after the other.
- `# NAME.EXT` alone: the following lines are this file. `# ~/.tofurc` is the CLI configuration.
- Other lines are a configuration, blocks of a test file, blocks inside a terraform block, arguments of a resource, or
  one expression each. The first word determines which.

Without commands, init, validate, plan and apply run until the code is reported. The right example must succeed in the
same commands, and in validate and plan at least. Examples with commands only run in a directory with the configuration
BASE, which is initialized and applied.

Expressions and arguments may use variables and resources of the type terraform_data that they do not declare. Resources
of AWS are replaced by those of the lab providers, see STAND_INS.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = ROOT / "graph-format/src/explain"
# The maximum time of a command.
SECONDS = 30
# The maximum time of a right example that asks a service, which does not respond. Wrong settings are reported before.
SECONDS_OF_SERVICE = 0.4

# The first words of blocks in a configuration, in a test file, in a terraform block and in its encryption block.
IN_CONFIGURATION = set("terraform provider variable locals output resource data ephemeral module import moved removed "
                       "check language".split())
IN_TESTS = set("run mock_provider override_resource override_data override_module variables".split())
IN_TERRAFORM = set("backend cloud encryption required_providers provider_meta".split())
IN_ENCRYPTION = set("key_provider method state plan".split())

# What stands for names of the AWS provider, which tests cannot use: names of the lab providers of tests/conformance.
STAND_INS = {
    "hashicorp/aws": "weft.test/lab/lab", "aws": "lab", "hashicorp/google": "weft.test/lab/oldlab", "google": "oldlab",
    "aws_vpc": "lab_thing", "cidr_block": "name", "vpc_id": "id",
    "aws_subnet": "lab_widget", "subnet_name": "title",
    "aws_instance": "oldlab_box", "ami": "name", "tags": "labels",
    "example_token": "lab_token", "example_link": "lab_link",
    "aws_kms": "aws_kms",
    "root_block_device": "lid", "volume_type": "color", "ebs_block_device": "item", "device_name": "name",
}
PROVIDERS = """terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
"""

# The configuration for commands. The directory has its state, and the plan file "old.plan", which was made before.
BASE = """variable "size" {
  default = 1
}
resource "terraform_data" "web" {
  input = var.size
}
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
output "size" {
  value = terraform_data.web.output
}
output "sizes" {
  value = [1, 2]
}
"""

# A configuration without any of these words needs no `weft init`.
NEEDS_INIT = re.compile(r"\b(old)?lab(_|\b)|\b(module|backend|cloud|encryption|provider|required_providers)\b")

# The codes whose examples are not run, by reason.
NOT_RUN = {
    "This version reports another code. The text is for users of earlier versions.":
        "W0078 W0079 W0341 W0437 W0647 W0715 W0803 W0810 W0820 W0855 W0860 W0862 W0874 W0902 W0903 W0909 W0910 W0911 "
        "W0912 W0926",
    "Only a huge input exceeds the limit.": "W0003 W0004 W0077 W0081 W0129 W0728 W1523",
    "Only a defect of Weft or of a provider causes it.":
        "W0205 W0227 W0340 W0436 W0726 W0732 W0733 W0734 W0735 W0742 W0743 W0744 W0745 W0746 W0753 W0754 W0755 W0756 "
        "W0757 W0758 W0759 W0760 W0761 W0762 W0763 W0764 W0767 W1021 W1023 W1024 W1032 W1245 W1251",
    "The lab providers do not have what it needs.":
        "W0119 W0120 W0138 W0237 W0327 W0331 W0332 W0334 W0630 W0633 W0721 W0722",
    "It needs a terminal, a signal, or a file that root cannot read or write.":
        "W0727 W0814 W0853 W0866 W0868 W0922 W0939 W0940 W0941 W0943 W0944 W0945 W1005 W1020 W1026 W1030 W1046 W1047 "
        "W1217 W1220 W1424 W1427 W1428 W1430 W1433 W1436 W1620",
    "It needs another machine, or a build without a feature.": "W0526 W0537 W0538 W0849 W0880",
    "It needs a registry, or a package from a server.":
        "W1015 W1028 W1029 W1034 W1036 W1037 W1038 W1039 W1040 W1041 W1044 W1048 W1049 W1050 W1052",
    "It needs a state that another program has written or replaced.":
        "W0738 W0750 W0751 W0804 W0805 W0806 W0807 W0808 W0811 W0813 W0815 W0816 W0826 W0837 W0838 W0845 W0890 "
        "W0892 W0896 W0899 W1282 W1283 W1285 W1287 W1292 W1293 W1294 W1298",
    "It needs an unfinished run, or a coordinator with workers.":
        "W0765 W0812 W0872 W0891 W1101 W1102 W1103 W1104 W1105 W1108 W1109 W1110 W1112 W1113 W1114 W1119 W1125 W1126 "
        "W1127 W1128 W1129 W1130 W1131 W1132 W1133 W1134 W1284 W1295 W1296 W1297 W1299 W1464 W1465 W1475 W1476 W1525 "
        "W1570 W1571 W1572 W1573 W1612 W1613 W1624 W1640",
    "It needs a service of a cloud, or a token for it.":
        "W1384 W1401 W1402 W1403 W1404 W1407 W1411 W1413 W1414 W1415 W1416 W1418 W1419 W1420 W1421 W1423 W1426 W1429 "
        "W1431 W1432 W1435 W1489 W1490 W1491",
}

CODE = re.compile(r"(W\d{4}) (.+)")
PART = re.compile(r"# (~?[\w./-]+\.\w+|~/\.aws/config)")
# The beginnings of the names of variables with settings and credentials.
SETTINGS = ("TF_", "WEFT_", "LAB_", "AWS_", "ARM_", "AZURE_", "GOOGLE_", "CONSUL_", "KUBE")
# A color of the output.
COLOR = re.compile(r"\x1b\[[0-9;]*m")


class Entry:
    """An entry of a text: its code, its summary and its two examples."""

    def __init__(self, code, summary):
        self.code, self.wrong, self.right, self.seconds = code, [], [], 0
        pattern = ".*".join(map(re.escape, summary.split("*")))
        self.reported = re.compile(rf'\[{code}\]|"code":"{code}"|(Error|Warning): {pattern}$', re.MULTILINE)

    def is_in(self, output):
        """Whether the output of a command has a problem of this kind. Some warnings are printed without their code."""
        return self.reported.search(COLOR.sub("", output)) is not None


def entries():
    """All entries, in the order of the files."""
    found = []
    for path in sorted(ENTRIES.glob("*.txt")):
        into = None
        for line in path.read_text().splitlines():
            if header := CODE.fullmatch(line):
                found.append(Entry(header[1], header[2]))
                into = found[-1].wrong
            elif line == "  right":
                into = found[-1].right
            elif line.startswith("    "):
                into.append(line[4:])
    return found


class Example:
    """An example: its files, its commands, and whether it is a configuration that must be valid once it is right."""

    def __init__(self, lines):
        self.files, self.commands, unnamed = {}, [], []
        into = unnamed
        for line in lines:
            if part := PART.fullmatch(line):
                into = self.files.setdefault(part[1], [])
            elif line.startswith(("weft ", "$ ")):
                self.commands.append(stood_in(line.removeprefix("$ ")))
                into = unnamed
            else:
                into.append(line)
        self.files = {name: stood_in("\n".join(text)) + "\n" for name, text in self.files.items()}
        if "".join(unnamed).strip():
            name, text = placed(unnamed)
            self.files[name] = stood_in(text)
        # Without files, the commands run in the prepared directory.
        self.in_base = not self.files
        for folder in {str(Path(name).parent) for name in self.files if name.endswith((".tf", ".tftest.hcl"))}:
            here = "".join(text for name, text in self.files.items() if str(Path(name).parent) == folder)
            if re.search(r"\b(old)?lab\b|\b(old)?lab_", here) and "required_providers" not in here:
                self.files[f"{folder}/providers.tf"] = PROVIDERS
        every = "".join(self.files.values()) + "".join(self.commands)
        self.is_test = any(name.endswith(".tftest.hcl") for name in self.files)
        self.needs_init = bool(NEEDS_INIT.search(every))
        # Its service cannot be reached.
        self.is_remote = bool(re.search(r'\b(backend "(?!local)|cloud \{|redis://)', every))

    def stages(self):
        """The commands to run, in order."""
        if self.commands:
            return self.commands
        if self.is_test:
            return ["weft init", "weft test"]
        init = ["weft init"] if self.needs_init else []
        return [*init, "weft validate", "weft plan", "weft apply -auto-approve"]


def stand_in(word):
    """The name that stands for a name. Other resources of AWS are resources of the lab provider of the same name."""
    return STAND_INS.get(word[0], re.sub("^aws_", "lab_", word[0]))


def stood_in(text):
    """The text with names of the lab providers."""
    return re.sub(r"hashicorp/(aws|google)|\b[a-z_]+\b", stand_in, text)


def placed(lines):
    """The file for the lines of an example without a file name, and its text."""
    code = [line for line in lines if line.strip() and not line.startswith("#")]
    text = "\n".join(lines) + "\n"
    word = re.match(r"(\w+(?![\w.:]))?", code[0])[0]
    if word in IN_CONFIGURATION:
        return "main.tf", text
    if word in IN_TESTS:
        return "main.tftest.hcl", text
    if word in IN_TERRAFORM:
        return "main.tf", declared(f"terraform {{\n{text}}}\n")
    if word in IN_ENCRYPTION:
        return "main.tf", declared(f"terraform {{\nencryption {{\n{text}}}\n}}\n")
    if re.match(r'[A-Za-z_]\w*\s*(=(?![=>])|("[^"]*"\s*)*\{)', code[0]):
        return "main.tf", declared(f'resource "terraform_data" "example" {{\n{text}}}\n')
    outputs = (f'output "example{at}" {{\n  value = {line}\n}}\n' for at, line in enumerate(code))
    return "main.tf", declared("".join(outputs))


def declared(text):
    """The text with declarations of the variables and the resources that it uses. `many` has count."""
    for name in sorted(set(re.findall(r"(?<![.\w])var\.(\w+)", text))):
        text += f'variable "{name}" {{}}\n'
    for name in sorted(set(re.findall(r"(?<![.\w])terraform_data\.(\w+)", text)) - {"example"}):
        text += f'resource "terraform_data" "{name}" {{{" count = 2 " if name == "many" else ""}}}\n'
    return text


class Runner:
    """Runs examples with one binary, each in a directory of its own."""

    def __init__(self, binary, plugins, work):
        self.work = Path(work)
        bin_folder = self.work / "bin"
        bin_folder.mkdir()
        (bin_folder / "weft").symlink_to(Path(binary).resolve())
        self.mirror = self.work / "mirror.tfrc"
        self.mirror.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{plugins.resolve()}"\n'
                               "  }\n}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        self.environment = kept | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "CHECKPOINT_DISABLE": "1",
                                   "AWS_EC2_METADATA_DISABLED": "true"}
        self.base = self.work / "base"
        (self.base / "main").mkdir(parents=True)
        (self.base / "main/main.tf").write_text(stood_in(BASE))
        (self.base / "main/providers.tf").write_text(PROVIDERS)
        for command in ["weft init", "weft plan -out=old.plan", "weft apply -auto-approve"]:
            status, output = self.command(command, self.base)
            if status != 0:
                sys.exit(f"the directory for commands cannot be prepared: {command}\n{output}")

    def command(self, command, home, seconds=SECONDS):
        """The exit status of a command and its output."""
        own = home / ".tofurc"
        environment = self.environment | {"HOME": str(home), "LAB_STORE": str(home / "store")}
        if not own.exists():
            environment["TF_CLI_CONFIG_FILE"] = str(self.mirror)
        try:
            done = subprocess.run(["bash", "-c", command], cwd=home / "main", env=environment, timeout=seconds,
                                  text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as error:
            return 124, f"no end after {seconds} s: {(error.stdout or b'').decode()}"
        return done.returncode, done.stdout

    def directory(self, name, example):
        """A new home directory, whose directory `main` has the files of an example."""
        home = self.work / name
        if example.in_base:
            shutil.copytree(self.base, home, symlinks=True)
        (home / "main").mkdir(parents=True, exist_ok=True)
        for file, text in example.files.items():
            target = home / file.removeprefix("~/") if file.startswith("~/") else home / "main" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return home

    def wrong(self, entry):
        """What is wrong about the wrong example, the last command that was needed, and what was printed."""
        example = Example(entry.wrong)
        home = self.directory(f"{entry.code}-wrong", example)
        printed = ""
        for at, command in enumerate(example.stages()):
            status, output = self.command(command, home)
            printed += f"$ {command}\n{output}"
            if entry.is_in(output):
                return None, at, printed
            # Commands of the example may fail in order to show what follows.
            if status != 0 and not example.commands and command != "weft init":
                break
        return "the wrong example does not report it", 0, printed

    def right(self, entry, last):
        """What is wrong about the right example, and what was printed."""
        example = Example(entry.right)
        home = self.directory(f"{entry.code}-right", example)
        printed = ""
        stages = example.stages()
        if not example.commands:
            stages = stages[:max(last, stages.index("weft plan") if "weft plan" in stages else 0) + 1]
        for command in stages:
            status, output = self.command(command, home, SECONDS_OF_SERVICE if example.is_remote else SECONDS)
            printed += f"$ {command}\n{output}"
            if entry.is_in(output):
                return "the right example reports it", printed
            # Variables that the example does not declare have no value.
            if status != 0 and (example.is_remote or "No value for required variable" in output):
                break
            if status != 0 and not example.commands:
                return f"the right example fails in {command}", printed
        return None, printed

    def one(self, entry):
        """What is wrong about each example of an entry, or None, and what was printed."""
        if not entry.wrong or not entry.right:
            return [("an example is missing", "")]
        start = time.monotonic()
        fault, last, printed = self.wrong(entry)
        results = [(fault, printed), self.right(entry, last)]
        entry.seconds = time.monotonic() - start
        return results


def extract(printed):
    """The commands, and the summaries in what was printed, once each."""
    lines = [line for line in printed.splitlines() if line.startswith("$ ") or ": " in line]
    return list(dict.fromkeys(line for line in lines if re.match(r"\$ |(│ )?(Error|Warning): ", line)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("codes", nargs="*")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--plugins", required=True, type=Path, help="mirror with the lab providers")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--slow", type=float, help="also names entries that take more than this number of seconds")
    options = parser.parse_args()
    skipped = {code for codes in NOT_RUN.values() for code in codes.split()}
    chosen = [entry for entry in entries() if not options.codes or entry.code in options.codes]
    left = [entry for entry in chosen if entry.code in skipped and not options.codes]
    chosen = [entry for entry in chosen if entry not in left]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="explained-") as work:
        runner = Runner(options.bin, options.plugins, work)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for entry, results in zip(chosen, pool.map(runner.one, chosen)):
                if options.slow and entry.seconds > options.slow:
                    print(f"{entry.code} took {entry.seconds:.1f} s")
                failed += any(fault for fault, _ in results)
                for fault, printed in results:
                    if fault:
                        print(f"FAIL {entry.code}: {fault}")
                    if fault or options.verbose:
                        lines = printed.splitlines() if options.verbose else extract(printed)
                        print("".join(f"   | {line}\n" for line in lines), end="")
    print(f"{len(chosen) - failed} passed, {failed} failed, {len(left)} not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
