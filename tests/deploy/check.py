"""Checks the files of deploy/ without running them: tests/deploy/check.py --bin target/debug/weft

Manifests, the compose file and pipelines match their schemas and these rules. No container runs as root or can write to
its root file system. Each container has limits, probes or a reason for their absence, and a network policy. Every
image, Secret and ConfigMap that is named exists. Every command line and variable of weft exists in this weft. systemd
checks its units.

Needs PyYAML, kubernetes-validate and check-jsonschema, which scripts/test installs into target/deploy-tools. A check
whose tool is missing is skipped, and a line says so.
"""
import argparse
import copy
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

import cert_manager

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OVERLAYS = ("backend", "redis", "backend-cert-manager")
# The exposure that `systemd-analyze security` computes, times ten, above which a unit fails. 100 is the worst.
EXPOSURE = 15
# The settings that Redis must have (state/src/redis/problems.rs).
REDIS = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "save": '""'}
# Variables of weft that no help text names.
VARIABLES = {"WEFT_LOG", "WEFT_TOKEN", "WEFT_TOKEN_FILE", "WEFT_KEEP_RUNS_DAYS", "WEFT_REDIS_CA_FILE", "WEFT_REDIS_CERT_FILE",
             "WEFT_REDIS_KEY_FILE", "WEFT_REDIS_SERVER_NAME", "WEFT_REDIS_PASSWORD", "WEFT_REDIS_PASSWORD_FILE",
             "WEFT_REDIS_SENTINEL_PASSWORD", "WEFT_REDIS_SENTINEL_PASSWORD_FILE", "WEFT_REQUIRE_SIGNATURE"}
# Options that weft accepts and does not list.
UNLISTED = {"var", "var-file"}
# Variables that only the files themselves use.
OWN = {"WEFT", "WEFT_UID", "WEFT_GID", "WEFT_IMAGE", "WEFT_STATE", "WEFT_CONFIGURATION", "WEFT_OPTIONS", "WEFT_URL", "WEFT_SHA256",
       "WEFT_CA", "WEFT_COORDINATOR_ADDRESS", "WEFT_SIGNERS", "WEFT_SIGNING_KEY"}
# Secrets that a user makes by hand. References to them are optional.
BY_HAND = {"weft-coordinator-env", "weft-worker-env"}
# What the binary may need from the image: the C library and the runtime of the compiler (gcr.io/distroless/cc).
LIBRARIES = ("linux-vdso", "libgcc_s", "libm.", "libc.", "libpthread", "libdl", "librt", "ld-linux")


class Skipped(Exception):
    """A tool is missing."""


# --- rules for Kubernetes ---------------------------------------------------------------------------------------------
def pod_of(thing):
    return thing.get("spec", {}).get("template", {}) if thing["kind"] in ("Deployment", "StatefulSet", "DaemonSet", "Job") else None


def containers_of(pod):
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def selects(selector, labels):
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())


