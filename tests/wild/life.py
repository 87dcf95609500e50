"""The life of a configuration against a simulated AWS, and the parts of it that are compared."""
import contextlib
import json
import re
import shutil
import subprocess
import sys

from difftest import comparable, differences, events_view, outputs_view, plan_view, state_view
from stage import Broken, answers, free_port, wait_until

# The ids that the cloud and the provider generate. They differ in every life.
IDS = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|(?: ?[+-]\d\d:?\d\d)(?: UTC)?)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"20\d{12,24}[0-9a-f]{8}\b"), "<unique>"),
    (re.compile(r"\b(A(?:RO|ID|GP|NP|IP|SI|KI)A)[A-Z0-9]{12,}\b"), r"\1<id>"),
    (re.compile(r"\b((?:[a-z]+-)+)[0-9a-f]{8,40}\b"), r"\1<id>"),
    (re.compile(r"\b([a-z]{2,}-)\d{8,10}\b"), r"\1<id>"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "<hex>"),
    (re.compile(r"(?<![A-Z0-9])[A-Z0-9]{22}(?![A-Z0-9])|\bZ[A-Z0-9]{12,}\b"), "<zone>"),
    (re.compile(r"\bRequestID: \w+"), "RequestID: <id>"),
    # OpenTofu prints this text after the old value and after the new value.
    (re.compile(r" # forces replacement(?= -> )"), ""),
    (re.compile(r"\b\d{8,}\b"), "<number>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<moto>"),
]
# Attributes with values that the simulated AWS or the machine generates.
VARYING = ("private_ip", "private_ips", "public_ip", "private_dns_name", "public_dns", "private_dns", "serial",
           "primary_network_interface_id", "version_id", "etag", "private", "timestamp", "host_id",
           # Fields that Weft adds to `show -json`.
           "provider_instance")


