#!/usr/bin/env python3
"""A server for the backend `http`: states with locks, in memory and in a file.

    state_server.py [--port PORT] [--port-file FILE] [--file FILE]

With --file, states and locks outlive the server: another server with the same file continues with them. The state of
any path is stored by POST or PUT, read by GET and removed by DELETE. LOCK on the path takes its lock, and UNLOCK
releases it. While a lock is held, a write without the id of the lock is refused with 409. `GET
/-/NAME?times=N&status=CODE` makes the next N requests to /NAME fail with that status. With `status=0`, the server does
the work and then drops the answer.
"""
import argparse
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, urlparse


class States:
    def __init__(self, file):
        self.mutex, self.file = Lock(), file
        self.content, self.locks, self.faults = {}, {}, {}
        if file and os.path.exists(file):
            with open(file) as stored:
                self.content, self.locks = [{path: text.encode() for path, text in part.items()}
                                            for part in json.load(stored)]

    def keep(self):
        if not self.file:
            return
        with open(self.file + ".new", "w") as stored:
            json.dump([{path: body.decode() for path, body in part.items()}
                       for part in (self.content, self.locks)], stored)
        os.replace(self.file + ".new", self.file)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        if self.lost:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        states = self.server.states
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.lost = False
        with states.mutex:
            if url.path.startswith("/-/"):
                states.faults[url.path[2:]] = [int(query["times"]), int(query["status"])]
                return self.answer(200)
            fault = states.faults.get(url.path)
            if fault and fault[0] > 0:
                fault[0] -= 1
                if fault[1]:
                    return self.answer(fault[1])
                self.lost = True
            return self.work(states, url.path, query, body)

    def work(self, states, path, query, body):
        held = states.locks.get(path)
        if self.command == "LOCK":
            if held:
                return self.answer(423, held)
            states.locks[path] = body
            states.keep()
            return self.answer(200)
        if self.command == "UNLOCK":
            if not held or json.loads(held)["ID"] != json.loads(body)["ID"]:
                return self.answer(409, held or b"{}")
            del states.locks[path]
            states.keep()
            return self.answer(200)
        if self.command == "GET":
            content = states.content.get(path)
            return self.answer(404) if content is None else self.answer(200, content)
        if held and json.loads(held)["ID"] != query.get("ID"):
            return self.answer(409, held)
        if self.command == "DELETE":
            states.content.pop(path, None)
        else:
            states.content[path] = body
        states.keep()
        return self.answer(200)

    do_GET = do_POST = do_PUT = do_DELETE = do_LOCK = do_UNLOCK = handle_any


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--port", type=int, default=0, help="the port, by default any free one")
    a.add_argument("--port-file", help="where to write the port")
    a.add_argument("--file", help="where states and locks are stored")
    o = a.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", o.port), Handler)
    server.daemon_threads = True
    server.states = States(o.file)
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
