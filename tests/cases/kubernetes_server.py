#!/usr/bin/env python3
"""A server for the backend `kubernetes`: the secrets and leases of a cluster, in memory.

    kubernetes_server.py [--port-file FILE] [--token TOKEN] [--certificate FILE --key FILE]

It answers like the API of Kubernetes, as far as backends use it: objects by name, lists by labels in pages (also with
metadata only), versions as conditions of writes, the rules for names, and the limit of 1048576 bytes for secrets. The
only namespaces are `default` and `team`. The server understands JSON only. OpenTofu writes leases as protobuf, so it
needs a real cluster. With `--token`, requests without this token are refused.
`GET /-/NAME?times=N&status=CODE` makes the next N requests to objects of that kind (`secrets`, `leases`) that change
something fail with that status; with `status=0`, the server does the work and then drops the answer.
"""
import argparse
import base64
import json
import os
import re
import ssl
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

# The maximum number of bytes in all values of a secret.
LIMIT = 1048576
KINDS = {"secrets": ("v1", "Secret"), "leases": ("coordination.k8s.io/v1", "Lease")}
PATH = re.compile(r"/(?:api/v1|apis/coordination\.k8s\.io/v1)/namespaces/([^/]+)/(secrets|leases)(?:/([^/]+))?")
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


class Refused(Exception):
    def __init__(self, status, reason, text):
        super().__init__(text)
        self.status, self.reason, self.text = status, reason, text


