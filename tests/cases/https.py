#!/usr/bin/env python3
"""Serves the files of a folder over TLS, with a certificate of its own authority.

    https.py FOLDER

Writes the certificate of the authority to `ca.pem` and, once it listens, its port to `https.port`. Files with the
ending .json or without an ending are JSON. NAME.headers beside a file is a JSON object of headers to send. If only
NAME.headers exists, the status is 204.
"""
import json
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])


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


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = FOLDER / self.path.split("?")[0].lstrip("/")
        headers = path.with_name(path.name + ".headers")
        sent = json.loads(headers.read_text()) if headers.is_file() else {}
        body = path.read_bytes() if path.is_file() else None
        if body is None and not sent:
            self.send_error(404)
            return
        self.send_response(204 if body is None else 200)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", self.kind(path))
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body or b"")

    @staticmethod
    def kind(path):
        return "application/json" if path.suffix in ("", ".json") else "application/octet-stream"

    def log_message(self, *_):
        pass


certificate()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
Path("https.port.new").write_text(str(server.server_address[1]))
Path("https.port.new").rename("https.port")
server.serve_forever()
