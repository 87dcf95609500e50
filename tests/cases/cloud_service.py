#!/usr/bin/env python3
"""A service with the API of HCP Terraform for states, locks, workspaces and logins, over TLS, in memory.

    cloud_service.py

Writes the certificate of its authority to `ca.pem` and, once it listens, its port to `service.port`. The organization is
`acme`, and a token is `first-token`. As `localhost` it offers logins by OAuth; as `127.0.0.1`, it has only the API.
It is strict: a write of a state needs the lock, the next serial, the lineage and the MD5 of the state.

    GET /-/set?workspace=NAME&ATTRIBUTE=VALUE   sets attributes of a workspace, such as execution-mode and locked
    GET /-/option?NAME=VALUE                    mode: execution mode of new workspaces; old=1: states only in requests;
                                                fail=N: the next N requests of the API answer 503; version: of the API;
                                                uploads=0: uploads fail; grants: of logins, divided by commas
    GET /-/log                                  all requests to the API so far, with their bodies
"""
import base64
import hashlib
import json
import re
import secrets
import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qs, urlencode, urlparse

API = "/api/v2/"
JSON_API = "application/vnd.api+json"
PAGE = 2


def certificate():
    """`host.pem` with its key in `host.key`, signed by `ca.pem`."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    for name in ("ca", "host"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=authority", "-days", "2", "-out", "ca.pem")
    openssl("req", "-new", "-key", "host.key", "-subj", "/CN=host", "-out", "host.csr")
    Path("host.ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "host.ext", "-out", "host.pem")


class Service:
    def __init__(self):
        self.mutex = Lock()
        self.tokens = {"first-token"}
        self.workspaces, self.versions, self.projects, self.codes, self.log = {}, {}, {}, {}, []
        self.options = {"mode": "local", "old": "", "fail": "0", "version": "2.5", "uploads": "1",
                        "grants": "authz_code"}


class Refused(Exception):
    def __init__(self, status, *errors):
        self.status, self.errors = status, errors


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if body:
            self.send_header("Content-Type", kind)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        service = self.server.service
        with service.mutex:
            try:
                if url.path == "/.well-known/terraform.json":
                    return self.discovery()
                if url.path.startswith("/-/"):
                    return self.control(url.path[3:], query)
                if url.path.startswith("/oauth/"):
                    return self.oauth(url.path[7:], query, body)
                if url.path.startswith("/upload/"):
                    return self.upload(url.path[8:], body)
                if url.path.startswith("/json/"):
                    return self.answer(200)
                if url.path.startswith(API):
                    return self.api(url.path[len(API):], query, body)
                raise Refused(404)
            except Refused as refused:
                errors = [dict(zip(("title", "detail"), error)) for error in refused.errors]
                self.answer(refused.status, {"errors": errors} if errors else b"", JSON_API)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def discovery(self):
        services = {"tfe.v2": API, "tfe.v2.1": API, "state.v2": API}
        if not self.headers["Host"].startswith("127."):
            services["login.v1"] = {"client": "cli", "authz": "/oauth/authorize", "token": "/oauth/token",
                                    "grant_types": self.server.service.options["grants"].split(","),
                                    "ports": [10000, 10100], "scopes": ["states"]}
        self.answer(200, services)

    def control(self, what, query):
        service = self.server.service
        if what == "log":
            return self.answer(200, service.log)
        if what == "option":
            service.options.update(query)
        else:
            workspace = service.workspaces[query.pop("workspace")]
            for name, value in query.items():
                workspace["attributes"][name] = value == "1" if name == "locked" else value
        self.answer(200, {})

    def oauth(self, what, query, body):
        service = self.server.service
        if what == "authorize":
            assert query["response_type"] == "code" and query["code_challenge_method"] == "S256", query
            code = secrets.token_hex(8)
            service.codes[code] = query
            target = query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]})
            return self.answer(302, headers=[("Location", target)])
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if form["grant_type"] == "authorization_code":
            asked = service.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if (asked is None or asked["redirect_uri"] != form["redirect_uri"] or form["client_id"] != "cli"
                    or asked["code_challenge"] != base64.urlsafe_b64encode(digest).decode().rstrip("=")):
                return self.answer(400, {"error": "invalid_grant"})
        else:
            return self.answer(400, {"error": "unsupported_grant_type"})
        token = "oauth-" + secrets.token_hex(8)
        service.tokens.add(token)
        self.answer(200, {"access_token": token, "token_type": "bearer"})

    def upload(self, name, body):
        service = self.server.service
        version = service.versions.get(name)
        if self.headers.get("Authorization") or version is None:
            raise Refused(404)
        if service.options["uploads"] == "0":
            raise Refused(400, ("upload failed",))
        if hashlib.md5(body).hexdigest() != version["attributes"]["md5"]:
            raise Refused(400, ("wrong digest",))
        self.store(version, body)
        self.answer(200)

    def store(self, version, body):
        version["content"] = body
        version["workspace"]["current"] = version

    def api(self, path, query, body):
        service = self.server.service
        word, _, token = self.headers.get("Authorization", "").partition(" ")
        service.log.append({"method": self.command, "path": path, "query": query,
                            "body": json.loads(body) if body else None,
                            "integration": self.headers.get("X-Terraform-Integration")})
        if int(service.options["fail"]) > 0:
            service.options["fail"] = str(int(service.options["fail"]) - 1)
            raise Refused(503)
        if path == "ping":
            return self.answer(204, headers=[("TFP-API-Version", service.options["version"])])
        if word != "Bearer" or token not in service.tokens:
            raise Refused(401, ("unauthorized",))
        given = json.loads(body)["data"] if body else None
        for pattern, action in ROUTES:
            match = re.fullmatch(pattern, f"{self.command} {path}")
            if match:
                return action(self, *match.groups(), **({"query": query} if "LIST" in pattern else {}),
                              **({"given": given} if body else {}))
        raise Refused(404)

    def document(self, data, status=200, **more):
        self.answer(status, {"data": data, **more}, JSON_API)

    def workspace_of(self, name=None, id=None):
        for workspace in self.server.service.workspaces.values():
            if name == workspace["attributes"]["name"] or id == workspace["id"]:
                return workspace
        raise Refused(404, ("not found",))

    @staticmethod
    def shown(workspace):
        return {"id": workspace["id"], "type": "workspaces", "attributes": workspace["attributes"]}

    def account(self):
        self.document({"id": "user-1", "type": "users", "attributes": {"username": "ann"}})

    def entitlements(self, organization):
        if organization != "acme":
            raise Refused(404, ("not found",))
        self.document({"id": "org-1", "type": "entitlement-sets", "attributes": {"operations": True}})

    def list_workspaces(self, query):
        tags = [tag for tag in query.get("search[tags]", "").split(",") if tag]
        found = [workspace for name, workspace in sorted(self.server.service.workspaces.items())
                 if query.get("search[name]", "") in name
                 and set(tags) <= set(workspace["attributes"]["tag-names"])
                 and query.get("filter[project][id]", "") in ("", workspace["project"])]
        page = int(query.get("page[number]") or 1)
        pages = max(1, -(-len(found) // PAGE))
        meta = {"pagination": {"current-page": page, "total-pages": pages, "total-count": len(found),
                               "next-page": page + 1 if page < pages else None}}
        self.document([self.shown(one) for one in found[(page - 1) * PAGE:page * PAGE]], meta=meta)

    def create_workspace(self, given):
        service, attributes = self.server.service, given["attributes"]
        relations = given.get("relationships") or {}
        tags = [tag["attributes"]["name"] for tag in (relations.get("tags") or {}).get("data", [])]
        workspace = {"id": f"ws-{len(service.workspaces) + 1}", "current": None,
                     "project": ((relations.get("project") or {}).get("data") or {}).get("id", ""),
                     "attributes": {"name": attributes["name"], "execution-mode": service.options["mode"],
                                    "terraform-version": attributes.get("terraform-version", "1.5.0"),
                                    "tag-names": tags, "locked": False,
                                    "permissions": {"can-force-delete": True}}}
        service.workspaces[attributes["name"]] = workspace
        self.document(self.shown(workspace), 201)

    def read_workspace(self, name):
        self.document(self.shown(self.workspace_of(name)))

    def update_workspace(self, id, given):
        workspace = self.workspace_of(id=id)
        workspace["attributes"].update(given["attributes"])
        self.document(self.shown(workspace))

    def delete_workspace(self, name):
        self.workspace_of(name)
        del self.server.service.workspaces[name]
        self.answer(204)

    def safe_delete(self, name, given=None):
        current = self.workspace_of(name)["current"]
        if current and json.loads(current["content"]).get("resources"):
            raise Refused(409, ("conflict", "it manages resources"))
        self.delete_workspace(name)

    def add_tags(self, id, given):
        self.workspace_of(id=id)["attributes"]["tag-names"] += [tag["attributes"]["name"] for tag in given]
        self.answer(204)

    def lock(self, id, action, given=None):
        attributes = self.workspace_of(id=id)["attributes"]
        if attributes["locked"] == (action == "lock"):
            raise Refused(409, ("conflict", "it is locked" if action == "lock" else "it is not locked"))
        attributes["locked"] = action == "lock"
        self.document(self.shown(self.workspace_of(id=id)))

    def current_version(self, id):
        version = self.workspace_of(id=id)["current"]
        if version is None:
            raise Refused(404, ("not found",))
        self.document(self.version(version))

    def version(self, version):
        base = f"https://{self.headers['Host']}"
        shown = {"serial": version["attributes"]["serial"], "status": "finalized",
                 "hosted-state-download-url": f"{base}{API}state-versions/{version['id']}/hosted_state",
                 "hosted-state-upload-url": f"{base}/upload/{version['id']}",
                 "hosted-json-state-upload-url": f"{base}/json/{version['id']}"}
        return {"id": version["id"], "type": "state-versions", "attributes": shown}

    def read_version(self, id):
        self.document(self.version(self.server.service.versions[id]))

    def download(self, id):
        self.answer(200, self.server.service.versions[id]["content"], "application/octet-stream")

    def create_version(self, id, given):
        service, workspace, attributes = self.server.service, self.workspace_of(id=id), given["attributes"]
        if service.options["old"] and "state" not in attributes:
            raise Refused(400, ("bad request", "param is missing or the value is empty: state"))
        if not workspace["attributes"]["locked"]:
            raise Refused(409, ("conflict", "the workspace is not locked"))
        json.loads(base64.b64decode(attributes["json-state-outputs"]))
        if workspace["current"] and not attributes.get("force"):
            known = workspace["current"]["attributes"]
            if attributes["serial"] <= known["serial"] or attributes["lineage"] != known["lineage"]:
                raise Refused(409, ("conflict", "serial or lineage do not follow the current state"))
        version = {"id": f"sv-{len(service.versions) + 1}", "attributes": attributes, "workspace": workspace,
                   "content": b""}
        service.versions[version["id"]] = version
        if "state" in attributes:
            self.store(version, base64.b64decode(attributes["state"]))
        self.document(self.version(version), 201)

    def list_projects(self, query):
        found = [{"id": id, "type": "projects", "attributes": {"name": name}}
                 for name, id in self.server.service.projects.items() if name == query.get("filter[names]", name)]
        self.document(found, meta={"pagination": {"current-page": 1, "total-pages": 1}})

    def create_project(self, given):
        projects, name = self.server.service.projects, given["attributes"]["name"]
        projects[name] = f"prj-{len(projects) + 1}"
        self.document({"id": projects[name], "type": "projects", "attributes": {"name": name}}, 201)


ROUTES = [(pattern.replace("{}", "([^/]+)"), action) for pattern, action in (
    ("GET account/details", Handler.account),
    ("GET organizations/{}/entitlement-set", Handler.entitlements),
    ("GET organizations/acme/workspaces(?#LIST)", Handler.list_workspaces),
    ("POST organizations/acme/workspaces", Handler.create_workspace),
    ("GET organizations/acme/workspaces/{}", Handler.read_workspace),
    ("DELETE organizations/acme/workspaces/{}", Handler.delete_workspace),
    ("POST organizations/acme/workspaces/{}/actions/safe-delete", Handler.safe_delete),
    ("PATCH workspaces/{}", Handler.update_workspace),
    ("POST workspaces/{}/relationships/tags", Handler.add_tags),
    ("POST workspaces/{}/actions/(lock|unlock|force-unlock)", Handler.lock),
    ("GET workspaces/{}/current-state-version", Handler.current_version),
    ("POST workspaces/{}/state-versions", Handler.create_version),
    ("GET state-versions/{}", Handler.read_version),
    ("GET state-versions/{}/hosted_state", Handler.download),
    ("GET organizations/acme/projects(?#LIST)", Handler.list_projects),
    ("POST organizations/acme/projects", Handler.create_project),
)]

certificate()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.service = Service()
server.socket = context.wrap_socket(server.socket, server_side=True)
Path("service.port.new").write_text(str(server.server_address[1]))
Path("service.port.new").rename("service.port")
server.serve_forever()
