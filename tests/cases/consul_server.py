#!/usr/bin/env python3
"""A server for the backend `consul`: keys and values, transactions and sessions of Consul, in memory.

    consul_server.py [--port-file FILE] [--socket FILE] [--token TOKEN] [--certificate FILE --key FILE]

It answers like an agent of Consul, as far as backends use it: reads that wait for a change (`index`, `wait`),
conditions (`cas`), locks (`acquire`, `release`), sessions that end after twice their TTL, the delay of locks after the
end of a session, and the limit of 524288 bytes for values and transactions. With `--token`, requests without this token
are refused.
`GET /-/NAME?times=N&status=CODE` makes the next N requests to /v1/NAME fail with that status; with `status=0`, the server
does the work and then drops the answer.
"""
import argparse
import base64
import json
import os
import re
import socket
import ssl
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from urllib.parse import parse_qs, unquote, urlsplit

# The maximum size of a value, and of a transaction, in bytes.
LIMIT = 524288
# The maximum time that a read waits for a change, in seconds.
LONGEST_WAIT = 300
# A session ends after this multiple of its TTL.
LIVES = 2


def seconds(text, default=0.0):
    """A duration in the form of Go, such as `15s` or `5000ms`."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = re.findall(r"([\d.]+)(ms|s|m|h)", text or "")
    return sum(float(number) * units[unit] for number, unit in parts) if parts else default


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


class Store:
    """All keys and sessions. The caller of each method holds the condition variable."""

    def __init__(self):
        self.changed = Condition()
        self.index, self.pairs, self.sessions, self.delays, self.faults = 1, {}, {}, {}, {}

    def next(self):
        self.index += 1
        self.changed.notify_all()
        return self.index

    def set(self, key, value, flags, session=None, locked=None):
        old = self.pairs.get(key)
        index = self.next()
        self.pairs[key] = {
            "LockIndex": (old["LockIndex"] if old else 0) + (1 if locked else 0), "Key": key, "Flags": flags,
            "Value": value, "CreateIndex": old["CreateIndex"] if old else index, "ModifyIndex": index,
            "Session": session if locked is not None else (old or {}).get("Session")}
        return self.pairs[key]

    def fits(self, key, index):
        """Whether a condition holds: 0 means that there is no such key."""
        old = self.pairs.get(key)
        return old is None if index == 0 else old is not None and old["ModifyIndex"] == index

    def acquire(self, key, value, flags, session):
        if session not in self.sessions:
            raise Refused(500, f'invalid session "{session}"')
        old = self.pairs.get(key)
        if old and old["Session"] and old["Session"] != session:
            return False
        if self.delays.get(key, 0) > time.monotonic():
            return False
        self.set(key, value, flags, session, locked=not (old and old["Session"] == session))
        return True

    def release(self, key, value, flags, session):
        old = self.pairs.get(key)
        if not old or old["Session"] != session:
            return False
        self.set(key, value, flags, None, locked=False)
        return True

    def delete(self, key):
        if self.pairs.pop(key, None):
            self.next()

    def delete_tree(self, prefix):
        for key in [key for key in self.pairs if key.startswith(prefix)]:
            self.delete(key)

    def end_session(self, session):
        found = self.sessions.pop(session, None)
        if found is None:
            return
        for key, pair in list(self.pairs.items()):
            if pair["Session"] == session:
                if found["delay"]:
                    self.delays[key] = time.monotonic() + found["delay"]
                self.set(key, pair["Value"], pair["Flags"], None, locked=False)

    def expire(self):
        now = time.monotonic()
        for session in [id for id, found in self.sessions.items() if found["ttl"] and found["end"] < now]:
            self.end_session(session)


def shown(pair, value=True):
    """A pair as JSON."""
    copy = {name: field for name, field in pair.items() if name != "Session" or field}
    copy["Value"] = base64.b64encode(pair["Value"]).decode() if value and pair["Value"] else None
    return copy


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"

    def answer(self, status, content, index=None):
        if self.lost:
            self.close_connection = True
            return
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(content, bytes) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Consul-Index", str(index or self.server.store.index))
        self.send_header("X-Consul-KnownLeader", "true")
        self.send_header("X-Consul-LastContact", "0")
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        store, url = self.server.store, urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.lost = False
        with store.changed:
            if url.path.startswith("/-/"):
                store.faults[url.path[3:]] = [int(self.query["times"]), int(self.query["status"])]
                return self.answer(200, True)
            store.expire()
            name, _, rest = url.path.removeprefix("/v1/").partition("/")
            fault = store.faults.get(name)
            if fault and fault[0] > 0:
                fault[0] -= 1
                if fault[1]:
                    return self.answer(fault[1], b"rpc error: No cluster leader")
                self.lost = True
            token = self.server.token
            if token and self.headers.get("X-Consul-Token") != token:
                return self.answer(403, b"Permission denied: token lacks permission 'key:write'")
            try:
                work = getattr(self, f"{self.command.lower()}_{name}", None)
                if work is None:
                    raise Refused(404, "no such path")
                return work(store, unquote(rest), body)
            except Refused as refused:
                return self.answer(refused.status, refused.text.encode())

    def get_kv(self, store, key, _):
        query = self.query
        end = time.monotonic() + min(seconds(query.get("wait"), LONGEST_WAIT), LONGEST_WAIT)
        while True:
            store.expire()
            found = [pair for name, pair in sorted(store.pairs.items())
                     if (name.startswith(key) if "recurse" in query or "keys" in query else name == key)]
            index = max((pair["ModifyIndex"] for pair in found), default=store.index)
            left = end - time.monotonic()
            if int(query.get("index") or 0) < index or left <= 0:
                break
            store.changed.wait(min(left, 0.2))
        if not found:
            return self.answer(404, b"", index)
        if "raw" in query:
            return self.answer(200, found[0]["Value"], index)
        if "keys" not in query:
            return self.answer(200, [shown(pair) for pair in found], index)
        names, separator = [], query.get("separator")
        for pair in found:
            name = pair["Key"]
            at = name.find(separator, len(key)) if separator else -1
            names.append(name if at < 0 else name[:at + len(separator)])
        return self.answer(200, list(dict.fromkeys(names)), index)

    def put_kv(self, store, key, body):
        if len(body) > LIMIT:
            raise Refused(413, f"Request body({len(body)} bytes) too large, max size: {LIMIT} bytes.")
        if not key:
            raise Refused(400, "Missing key name")
        query, flags = self.query, int(self.query.get("flags") or 0)
        if "acquire" in query:
            return self.answer(200, store.acquire(key, body, flags, query["acquire"]))
        if "release" in query:
            return self.answer(200, store.release(key, body, flags, query["release"]))
        if "cas" in query and not store.fits(key, int(query["cas"])):
            return self.answer(200, False)
        store.set(key, body, flags)
        return self.answer(200, True)

    def delete_kv(self, store, key, _):
        if "recurse" in self.query:
            store.delete_tree(key)
        elif "cas" in self.query and not store.fits(key, int(self.query["cas"])):
            return self.answer(200, False)
        else:
            store.delete(key)
        return self.answer(200, True)

    def put_txn(self, store, _rest, body):
        if len(body) > LIMIT:
            raise Refused(413, f"Request body({len(body)} bytes) too large, max size: {LIMIT} bytes.")
        operations = [operation["KV"] for operation in json.loads(body)]
        errors = []
        for number, operation in enumerate(operations):
            if operation["Verb"] == "cas" and not store.fits(operation["Key"], operation.get("Index") or 0):
                what = f'failed to set key "{operation["Key"]}", index is stale'
                errors.append({"OpIndex": number, "What": what})
            elif operation["Verb"] not in ("cas", "set", "delete", "delete-tree"):
                raise Refused(400, f'unknown verb "{operation["Verb"]}"')
        if errors:
            return self.answer(409, {"Results": None, "Errors": errors})
        results = []
        for operation in operations:
            key = operation["Key"]
            if operation["Verb"] in ("cas", "set"):
                value = base64.b64decode(operation.get("Value") or "")
                pair = store.set(key, value, operation.get("Flags") or 0)
                results.append({"KV": shown(pair, value=False)})
            elif operation["Verb"] == "delete":
                store.delete(key)
            else:
                store.delete_tree(key)
        return self.answer(200, {"Results": results or None, "Errors": None})

    def put_session(self, store, rest, body):
        action, _, session = rest.partition("/")
        if action == "create":
            rules = json.loads(body or b"{}") or {}
            session = str(uuid.uuid4())
            ttl = seconds(rules.get("TTL"))
            if ttl and not 10 <= ttl <= 86400:
                raise Refused(500, f"Invalid Session TTL '{rules['TTL']}', must be between [10s=24h0m0s]")
            store.sessions[session] = {"ttl": ttl, "delay": seconds(rules.get("LockDelay"), 15.0), "name":
                                       rules.get("Name", ""), "end": time.monotonic() + LIVES * ttl}
            store.next()
            return self.answer(200, {"ID": session})
        if action == "destroy":
            store.end_session(session)
            return self.answer(200, True)
        found = store.sessions.get(session)
        if action != "renew" or found is None:
            raise Refused(404, f'Session id "{session}" not found')
        found["end"] = time.monotonic() + LIVES * found["ttl"]
        return self.answer(200, [{"ID": session, "Name": found["name"], "TTL": f"{found['ttl']:g}s"}])

    def get_session(self, store, _rest, _):
        return self.answer(200, [{"ID": session, "Name": found["name"]} for session, found in store.sessions.items()])

    def get_status(self, _store, _rest, _):
        return self.answer(200, "127.0.0.1:8300")

    do_GET = do_PUT = do_DELETE = handle_any


class SocketServer(ThreadingHTTPServer):
    address_family = socket.AF_UNIX

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--port-file", help="where to write the port")
    a.add_argument("--socket", help="a Unix socket to listen on, too")
    a.add_argument("--token", help="the token that requests must have")
    a.add_argument("--certificate", help="a certificate in PEM, for https")
    a.add_argument("--key", help="its key")
    o = a.parse_args()
    store = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if o.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(o.certificate, o.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    servers = [server] + ([SocketServer(o.socket, Handler)] if o.socket else [])
    for one in servers:
        one.daemon_threads, one.store, one.token = True, store, o.token
    for one in servers[1:]:
        Thread(target=one.serve_forever, daemon=True).start()
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