def cluster_problems(things, secrets):
    """What is wrong with the manifests of an overlay. `secrets` are the Secrets that exist beside them: name to keys."""
    found = []
    named = {(thing["kind"], thing["metadata"]["name"]): thing for thing in things}
    secrets = dict(secrets)
    for thing in things:
        if thing["kind"] == "Certificate":
            secrets[thing["spec"]["secretName"]] = {"ca.crt", "tls.crt", "tls.key"}
    for thing in things:
        where = f"{thing['kind']} {thing['metadata']['name']}"
        if thing["kind"] not in ("Namespace",) and thing["metadata"].get("namespace") != "weft":
            found.append(f"{where}: is not in the namespace weft")
        if thing["kind"] == "HorizontalPodAutoscaler":
            target = thing["spec"]["scaleTargetRef"]
            workload = named.get((target["kind"], target["name"]))
            if workload is None:
                found.append(f"{where}: there is no {target['kind']} {target['name']}")
            elif "replicas" in workload["spec"]:
                found.append(f"{where}: its target fixes the number of replicas")
        if thing["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            selector = thing["spec"].get("selector", thing["spec"].get("podSelector"))
            selector = selector if thing["kind"] != "Service" else {"matchLabels": selector}
            if not any(selects(selector, pod_of(other)["metadata"]["labels"]) for other in things if pod_of(other)):
                found.append(f"{where}: selects nothing")
        if thing["kind"] == "Certificate":
            issuer = thing["spec"]["issuerRef"]
            if (issuer["kind"], issuer["name"]) not in named:
                found.append(f"{where}: there is no {issuer['kind']} {issuer['name']}")
            if not thing["spec"].get("isCA"):
                roles = [uri for uri in thing["spec"].get("uris", []) if uri.startswith("spiffe://")]
                if len(roles) != 1:
                    found.append(f"{where}: needs exactly one SPIFFE name")
        if thing["kind"] == "Issuer" and "ca" in thing["spec"] and thing["spec"]["ca"]["secretName"] not in secrets:
            found.append(f"{where}: there is no Secret {thing['spec']['ca']['secretName']}")
        if pod_of(thing):
            found += [f"{where}: {problem}" for problem in pod_problems(pod_of(thing), things, named, secrets)]
    policies = [thing for thing in things if thing["kind"] == "NetworkPolicy"]
    if not any(policy["spec"]["podSelector"] == {} and set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
               and "ingress" not in policy["spec"] and "egress" not in policy["spec"] for policy in policies):
        found.append("no policy denies everything else")
    if named.get(("Namespace", "weft"), {}).get("metadata", {}).get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
        found.append("the namespace does not enforce the restricted standard")
    return found


def pod_problems(pod, things, named, secrets):
    spec, labels = pod["spec"], pod["metadata"]["labels"]
    found = []
    context = spec.get("securityContext", {})
    if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
        found.append("may run as root")
    if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        found.append("has no seccomp profile")
    if spec.get("automountServiceAccountToken") is not False:
        found.append("gets a token for the API")
    if ("ServiceAccount", spec.get("serviceAccountName")) not in named:
        found.append(f"there is no ServiceAccount {spec.get('serviceAccountName')}")
    for wanted in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(wanted):
            found.append(f"has {wanted}")
    policies = [thing for thing in things if thing["kind"] == "NetworkPolicy" and thing["spec"]["podSelector"]]
    if not any(selects(policy["spec"]["podSelector"], labels) for policy in policies):
        found.append("has no network policy")
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    workload = next(thing for thing in things if pod_of(thing) is pod)
    volumes.update({claim["metadata"]["name"]: claim for claim in workload["spec"].get("volumeClaimTemplates", [])})
    for volume in volumes.values():
        if "emptyDir" in volume and not volume["emptyDir"].get("sizeLimit"):
            found.append(f"the volume {volume['name']} has no limit")
        if "secret" in volume and volume["secret"]["secretName"] not in secrets:
            found.append(f"there is no Secret {volume['secret']['secretName']}")
        if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in named:
            found.append(f"there is no ConfigMap {volume['configMap']['name']}")
    for container in containers_of(pod):
        found += [f"container {container['name']}: {problem}"
                  for problem in container_problems(container, pod, volumes, named, secrets)]
    return found


def container_problems(container, pod, volumes, named, secrets):
    found = []
    context = container.get("securityContext", {})
    if context.get("readOnlyRootFilesystem") is not True:
        found.append("can write to its root file system")
    if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
        found.append("can get privileges")
    if context.get("capabilities", {}).get("drop") != ["ALL"] or context.get("capabilities", {}).get("add"):
        found.append("has capabilities")
    if context.get("runAsUser") == 0:
        found.append("runs as root")
    for kind in ("requests", "limits"):
        if not {"cpu", "memory"} <= set(container.get("resources", {}).get(kind, {})):
            found.append(f"has no {kind} of resources")
    notes = pod["metadata"].get("annotations", {})
    probes = {probe for probe in ("readinessProbe", "livenessProbe", "startupProbe") if probe in container}
    if not probes and "weft.dev/no-probes" not in notes:
        found.append("has no probes, and no reason for that")
    if container.get("ports") and "readinessProbe" not in probes:
        found.append("listens without a readiness probe")
    if container.get("ports") and "livenessProbe" not in probes and "weft.dev/no-liveness" not in notes:
        found.append("listens without a liveness probe, and no reason for that")
    tag = container["image"].rsplit("/", 1)[-1].partition(":")[2]
    if not tag or tag == "latest":
        found.append(f"the image {container['image']} has no version")
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            found.append(f"there is no volume {mount['name']}")
    names = {variable["name"] for variable in container.get("env", [])}
    for variable in container.get("env", []):
        source = variable.get("valueFrom", {})
        if "configMapKeyRef" in source:
            reference = source["configMapKeyRef"]
            content = named.get(("ConfigMap", reference["name"]), {}).get("data", {})
            if reference["key"] not in content:
                found.append(f"there is no {reference['key']} in ConfigMap {reference['name']}")
        if "secretKeyRef" in source and source["secretKeyRef"]["key"] not in secrets.get(source["secretKeyRef"]["name"], ()):
            found.append(f"there is no {source['secretKeyRef']['key']} in Secret {source['secretKeyRef']['name']}")
        if "fieldRef" in source:
            label = re.match(r"metadata\.labels\['(.*)'\]", source["fieldRef"]["fieldPath"])
            if label and label[1] not in pod["metadata"]["labels"]:
                found.append(f"the pod has no label {label[1]}")
    for source in container.get("envFrom", []):
        reference = source.get("secretRef", source.get("configMapRef"))
        if not (reference.get("optional") and reference["name"] in BY_HAND):
            found.append(f"the Secret {reference['name']} must exist before")
    for argument in container.get("args", []):
        for name in re.findall(r"\$\((\w+)\)", argument):
            if name not in names:
                found.append(f"there is no variable {name}")
    mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
    for text in [variable.get("value", "") for variable in container.get("env", [])] + [container.get("workingDir", "")]:
        if text.startswith("/") and not any(text == mount or text.startswith(mount + "/") for mount in mounts):
            found.append(f"{text} is not mounted")
    tls = next((volumes[mount["name"]] for mount in container.get("volumeMounts", [])
                if "secret" in volumes.get(mount["name"], {})), None)
    for variable in container.get("env", []):
        if variable["name"].startswith("WEFT_TLS_") and tls:
            key = variable["value"].rsplit("/", 1)[-1]
            if key not in secrets.get(tls["secret"]["secretName"], ()):
                found.append(f"there is no {key} in Secret {tls['secret']['secretName']}")
    return found


# --- rules for compose ------------------------------------------------------------------------------------------------
def compose_problems(file):
    found = []
    services = file["services"]
    for name, service in services.items():
        def bad(what, name=name):
            found.append(f"service {name}: {what}")
        user = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(service.get("user", "0")))
        if user.split(":")[0] in ("", "0", "root"):
            bad("may run as root")
        if service.get("read_only") is not True:
            bad("can write to its root file system")
        if service.get("cap_drop") != ["ALL"] or service.get("cap_add") or service.get("privileged"):
            bad("has capabilities")
        if "no-new-privileges:true" not in service.get("security_opt", []):
            bad("can get privileges")
        for limit in ("mem_limit", "pids_limit", "cpus"):
            if not service.get(limit):
                bad(f"has no {limit}")
        if not service.get("restart"):
            bad("does not say when it restarts")
        network = service.get("network_mode", "")
        if network.startswith("service:") and network.removeprefix("service:") not in services:
            bad(f"there is no service {network}")
        if not network and not service.get("networks"):
            bad("has no network")
        if network == "host":
            bad("uses the network of the host")
        for other in service.get("depends_on", {}):
            if other not in services:
                bad(f"there is no service {other}")
            elif isinstance(service["depends_on"], dict) and service["depends_on"][other]["condition"] == "service_healthy" \
                    and "healthcheck" not in services[other]:
                bad(f"waits for the health of {other}, which has no check")
        for port in service.get("ports", []):
            if not str(port).startswith("127.0.0.1:"):
                bad(f"publishes {port} to other machines")
        image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", service["image"])
        if ":" not in image.rsplit("/", 1)[-1] or (image.endswith(":latest") and image != "weft:latest"):
            bad(f"the image {image} has no version")
        mounts = [volume.rsplit(":", 1)[0] if volume.endswith(":ro") else volume for volume in service.get("volumes", [])]
        mounts = [mount.rsplit(":", 1)[1] for mount in mounts] + [mount.split(":")[0] for mount in service.get("tmpfs", [])]
        paths = [value for value in service.get("environment", {}).values() if value.startswith("/")] + [service.get("working_dir", "")]
        paths += [word.split("=", 1)[1] for word in service.get("command", []) + service.get("healthcheck", {}).get("test", [])
                  if "=/" in word]
        for path in filter(None, paths):
            if not any(path == mount or path.startswith(mount + "/") for mount in mounts):
                bad(f"{path} is not mounted")
    return found


