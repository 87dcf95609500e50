"""Azurite, a server like the blob service of Azure, on a stage.

The addresses of the backend `azurerm` cannot be changed, so the server stands behind a proxy: a client with the
environment of `Azurite.env` finds it at https://states1.blob.core.windows.net.
"""
import base64
import hashlib
import hmac
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from email.utils import formatdate
from socketserver import StreamRequestHandler, ThreadingTCPServer

from stage import Broken, answers, free_port, wait_until

ACCOUNT, CONTAINER = "states1", "states"
HOST = f"{ACCOUNT}.blob.core.windows.net"
# The version of the interface for the one request of this module.
VERSION = "2021-12-02"


class Azurite:
    """A server with the container `states` in the account `states1`."""

    def __init__(self, stage):
        self.port = free_port()
        self.folder = stage.path / "azurite"
        self.folder.mkdir()
        self.key = base64.b64encode(os.urandom(32)).decode()
        self.certificate()
        env = {**stage.env, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{self.key}"}
        self.process = stage.start(
            "azurite", self.program(), "--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry",
            "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--cert", "host.pem", "--key", "host.key",
            cwd=self.folder, env=env)
        # The times of `time.monotonic` at which an outage begins and ends. During an outage, the proxy breaks all
        # connections.
        self.outage = (0, 0)
        self.proxy = ThreadingTCPServer(("127.0.0.1", 0), self.handler())
        self.proxy.daemon_threads = True
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        stage.at_exit(self.close)
        wait_until("the start of Azurite", lambda: answers(self.port) or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"Azurite did not start:\n{self.process.tail()}")
        self.create_container()

    @staticmethod
    def program():
        return os.environ.get("WEFT_AZURITE") or shutil.which("azurite-blob")

    @staticmethod
    def there():
        return Azurite.program() is not None and shutil.which("openssl") is not None

    def url(self):
        """The address of the proxy."""
        return f"http://127.0.0.1:{self.proxy.server_address[1]}"

    def env(self):
        """The environment of a client, with the key of the account."""
        return {"HTTPS_PROXY": self.url(), "NO_PROXY": "127.0.0.1,localhost",
                "SSL_CERT_FILE": str(self.folder / "ca.pem"), "ARM_ACCESS_KEY": self.key}

    def go_down(self, begin, end):
        """Breaks all connections between these two times, in seconds from now."""
        now = time.monotonic()
        self.outage = (now + begin, now + end)

    def is_down(self):
        return self.outage[0] <= time.monotonic() < self.outage[1]

    def close(self):
        self.proxy.shutdown()
        self.proxy.server_close()

    def certificate(self):
        """`host.pem` with its key in `host.key`, signed by `ca.pem`."""
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder)
        for name in ("ca", "host"):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=authority", "-days", "2", "-out", "ca.pem")
        openssl("req", "-new", "-key", "host.key", "-subj", "/CN=host", "-out", "host.csr")
        (self.folder / "host.ext").write_text(f"subjectAltName=DNS:{HOST}\n")
        openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "host.ext", "-out", "host.pem")

    def handler(self):
        target, server = ("127.0.0.1", self.port), self

        class Connect(StreamRequestHandler):
            """Passes the connection of a CONNECT request on to the server."""

            def handle(self):
                if server.is_down():
                    return
                words = self.rfile.readline().split()
                while self.rfile.readline().strip():
                    pass
                if len(words) < 2 or words[0] != b"CONNECT" or words[1].decode() != f"{HOST}:443":
                    self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
                    return
                with socket.create_connection(target) as far:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    back = threading.Thread(target=pump, args=(far, self.connection, server), daemon=True)
                    back.start()
                    pump(self.connection, far, server)
                    back.join()

        return Connect

    def create_container(self):
        date = formatdate(usegmt=True)
        text = "\n".join(["PUT", *[""] * 11, f"x-ms-date:{date}", f"x-ms-version:{VERSION}",
                          f"/{ACCOUNT}/{CONTAINER}", "restype:container"])
        signature = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        request = urllib.request.Request(f"https://{HOST}/{CONTAINER}?restype=container", method="PUT", headers={
            "x-ms-date": date, "x-ms-version": VERSION,
            "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"})
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"https": self.url()}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.folder / "ca.pem")))
        opener.open(request).close()


def pump(source, target, server):
    """Passes bytes on until one side ends, or the server is down."""
    try:
        while (data := source.recv(1 << 16)) and not server.is_down():
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
        if server.is_down():
            source.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