class Store:
    def __init__(self):
        self.mutex = Lock()
        self.version, self.objects, self.faults = 100, {}, {}

    def put(self, key, content):
        self.version += 1
        content["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = content
        return content


def checked(kind, name, content):
    """The content of an object as it is stored, if it is valid."""
    def invalid(field, why):
        raise Refused(422, "Invalid", f'{KINDS[kind][1]} "{name}" is invalid: {field}: {why}')
    metadata = content.setdefault("metadata", {})
    if len(name) > 253 or not NAME.fullmatch(name):
        invalid("metadata.name", f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case '
                "alphanumeric characters, '-' or '.'")
    for label, value in (metadata.get("labels") or {}).items():
        if len(value) > 63 or not LABEL.fullmatch(value):
            invalid("metadata.labels", f'Invalid value: "{value}": a valid label must be an empty string or consist of '
                    "alphanumeric characters, '-', '_' or '.'")
    if kind == "secrets":
        content.setdefault("type", "Opaque")
        try:
            sizes = [len(base64.b64decode(value or "", validate=True)) for value in (content.get("data") or {}).values()]
        except ValueError as error:
            raise Refused(400, "BadRequest", f"Secret in version v1 cannot be handled as a Secret: {error}") from None
        if sum(sizes) > LIMIT:
            invalid("data", f"Too long: may not be more than {LIMIT} bytes")
    return content


def fits(labels, selector):
    for term in filter(None, selector.split(",")):
        name, equals, value = term.partition("=")
        if term.startswith("!"):
            if term[1:] in labels:
                return False
        elif name not in labels or equals and labels[name] != value.lstrip("="):
            return False
    return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, content):
        if self.lost:
            self.close_connection = True
            return
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        store, url = self.server.store, urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.lost = False
        with store.mutex:
            try:
                if url.path.startswith("/-/"):
                    store.faults[url.path[3:]] = [int(self.query["times"]), int(self.query["status"])]
                    return self.answer(200, {})
                if self.server.token and self.headers.get("Authorization") != f"Bearer {self.server.token}":
                    raise Refused(401, "Unauthorized", "Unauthorized")
                found = PATH.fullmatch(url.path)
                if not found:
                    raise Refused(404, "NotFound", "the server could not find the requested resource")
                namespace, kind, name = found[1], found[2], unquote(found[3] or "")
                fault = store.faults.get(kind)
                if self.command != "GET" and fault and fault[0] > 0:
                    fault[0] -= 1
                    if fault[1]:
                        raise Refused(fault[1], "InternalError", "etcdserver: request timed out")
                    self.lost = True
                if "json" not in self.headers.get("Content-Type", "json"):
                    raise Refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
                content = json.loads(body) if body else {}
                work = {"GET": self.get if name else self.list, "POST": self.create, "PUT": self.replace,
                        "DELETE": self.delete}
                return work[self.command](store, namespace, kind, name, content)
            except Refused as refused:
                return self.answer(refused.status, {
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": refused.text,
                    "reason": refused.reason, "code": refused.status})

    def existing(self, store, namespace, kind, name):
        found = store.objects.get((namespace, kind, name))
        if found is None:
            group = "leases.coordination.k8s.io" if kind == "leases" else kind
            raise Refused(404, "NotFound", f'{group} "{name}" not found')
        return found

    def get(self, store, namespace, kind, name, _):
        self.answer(200, self.existing(store, namespace, kind, name))

    def list(self, store, namespace, kind, _name, _content):
        selector, start = self.query.get("labelSelector", ""), self.query.get("continue", "")
        found = [content for (space, of, name), content in sorted(store.objects.items())
                 if (space, of) == (namespace, kind) and name > start
                 and fits(content["metadata"].get("labels") or {}, selector)]
        limit = int(self.query.get("limit") or 0) or len(found)
        version, word = KINDS[kind]
        metadata = {"resourceVersion": str(store.version)}
        if len(found) > limit:
            metadata["continue"] = found[limit - 1]["metadata"]["name"]
        items = found[:limit]
        if "as=PartialObjectMetadataList" in (self.headers.get("Accept") or ""):
            version, word = "meta.k8s.io/v1", "PartialObjectMetadata"
            items = [{"metadata": content["metadata"]} for content in items]
        self.answer(200, {"kind": f"{word}List", "apiVersion": version, "metadata": metadata, "items": items})

    def create(self, store, namespace, kind, _name, content):
        if namespace not in ("default", "team"):
            raise Refused(404, "NotFound", f'namespaces "{namespace}" not found')
        name = (content.get("metadata") or {}).get("name") or ""
        content = checked(kind, name, content)
        if (namespace, kind, name) in store.objects:
            raise Refused(409, "AlreadyExists", f'{kind} "{name}" already exists')
        content["metadata"].update(namespace=namespace, uid=str(uuid.uuid4()))
        content["apiVersion"], content["kind"] = KINDS[kind]
        self.answer(201, store.put((namespace, kind, name), content))

    def replace(self, store, namespace, kind, name, content):
        old = self.existing(store, namespace, kind, name)
        metadata = content.setdefault("metadata", {})
        if metadata.get("name") != name:
            raise Refused(400, "BadRequest", "the name of the object does not match the name on the URL")
        if (metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]) != old["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {kind} "{name}": the object has been '
                          "modified; please apply your changes to the latest version and try again")
        content = checked(kind, name, content)
        metadata.update(namespace=namespace, uid=old["metadata"]["uid"])
        content["apiVersion"], content["kind"] = KINDS[kind]
        self.answer(200, store.put((namespace, kind, name), content))

    def delete(self, store, namespace, kind, name, _):
        self.existing(store, namespace, kind, name)
        del store.objects[namespace, kind, name]
        store.version += 1
        self.answer(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    do_GET = do_POST = do_PUT = do_DELETE = handle_any


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--port-file", help="where to write the port")
    a.add_argument("--token", help="the token that requests must have")
    a.add_argument("--certificate", help="a certificate in PEM, for https")
    a.add_argument("--key", help="its key")
    o = a.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if o.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(o.certificate, o.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads, server.store, server.token = True, Store(), o.token
    port = str(server.server_address[1])
    if o.port_file:
        with open(o.port_file + ".new", "w") as file:
            file.write(port)
        os.replace(o.port_file + ".new", o.port_file)
    else:
        print(port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