class Moto:
    """A moto_server, started for each life."""

    def __init__(self, place):
        if shutil.which("moto_server") is None:
            sys.exit("moto_server is not installed (pip install 'moto[server]')")
        self.place = place

    @contextlib.contextmanager
    def started(self):
        port = free_port()
        with open(self.place / "moto.log", "ab") as log:
            server = subprocess.Popen(["moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
        try:
            wait_until("the start of moto_server", lambda: answers(port) or server.poll() is not None, seconds=120)
            if server.poll() is not None:
                raise Broken("moto_server did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


def mapped(value, change):
    """The same value with a function applied to every string, including keys."""
    if isinstance(value, dict):
        return {mapped(key, change): mapped(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [mapped(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


# Attributes whose values the cloud generates, in any resource.
MADE_UP = ("unique_id", "policy_id", "secret", "ses_smtp_password_v4", "grant_id", "grant_token")
# Attributes whose values the random provider generates.
RANDOM = ("id", "result", "hex", "dec", "b64_std", "b64_url")


def named(said, folder):
    """The output of a life, with placeholders for its folder and for each generated value."""
    words = [(str(folder), "<folder>"), ("/tofu/", "/TOOL/"), ("/weft/", "/TOOL/")]
    for resource in (said.get("state", {}).get("what") or {}).get("resources", []):
        keys = RANDOM if resource.get("type", "").startswith("random_") else MADE_UP
        for instance in resource.get("instances", []):
            attributes = instance.get("attributes") or {}
            words += [(attributes[key], f"<{key}>") for key in keys
                      if isinstance(attributes.get(key), str) and len(attributes[key]) > 4]
    words.sort(key=lambda pair: -len(pair[0]))

    def change(text):
        for part, word in words:
            text = text.replace(part, word)
        return text
    return mapped(said, change)


def masked(value):
    """A value without the parts that vary from life to life."""
    if isinstance(value, dict):
        return {masked(key): masked(part) for key, part in value.items() if key not in VARYING or part is None}
    if isinstance(value, list):
        return [masked(part) for part in value]
    if isinstance(value, str):
        if value[:1] in "{[" and value[-1:] in "}]":
            with contextlib.suppress(ValueError):
                return masked(json.loads(value))
        for pattern, word in IDS:
            value = pattern.sub(word, value)
    return value


def in_order(value):
    """A value with every list sorted: sets are ordered by ids, which are masked."""
    if isinstance(value, dict):
        return {key: in_order(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((in_order(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))
    return value


def without_reads(step):
    """A step without the data that it read."""
    events = dict((step or {}).get("events") or {})
    if "done" in events:
        events["done"] = [done for done in events["done"] if done.get("action") != "read"]
    return {**step, "events": events} if step else step


def without_drift(text):
    """A text without the note about changes outside of the program, because the programs write different notes. The
    JSON documents have these changes too."""
    lines = list((text or {}).get("text") or [])
    if lines and lines[0].startswith("Note: Objects have changed outside"):
        end = next((at for at, line in enumerate(lines) if line.startswith("\u2500\u2500")), -1)
        return {**text, "text": lines[end + 1:]}
    return text


class Life:
    """Runs plan, apply, plan, show, destroy."""

    def __init__(self, tool, folder, url="", said=None, seconds=0.0):
        self.tool, self.folder = tool, folder
        self.env = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "pretended", "AWS_SECRET_ACCESS_KEY": "pretended",
                    "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-west-1", "AWS_MAX_ATTEMPTS": "2"}
        self.said, self.seconds = said or {}, seconds

    def run(self, *arguments):
        code, out, err, seconds = self.tool.run(self.folder, *arguments, **self.env)
        self.seconds += seconds
        return code, out, err

    def step(self, name, *arguments):
        """Runs a command with a stream of events."""
        command, *rest = arguments
        code, out, err = self.run(command, "-input=false", "-json", *rest)
        # The state contains the ids that were read or created.
        view = events_view(out.splitlines())
        for done in view.get("done", []):
            done.pop("id", None)
        self.said[name] = {"code": code, "events": view}
        return code

    @staticmethod
    def state(document):
        """The compared part of a state. After a failed apply, OpenTofu keeps resources without instances."""
        found = state_view(document)
        if "resources" in found:
            found["resources"] = [resource for resource in found["resources"] if resource.get("instances")]
        return found

    def document(self, name, view, *arguments):
        code, out, _ = self.run(*arguments)
        try:
            # A missing state and an empty state count as equal.
            self.said[name] = {"code": code, "what": view(json.loads(out or '{"version": 4}'))}
        except ValueError:
            self.said[name] = {"code": code, "text": out[:300]}

    def text(self, name, *arguments):
        """Records the text output of a command without progress. The events of other steps contain the progress."""
        code, out, _ = self.run(*arguments)
        lines = [line for line in re.sub(r"\n{2,}", "\n", out).splitlines()
                 if not re.search(r": (?:Refreshing state|Reading|Still reading|Read complete|Opening|Closing)", line)]
        self.said[name] = {"code": code, "text": lines}

    def live(self):
        code = self.step("plan", "plan", "-out=first.plan", "-detailed-exitcode")
        if code != 1:
            self.document("planned", plan_view, "show", "-json", "first.plan")
            self.text("text", "show", "-no-color", "first.plan")
            code = self.step("apply", "apply", "first.plan")
            self.document("state", self.state, "state", "pull")
            self.document("outputs", outputs_view, "output", "-json")
            self.document("shown", lambda shown: shown, "show", "-json")
            self.step("plan again", "plan", "-out=second.plan", "-detailed-exitcode")
            self.document("planned again", plan_view, "show", "-json", "second.plan")
            self.text("text again", "plan", "-input=false", "-no-color")
            self.text("text of destroy", "plan", "-input=false", "-no-color", "-destroy")
            self.step("destroy", "destroy", "-auto-approve")
            self.document("left", self.state, "state", "pull")
        self.said = named(json.loads(json.dumps(self.said)), self.folder)
        return self

    def differences(self, other):
        """The differences from the other life."""
        ours, others = (masked(named(life.said, life.folder)) for life in (self, other))
        for name in ours | others:
            mine, theirs = comparable(ours.get(name)), comparable(others.get(name))
            if name == "text again":
                mine, theirs = without_drift(mine), without_drift(theirs)
            if name == "destroy":
                # OpenTofu first makes a whole plan, in which it defers data sources as usual. Weft uses the existing
                # objects.
                mine, theirs = without_reads(mine), without_reads(theirs)
            if mine != theirs and (a := in_order(mine)) != (b := in_order(theirs)):
                yield from (f"{name}{found}" for found in differences(a, b))

    def __str__(self):
        codes = ", ".join(f"{name} {said['code']}" for name, said in self.said.items()
                          if isinstance(said, dict) and "events" in said)
        return f"{codes}; {self.seconds:.0f} s"