# --- command lines ----------------------------------------------------------------------------------------------------
class Commands:
    """The commands and options of this weft."""

    def __init__(self, binary):
        self.binary, self.options = binary, {}
        self.names = set()
        self.collect(())

    def help(self, words):
        done = subprocess.run([self.binary, *words, "-help"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout + done.stderr

    def collect(self, words):
        """Reads a help text, and those of its subcommands."""
        text = self.help(words)
        self.options[words] = set(re.findall(r"^  -([a-z-]+)", text, re.MULTILINE)) | {"help"}
        self.names |= set(re.findall(r"\bWEFT_[A-Z_]+", text))
        listed = text if not words else text.partition("Subcommands:\n")[2]
        for name in dict.fromkeys(re.findall(r"^  ([a-z][a-z-]+(?: [a-z]+)?)  ", listed, re.MULTILINE)):
            self.collect((*words, *name.split()))

    def problems(self, words):
        """What is wrong with the words after `weft`."""
        words = [word for word in words if word]
        options = [word for word in words if word.startswith("-")]
        plain = []
        for word in words:
            if word.startswith("-"):
                # An option before the command.
                if plain:
                    break
                continue
            plain.append(word)
        command = next((tuple(plain[:count]) for count in (2, 1) if tuple(plain[:count]) in self.options), None)
        if command is None:
            if not plain and options and options[0].lstrip("-") in ("help", "version"):
                return []
            return [f"weft has no command {' '.join(plain[:2])!r}"]
        known = self.options[command] | self.options[()] | UNLISTED
        return [f"weft {' '.join(command)} has no option -{option}"
                for option in (word.lstrip("-").split("=")[0] for word in options) if option and option not in known]


def script_lines(text):
    """The commands of a shell script that begin with weft, with joined lines."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        # Comments show commands too: `# weft ...`, `$ weft ...`.
        for part in re.split(r"\|\||&&|[;|`]|\$\(", line):
            part = re.sub(r"^\s*[#$>{\-]*\s*(?:code=\d\s*)?(?:sudo (?:-u \S+ )?)?(?:[A-Z_]+=\S+ )*", "", part)
            part = re.sub(r'^"\$weft"', "weft", part)
            part = re.sub(r"^docker compose run --rm cli", "weft", part)
            match = re.match(r"(?:/usr/bin/)?weft (?P<rest>[a-z-].*)", part)
            if not match:
                continue
            rest = re.sub(r"\s#.*|\s>.*|\s+\d?>.*|\s<.*|\.{3}.*$|\s&$", "", match["rest"])
            try:
                yield shlex.split(rest)
            except ValueError:
                yield rest.split()


def command_lines():
    """Every command line of weft in the files: place, words."""
    for overlay in (DEPLOY / "kubernetes").rglob("*.yaml"):
        for thing in filter(None, yaml.safe_load_all(overlay.read_text())):
            if pod_of(thing):
                for container in containers_of(pod_of(thing)):
                    if container["image"].startswith("weft"):
                        yield str(overlay), container["args"]
    compose = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
    for name, service in compose["services"].items():
        if "WEFT_IMAGE" in service["image"]:
            yield f"compose.yaml {name}", service["command"]
            if "healthcheck" in service:
                yield f"compose.yaml {name}", service["healthcheck"]["test"][2:]
    for path in [*(DEPLOY / "systemd").glob("*.service")]:
        for match in re.finditer(r"^ExecStart=/usr/bin/weft (.*)$", path.read_text(), re.MULTILINE):
            yield str(path), [word for word in match[1].split() if not word.startswith("$")]
    for path in (DEPLOY / "container").glob("*Containerfile"):
        for match in re.finditer(r"^CMD (\[.*\])$", path.read_text(), re.MULTILINE):
            yield str(path), json.loads(match[1])
    for path in [*DEPLOY.rglob("*"), ROOT / "docs/operate.md"]:
        if path.is_file() and (path.suffix in (".yml", ".yaml", ".md", ".Containerfile") or path.name in ("certificates", "prepare")):
            for words in script_lines(path.read_text()):
                yield str(path), words


# --- checks -----------------------------------------------------------------------------------------------------------
class Checks:
    def __init__(self, binary, tools):
        self.binary, self.tools = binary, tools
        self.commands = Commands(binary)

    def kustomize(self, folder):
        for command in (["kubectl", "kustomize"], ["kustomize", "build"], [str(self.tools / "kustomize"), "build"]):
            if shutil.which(command[0]):
                done = subprocess.run([*command, str(folder)], capture_output=True, text=True)
                if done.returncode != 0:
                    raise AssertionError(done.stderr)
                return list(filter(None, yaml.safe_load_all(done.stdout)))
        raise Skipped("neither kubectl nor kustomize is installed, so THE KUBERNETES MANIFESTS ARE NOT TESTED")

    def secrets(self):
        """The Secrets that deploy/certificates prints: name to keys."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DEPLOY / "certificates", "-kubernetes", "-redis=weft-redis", folder], capture_output=True, text=True,
                                  env={**os.environ, "WEFT": str(self.binary)})
            assert done.returncode == 0, done.stderr
            found = list(yaml.safe_load_all(done.stdout))
            keys = [path for path in Path(folder).rglob("*key*") if path.is_file()]
            assert len(keys) == 6 and all(path.stat().st_mode & 0o077 == 0 for path in keys), keys
        for secret in filter(None, found):
            assert secret["metadata"]["namespace"] == "weft"
        return {secret["metadata"]["name"]: set(secret["data"]) for secret in filter(None, found)}

    def test_certificates_are_made_and_renewed(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*options):
                done = subprocess.run([DEPLOY / "certificates", *options, folder], capture_output=True, text=True,
                                      env={**os.environ, "WEFT": str(self.binary)})
                assert done.returncode == 0, done.stderr
                return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
            first, second = run("-host=weft.example.org"), run("-host=weft.example.org", "-days=1")
            kept = {str(path) for path in first if first[path] == second[path]}
            assert kept == {"ca/ca.pem", "ca/ca-key.pem", *(f"{name}/ca.crt" for name in ("coordinator", "worker", "monitor", "operator"))}, kept
            done = subprocess.run([DEPLOY / "certificates", folder], capture_output=True, text=True)
            assert done.returncode == 2 and "-host" in done.stderr

    def test_kubernetes_manifests(self):
        try:
            import kubernetes_validate
        except ImportError:
            raise Skipped("kubernetes-validate is not installed, so THE KUBERNETES MANIFESTS ARE NOT TESTED") from None
        by_hand = self.secrets()
        for overlay in OVERLAYS:
            things = self.kustomize(DEPLOY / "kubernetes/overlays" / overlay)
            for thing in things:
                if thing["apiVersion"].startswith("cert-manager.io/"):
                    found = cert_manager.problems(thing)
                    assert not found, f"{overlay}: {thing['kind']} {thing['metadata']['name']}: {'; '.join(found)}"
                    continue
                try:
                    kubernetes_validate.validate(thing, "1.31", strict=True)
                except kubernetes_validate.ValidationError as error:
                    raise AssertionError(f"{overlay}: {thing['kind']} {thing['metadata']['name']}: {error.message}") from None
            secrets = {} if "cert-manager" in overlay else by_hand
            found = cluster_problems(things, secrets)
            assert not found, "\n".join(f"{overlay}: {problem}" for problem in found)
        self.plant_in_cluster(self.kustomize(DEPLOY / "kubernetes/overlays/redis"), by_hand)

    def test_mistakes_in_certificates_are_found(self):
        try:
            import jsonschema  # noqa: F401
        except ImportError:
            raise Skipped("jsonschema is not installed, so THE CERTIFICATES OF CERT-MANAGER ARE NOT TESTED") from None
        things = self.kustomize(DEPLOY / "kubernetes/overlays/backend-cert-manager")
        certificate = next(thing for thing in things if thing["kind"] == "Certificate" and "uris" in thing["spec"])
        for wanted, change in {
            "'uri' was unexpected": {"uri": ["spiffe://x"]},
            "'server' is not one of": {"usages": ["server"]},
            "does not match": {"duration": "30d"},
            "'rsa' is not one of": {"privateKey": {"algorithm": "rsa"}},
            "'name' is a required property": {"issuerRef": {"kind": "Issuer"}},
        }.items():
            planted = {**certificate, "spec": {**certificate["spec"], **change}}
            found = cert_manager.problems(planted)
            assert any(wanted in problem for problem in found), f"the planted mistake {wanted!r} was not found: {found}"

    def plant_in_cluster(self, things, secrets):
        """Each planted mistake is found."""
        def first(kind, planted):
            return next(thing for thing in planted if thing["kind"] == kind)

        def first_set(planted):
            return next(thing for thing in planted if (thing["kind"], thing["metadata"]["name"]) == ("StatefulSet", "weft-coordinator"))

        def container(planted):
            return first_set(planted)["spec"]["template"]["spec"]["containers"][0]
        mistakes = {
            "can write to its root": lambda p: container(p)["securityContext"].pop("readOnlyRootFilesystem"),
            "may run as root": lambda p: first_set(p)["spec"]["template"]["spec"]["securityContext"].pop("runAsNonRoot"),
            "has capabilities": lambda p: container(p)["securityContext"]["capabilities"].pop("drop"),
            "no limits": lambda p: container(p)["resources"].pop("limits"),
            "readiness": lambda p: container(p).pop("readinessProbe"),
            "no version": lambda p: container(p).update(image="registry.example.org/weft:latest"),
            "no network policy": lambda p: [t["spec"].update(podSelector={"matchLabels": {"x": "y"}}) for t in p if t["kind"] == "NetworkPolicy"],
            "denies everything": lambda p: p.remove(next(t for t in p if t["metadata"]["name"] == "weft-default-deny")),
            "there is no Secret weft-coordinator-tls": lambda p: secrets and None,
            "there is no ConfigMap": lambda p: p.remove(next(
                t for t in p if t["kind"] == "ConfigMap" and t["metadata"]["name"].startswith("weft-redis"))),
            "there is no Deployment": lambda p: first("HorizontalPodAutoscaler", p)["spec"]["scaleTargetRef"].update(name="x"),
            "there is no variable": lambda p: container(p)["args"].append("-name=$(NOTHING)"),
            "is not mounted": lambda p: container(p).update(workingDir="/elsewhere"),
        }
        for wanted, plant in mistakes.items():
            planted = copy.deepcopy(things)
            plant(planted)
            known = {} if wanted.startswith("there is no Secret") else secrets
            found = cluster_problems(planted, known)
            assert any(wanted in problem for problem in found), f"the planted mistake {wanted!r} was not found: {found}"

    def test_compose_file(self):
        path = DEPLOY / "compose/compose.yaml"
        self.schema("vendor.compose-spec", path)
        file = yaml.safe_load(path.read_text())
        found = compose_problems(file)
        assert not found, "\n".join(found)
        for wanted, plant in {
            "may run as root": lambda s: s["coordinator"].update(user="0:0"),
            "can write to its root": lambda s: s["redis"].pop("read_only"),
            "has capabilities": lambda s: s["worker-eu"].pop("cap_drop"),
            "has no mem_limit": lambda s: s["worker-us"].pop("mem_limit"),
            "is not mounted": lambda s: s["worker-us"]["volumes"].pop(),
            "there is no service": lambda s: s.pop("redis"),
            "to other machines": lambda s: s["coordinator"].update(ports=["7438:7438"]),
        }.items():
            planted = copy.deepcopy(file)
            plant(planted["services"])
            found = compose_problems(planted)
            assert any(wanted in problem for problem in found), f"the planted mistake {wanted!r} was not found: {found}"

    def schema(self, name, path, *options):
        done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", name, *options, str(path)],
                              capture_output=True, text=True)
        if "No module named" in done.stderr:
            raise Skipped("check-jsonschema is not installed, so THE COMPOSE FILE AND PIPELINES ARE NOT TESTED")
        assert done.returncode == 0, done.stdout + done.stderr

    def test_pipelines(self):
        github, gitlab = DEPLOY / "pipelines/github-actions.yml", DEPLOY / "pipelines/gitlab-ci.yml"
        self.schema("vendor.github-workflows", github)
        self.schema("vendor.gitlab-ci", gitlab, "--data-transform", "gitlab-ci")
        jobs = yaml.safe_load(github.read_text())["jobs"]
        assert set(jobs) == {"plan", "apply", "resume"}
        assert "environment" not in jobs["plan"] and jobs["apply"]["environment"] == jobs["resume"]["environment"] == "production"
        for job in jobs.values():
            for step in job["steps"]:
                script = step.get("run", "")
                done = subprocess.run(["bash", "-n"], input=re.sub(r"\$\{\{.*?\}\}", "x", script), capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
                # Values of users reach scripts by variables only: an expression would be code.
                assert "${{" not in script, f"an expression in a script: {script}"
        file = yaml.safe_load(gitlab.read_text())
        assert file["apply"]["needs"] == ["plan"] and any(rule.get("when") == "manual" for rule in file["apply"]["rules"])
        actionlint = shutil.which("actionlint") or shutil.which(str(self.tools / "actionlint"))
        if actionlint is None:
            raise Skipped("actionlint is not installed, so the workflow was checked against its schema only")
        done = subprocess.run([actionlint, str(github)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_options_of_weft_exist(self):
        count = 0
        for place, words in command_lines():
            problems = self.commands.problems(words)
            assert not problems, f"{place}: {' '.join(words)}: {problems}"
            count += 1
        assert count >= 40, f"only {count} command lines were found"
        assert self.commands.problems(["worker", "-no-such-option=1"]) and self.commands.problems(["frobnicate"])

    def test_variables_of_weft_exist(self):
        known = self.commands.names | VARIABLES | OWN
        for path in [*DEPLOY.rglob("*"), ROOT / "docs/operate.md"]:
            if path.is_file():
                unknown = set(re.findall(r"\bWEFT_[A-Z0-9_]+", path.read_text())) - known
                assert not unknown, f"{path}: {unknown}"

    def test_settings_of_redis(self):
        for path, name in ((DEPLOY / "systemd/redis.conf", "bind"), (DEPLOY / "kubernetes/components/redis/redis.conf", "tls-port")):
            settings = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if line and not line.startswith("#"))
            for setting, value in REDIS.items():
                assert settings.get(setting) == value, f"{path}: {setting} is {settings.get(setting)}"
            # Redis accepts only connections from this machine, or only TLS with users.
            assert settings[name].split()[0] in ("127.0.0.1", "6379"), path
            assert name == "bind" or settings["port"] == "0" and settings["aclfile"], path
        words = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())["services"]["redis"]["command"]
        settings = {name.removeprefix("--"): value for name, value in zip(words[1::2], words[2::2])}
        for name, value in REDIS.items():
            assert settings[name] == value.replace('""', ""), f"compose: {name}"
        assert settings["port"] == "0" and settings["tls-port"] == "6379" and settings["aclfile"]

    def test_rights_of_the_user_of_redis(self):
        documented = re.search(r"^ACL SETUSER weft reset on >PASSWORD (.*)$", (ROOT / "docs/operate.md").read_text(), re.M)[1]
        made = re.search(r"^rights='(.*)'$", (DEPLOY / "redis-user").read_text(), re.M)[1]
        assert made == documented, f"deploy/redis-user gives {made}"
        with tempfile.TemporaryDirectory() as folder:
            password, users = Path(folder) / "password", Path(folder) / "users.acl"
            for _ in range(2):
                subprocess.run([DEPLOY / "redis-user", password, users], check=True)
            assert len(password.read_text()) > 30 and password.read_text() not in users.read_text()

    def test_weft_accepts_redis_with_these_files(self):
        if not shutil.which("redis-server"):
            raise Skipped("redis-server is not installed, so the files redis.conf were read only")
        for path in (DEPLOY / "systemd/redis.conf", DEPLOY / "kubernetes/components/redis/redis.conf"):
            with tempfile.TemporaryDirectory() as folder:
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    port = probe.getsockname()[1]
                folder = Path(folder)
                settings = re.sub(r"^dir .*$", f"dir {folder}", path.read_text(), flags=re.MULTILINE)
                settings = re.sub(r"^(tls-port|port) 6379$", rf"\1 {port}", settings, flags=re.MULTILINE)
                address, env = self.with_tls(folder, port) if "tls-port" in settings else (f"redis://127.0.0.1:{port}", {})
                settings = settings.replace("/etc/redis-tls", f"{folder}/certificates/redis").replace("/etc/redis-users", str(folder))
                file = folder / "redis.conf"
                file.write_text(settings)
                server = subprocess.Popen(["redis-server", file], stdout=subprocess.PIPE, text=True)
                try:
                    said = iter(server.stdout.readline, "")
                    assert any("Ready to accept" in line for line in said), f"{path}: Redis does not start with it"
                    done = subprocess.run([self.binary, "runs", "list", "-no-color", f"-store={address}/0?state=check"],
                                          cwd=folder, capture_output=True, text=True, env={**os.environ, **env})
                    assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"
                finally:
                    server.kill()
                    server.wait()

    def with_tls(self, folder, port):
        """Makes certificates and a user in a folder. Returns the address of a server, and the variables for it."""
        subprocess.run([DEPLOY / "certificates", "-host=localhost", "-redis=localhost", folder / "certificates"], check=True,
                       capture_output=True, env={**os.environ, "WEFT": str(self.binary)})
        subprocess.run([DEPLOY / "redis-user", folder / "password", folder / "users.acl"], check=True)
        version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout
        if "v=7.0." in version:
            users = folder / "users.acl"
            users.write_text(users.read_text().replace(" +waitaof", ""))
        return f"rediss://weft@localhost:{port}", {"WEFT_REDIS_CA_FILE": str(folder / "certificates/ca/ca.pem"),
                                                   "WEFT_REDIS_PASSWORD_FILE": str(folder / "password")}

    def test_units_of_systemd(self):
        if not shutil.which("systemd-analyze"):
            raise Skipped("systemd is not installed, so ITS UNITS ARE NOT TESTED")
        if "--root" not in subprocess.run(["systemd-analyze", "--help"], capture_output=True, text=True).stdout:
            raise Skipped("this systemd-analyze has no --root, so ITS UNITS ARE NOT TESTED")
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            units = root / "etc/systemd/system"
            units.mkdir(parents=True)
            for program in ("usr/bin/weft", "usr/bin/redis-server"):
                (root / program).parent.mkdir(parents=True, exist_ok=True)
                (root / program).write_text("#!/bin/sh\n")
                (root / program).chmod(0o755)
            for path in [*(DEPLOY / "systemd").glob("*.service"), *(DEPLOY / "systemd").glob("*.socket")]:
                shutil.copy(path, units / path.name)
            names = [path.name.replace("@.", "@eu.") for path in units.iterdir()]
            assert len(names) == 4, names
            for name in names:
                done = subprocess.run(["systemd-analyze", "verify", f"--root={root}", "--man=no", "--recursive-errors=no", name], capture_output=True, text=True)
                ours = [line for line in (done.stdout + done.stderr).splitlines() if "weft" in line]
                assert done.returncode == 0 and not ours, f"{name}: {done.stdout}{done.stderr}"
                if not name.endswith(".service"):
                    continue
                done = subprocess.run(["systemd-analyze", "security", f"--root={root}", "--offline=true", "--no-pager",
                                       f"--threshold={EXPOSURE}", name], capture_output=True, text=True)
                assert done.returncode == 0, f"{name}: {done.stdout[-400:]}{done.stderr}"
            # This checks the check itself: it must refuse a unit without protection.
            broken = units / "weft-coordinator.service"
            broken.write_text(re.sub(r"^(Protect|Restrict|SystemCall|Capability|Private).*\n", "", broken.read_text(), flags=re.MULTILINE))
            done = subprocess.run(["systemd-analyze", "security", f"--root={root}", "--offline=true", "--no-pager",
                                   f"--threshold={EXPOSURE}", broken.name], capture_output=True, text=True)
            assert done.returncode != 0, "an open unit was not found"

    def test_units_name_files_that_exist(self):
        files = (DEPLOY / "systemd").glob("*.service")
        for path in files:
            text = path.read_text()
            # `/proc` must show all processes (docs/operate.md).
            if "usr/bin/weft" in text:
                assert not re.search(r"^(ProtectProc|ProcSubset)=", text, re.MULTILINE), path
                assert "KillMode=mixed" in text, f"{path}: plugins would get SIGTERM, too"
            users = set(re.findall(r"^User=(.*)$", text, re.MULTILINE))
            known = set(re.findall(r"^u (\S+)", (DEPLOY / "systemd/weft.sysusers").read_text(), re.MULTILINE))
            assert users and users <= known, f"{path}: {users}"
            for name in re.findall(r"^EnvironmentFile=-?/etc/weft/([a-z]+)\.env$", text, re.MULTILINE):
                assert (DEPLOY / f"systemd/{name}.env").exists(), f"{path}: {name}.env"

    def test_image(self):
        text = (DEPLOY / "container/Containerfile").read_text()
        stages = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
        assert stages[-1].startswith("gcr.io/distroless/") and stages[-1].endswith(":nonroot"), stages
        last = text[text.rindex("FROM "):]
        assert re.search(r"^USER 65532:65532$", last, re.MULTILINE) and "RUN" not in last
        assert "--locked" in text
        derived = (DEPLOY / "container/worker.Containerfile").read_text()
        assert "USER" not in derived and "RUN" not in derived
        if shutil.which("ldd"):
            done = subprocess.run(["ldd", self.binary], capture_output=True, text=True)
            foreign = [line for line in done.stdout.splitlines() if not any(name in line for name in LIBRARIES)]
            assert not foreign, f"the image has no such libraries: {foreign}"

    def test_documents_lead_here(self):
        assert (ROOT / "docs/operate.md").exists()
        assert "docs/operate.md" in (ROOT / "README.md").read_text()
        assert "`deploy/`" in (ROOT / "ARCHITECTURE.md").read_text()
        text = (ROOT / "docs/operate.md").read_text()
        for path in re.findall(r"`(deploy/[^` ]+)`", text):
            # Files of variables need not exist, because users write them.
            assert (ROOT / path).exists() or path.endswith(".env"), f"docs/operate.md names {path}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "target/debug/weft"), help="the weft whose options count")
    parser.add_argument("--tools", default=str(ROOT / "target/deploy-tools/bin"), help="the folder of actionlint and kustomize")
    options = parser.parse_args()
    checks = Checks(Path(options.bin).resolve(), Path(options.tools))
    passed = failed = 0
    for name in [name for name in dir(checks) if name.startswith("test_")]:
        try:
            getattr(checks, name)()
            passed += 1
        except Skipped as skipped:
            print(f"SKIPPED: {skipped}")
        except AssertionError as error:
            failed += 1
            print(f"FAIL {name}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
