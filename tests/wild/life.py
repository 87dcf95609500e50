"""The life of a configuration against a pretended AWS, and what of it is compared."""
import contextlib
import json
import re
import shutil
import subprocess
import sys

from difftest import comparable, differences, events_view, outputs_view, plan_view, state_view
from stage import Broken, answers, free_port, wait_until

# The ids that the cloud and the provider give, which are others in every life.
IDS = [
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b20\d{12,24}[0-9a-f]{8}\b"), "<unique>"),
    (re.compile(r"\b(A(?:RO|ID|GP|NP|IP|SI|KI)A)[A-Z0-9]{12,}\b"), r"\1<id>"),
    (re.compile(r"\b((?:[a-z]+-)+)[0-9a-f]{8,40}\b"), r"\1<id>"),
    (re.compile(r"\b([a-z]{2,}-)\d{8,10}\b"), r"\1<id>"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "<hex>"),
    (re.compile(r"\bZ[A-Z0-9]{12,}\b"), "<zone>"),
    (re.compile(r"\b\d{10,}\b"), "<number>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<moto>"),
]
# Of a pretended AWS and one machine: numbers that nobody chose.
VARYING = ("private_ip", "private_ips", "public_ip", "private_dns_name", "public_dns", "private_dns", "serial",
           "primary_network_interface_id", "version_id", "etag", "private", "timestamp", "host_id")


class Moto:
    """A moto_server, new for each life."""

    def __init__(self, place):
        if shutil.which("moto_server") is None:
            sys.exit("moto_server is not there (pip install 'moto[server]')")
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


def masked(value, folder):
    """The same without what varies from life to life."""
    if isinstance(value, dict):
        return {masked(key, folder): masked(part, folder) for key, part in value.items()
                if key not in VARYING or part is None}
    if isinstance(value, list):
        return [masked(part, folder) for part in value]
    if isinstance(value, str):
        if value[:1] in "{[" and value[-1:] in "}]":
            with contextlib.suppress(ValueError):
                return masked(json.loads(value), folder)
        value = value.replace(str(folder), "<folder>").replace("/tofu/", "/TOOL/").replace("/weft/", "/TOOL/")
        for pattern, word in IDS:
            value = pattern.sub(word, value)
    return value


def in_order(value):
    """The same with every list sorted: sets are in the order of ids, which are masked."""
    if isinstance(value, dict):
        return {key: in_order(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((in_order(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))
    return value


class Life:
    """plan, apply, plan, show, destroy."""

    def __init__(self, tool, folder, url):
        self.tool, self.folder = tool, folder
        self.env = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "pretended", "AWS_SECRET_ACCESS_KEY": "pretended",
                    "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-west-1", "AWS_MAX_ATTEMPTS": "2"}
        self.said, self.seconds = {}, 0.0

    def run(self, *arguments):
        code, out, err, seconds = self.tool.run(self.folder, *arguments, **self.env)
        self.seconds += seconds
        return code, out, err

    def step(self, name, *arguments):
        """A command with a stream of events."""
        command, *rest = arguments
        code, out, err = self.run(command, "-input=false", "-json", *rest)
        # Which ids were read or made is in the state.
        view = events_view(out.splitlines())
        for done in view.get("done", []):
            done.pop("id", None)
        self.said[name] = {"code": code, "events": view}
        return code

    def document(self, name, view, *arguments):
        code, out, _ = self.run(*arguments)
        try:
            # No state at all and a state of nothing are the same.
            self.said[name] = {"code": code, "what": view(json.loads(out or '{"version": 4}'))}
        except ValueError:
            self.said[name] = {"code": code, "text": out[:300]}

    def live(self):
        code = self.step("plan", "plan", "-out=first.plan", "-detailed-exitcode")
        if code != 1:
            self.document("planned", plan_view, "show", "-json", "first.plan")
            code = self.step("apply", "apply", "first.plan")
            self.document("state", state_view, "state", "pull")
            self.document("outputs", outputs_view, "output", "-json")
            self.document("shown", lambda shown: shown, "show", "-json")
            self.step("plan again", "plan", "-out=second.plan", "-detailed-exitcode")
            self.document("planned again", plan_view, "show", "-json", "second.plan")
            text = self.run("plan", "-input=false", "-no-color")[1]
            self.said["text again"] = re.findall(r"^(?:No changes|Plan:|Note:|Changes to Outputs).*", text, re.M)
            self.step("destroy", "destroy", "-auto-approve")
            self.document("left", state_view, "state", "pull")
        self.said = masked(json.loads(json.dumps(self.said)), self.folder)
        return self

    def differences(self, other):
        """What the other life does otherwise."""
        for name in self.said | other.said:
            mine, theirs = comparable(self.said.get(name)), comparable(other.said.get(name))
            if mine != theirs and (a := in_order(mine)) != (b := in_order(theirs)):
                yield from (f"{name}{found}" for found in differences(a, b))

    def __str__(self):
        codes = ", ".join(f"{name} {said['code']}" for name, said in self.said.items()
                          if isinstance(said, dict) and "events" in said)
        return f"{codes}; {self.seconds:.0f} s"
