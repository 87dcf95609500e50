#!/usr/bin/env python3
"""Services that keep keys, for key providers of encryption: OpenBao, Azure Key Vault, Cloud KMS.

    keys_server.py --folder FOLDER [--port-file FILE]

By HTTP, it is OpenBao with the transit engine at /transit, any key, and the token `root`; and the service of managed
identities at /identity. As a proxy for HTTPS, it answers for all hosts itself: for key vaults at *.vault.azure.net, and
for Cloud KMS and the tokens of Google at *.googleapis.com. Its certificate is signed by the authority in
FOLDER/authority.pem, which openssl makes. `GET /-/refuse?times=N` makes the next N requests for keys fail.
"""
import argparse
import hashlib
import json
import os
import ssl
import subprocess
import sys
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

NONCE = 16
NAMES = ["*.vault.azure.net", "*.googleapis.com"]
VERSION = "0123456789abcdef0123456789abcdef"


def mixed(name, nonce, data):
    """Obscures data, or restores obscured data. This is not encryption: it only makes the text look different."""
    stream, block = b"", nonce
    while len(stream) < len(data):
        block = hashlib.sha256(name.encode() + block).digest()
        stream += block
    return bytes(a ^ b for a, b in zip(data, stream))


def hidden(name, data):
    nonce = os.urandom(NONCE)
    return nonce + mixed(name, nonce, data)


def shown(name, data):
    return mixed(name, data[:NONCE], data[NONCE:])


def to_url(data):
    return urlsafe_b64encode(data).decode().rstrip("=")


def of_url(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    context, refusals = None, 0

    def log_message(self, *_):
        pass

    def answer(self, status, content, headers=()):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_any(self):
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        try:
            body = json.loads(text) if text else {}
        except ValueError:
            body = {}
        host = self.headers.get("Host", "").split(":")[0]
        parts = url.path.strip("/").split("/")
        if url.path == "/-/refuse":
            type(self).refusals = int(query["times"])
            return self.answer(200, {})
        if host.endswith(".vault.azure.net"):
            return self.vault(host, url.path, body)
        if host.endswith(".googleapis.com"):
            return self.google(host, url.path, body)
        if url.path == "/identity":
            resource = query.get("resource", "")
            return self.answer(200, {"access_token": "token of " + resource, "expires_on": "4000000000",
                                     "resource": resource, "token_type": "Bearer"})
        if parts[:2] == ["v1", "transit"]:
            return self.bao(parts[2:], body)
        return self.answer(404, {"errors": ["no handler for route"]})

    def refused(self):
        if not self.refusals:
            return False
        type(self).refusals -= 1
        return True

    def bao(self, parts, body):
        if self.headers.get("X-Vault-Token") != "root" or self.refused():
            return self.answer(403, {"errors": ["permission denied"]})
        name = parts[-1]
        if parts[:2] == ["datakey", "plaintext"]:
            key = os.urandom(int(body["bits"]) // 8)
            sealed = "vault:v1:" + b64encode(hidden(name, key)).decode()
            return self.answer(200, {"data": {"ciphertext": sealed, "plaintext": b64encode(key).decode()}})
        if parts[0] == "decrypt" and body.get("ciphertext", "").startswith("vault:v1:"):
            key = shown(name, b64decode(body["ciphertext"][len("vault:v1:"):]))
            return self.answer(200, {"data": {"plaintext": b64encode(key).decode()}})
        return self.answer(400, {"errors": ["invalid ciphertext"]})

    def vault(self, host, path, body):
        name, *version, operation = path.split("/")[2:]
        version = "".join(version)
        if self.headers.get("Authorization") != "Bearer token of https://vault.azure.net":
            challenge = 'Bearer authorization="https://login.microsoftonline.com/t", resource="https://vault.azure.net"'
            return self.answer(401, {"error": {"code": "Unauthorized"}}, [("WWW-Authenticate", challenge)])
        if self.refused():
            return self.answer(403, {"error": {"code": "Forbidden", "message": "The user has no permission"}})
        kid = f"https://{host}/keys/{name}/{VERSION}"
        data = of_url(body["value"])
        if operation == "encrypt" and version == "":
            nonce = os.urandom(NONCE)
            answer = {"kid": kid, "value": to_url(mixed(name, nonce, data))}
            if body["alg"] == "RSA-OAEP-256":
                answer["value"] = to_url(nonce + of_url(answer["value"]))
            else:
                answer.update(iv=to_url(nonce), tag=to_url(b"tag"), aad="")
            return self.answer(200, answer)
        if operation == "decrypt" and version == VERSION:
            whole = of_url(body["iv"]) + data if "iv" in body else data
            return self.answer(200, {"kid": kid, "value": to_url(shown(name, whole))})
        return self.answer(404, {"error": {"code": "KeyNotFound", "message": "There is no such key"}})

    def google(self, host, path, body):
        if host.startswith("iamcredentials.") and path.endswith(":generateAccessToken"):
            return self.answer(200, {"accessToken": " ".join(body["scope"]), "expireTime": "2099-01-01T00:00:00Z"})
        if not self.headers.get("Authorization", "").startswith("Bearer ") or self.refused():
            message = "Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied"
            return self.answer(403, {"error": {"code": 403, "message": message}})
        name, _, operation = path.removeprefix("/v1/").rpartition(":")
        if operation == "encrypt":
            return self.answer(200, {"name": name, "ciphertext":
                                     b64encode(hidden(name, b64decode(body["plaintext"]))).decode()})
        if operation == "decrypt":
            return self.answer(200, {"plaintext": b64encode(shown(name, b64decode(body["ciphertext"]))).decode()})
        return self.answer(404, {"error": {"code": 404, "message": "Not found"}})

    do_GET = do_POST = do_PUT = do_any


def certificates(folder):
    """An authority and a certificate that it signed."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=Authority", "-keyout", "authority.key", "-out", "authority.pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=Keys", "-keyout",
            "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=" + ",".join("DNS:" + name for name in NAMES))
    openssl("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "server.pem")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--folder", required=True, type=Path)
    a.add_argument("--port-file", type=Path)
    o = a.parse_args()
    certificates(o.folder)
    Handler.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Handler.context.load_cert_chain(o.folder / "server.pem", o.folder / "server.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if o.port_file:
        part = o.port_file.with_suffix(".part")
        part.write_text(str(server.server_port))
        part.rename(o.port_file)
    else:
        print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
