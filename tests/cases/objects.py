"""The common part of the servers for the backends `cos` and `oss`: objects by key, with versions if versioning is
enabled, answers in XML, and a proxy that plays the servers of other hosts over TLS.

The certificates are made with `openssl`; the authority is written to a file. Requests to the server itself:
`/-/versions` turns on versions, `/-/objects` lists the keys of all objects as JSON, `/-/drop?times=N` does the work of
the next N writes of objects and drops the answers, `/-/hosts` lists the hosts that were asked.
"""
import hashlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import RLock
from urllib.parse import parse_qsl, unquote, urlparse
from xml.sax.saxutils import escape

# The hosts of the certificate.
NAMES = ["*.tencentcloudapi.com", "*.cos.ap-guangzhou.myqcloud.com", "*.cos.accelerate.myqcloud.com",
         "*.aliyuncs.com", "sts.cn-beijing.aliyuncs.com", "*.oss-cn-beijing.aliyuncs.com",
         "*.cn-beijing.ots.aliyuncs.com", "localhost"]


def tls(ca):
    """The settings of a server with a certificate for the hosts. The authority's certificate is written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
        for name in ("ca", "host"):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=authority", "-days", "2", "-out", "ca.pem")
        openssl("req", "-new", "-key", "host.key", "-subj", "/CN=host", "-out", "host.csr")
        names = ",".join(f"DNS:{name}" for name in NAMES)
        Path(folder, "host.ext").write_text(f"subjectAltName=IP:127.0.0.1,{names}\n")
        openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", "host.ext", "-out", "host.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(folder, "host.pem"), Path(folder, "host.key"))
        Path(ca).write_text(Path(folder, "ca.pem").read_text())
    return context


def crc64(content):
    """The checksum that the services' own libraries expect after a write (ECMA-182)."""
    crc = 2**64 - 1
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xC96C5795D7870F42 if crc & 1 else 0)
    return crc ^ (2**64 - 1)


class Refused(Exception):
    """An error that the service answers with."""

    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class Objects:
    """The objects of a bucket: lists of versions by key, the latest first. A version without content is a deletion."""

    def __init__(self):
        self.versioned, self.versions, self.count = False, {}, 0

    def get(self, key):
        found = self.versions.get(key)
        if not found or found[0]["content"] is None:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        return found[0]

    def put(self, key, content, headers, forbid):
        if forbid and not self.versioned and key in self.versions:
            raise Refused(409, "FileAlreadyExists", "The object you specified already exists.")
        return self.add(key, content, headers)

    def add(self, key, content, headers):
        self.count += 1
        version = {"id": f"v{self.count}", "content": content, "headers": headers}
        self.versions[key] = [version] + (self.versions.get(key, []) if self.versioned else [])
        return version

    def delete(self, key, version):
        if version:
            self.versions[key] = [found for found in self.versions.get(key, []) if found["id"] != version]
        elif self.versioned and key in self.versions:
            self.add(key, None, {})
        else:
            self.versions.pop(key, None)
        if not self.versions.get(key):
            self.versions.pop(key, None)

    def keys(self):
        return sorted(key for key, found in self.versions.items() if found[0]["content"] is not None)

    def listing(self, query):
        prefix, marker = query.get("prefix", ""), query.get("marker", "")
        size = int(query.get("max-keys") or 1000)
        if "versions" in query:
            keys = sorted(key for key in self.versions if key.startswith(prefix))
            body = "".join(self.entry(key, found) for key in keys for found in self.versions[key])
            return f"<ListVersionsResult>{body}</ListVersionsResult>"
        keys = [key for key in self.keys() if key.startswith(prefix) and key > marker]
        more = len(keys) > size
        body = "".join(f"<Contents><Key>{escape(key)}</Key><Size>1</Size></Contents>" for key in keys[:size])
        return f"<ListBucketResult>{body}<IsTruncated>{str(more).lower()}</IsTruncated></ListBucketResult>"

    @staticmethod
    def entry(key, found):
        name = "DeleteMarker" if found["content"] is None else "Version"
        return f"<{name}><Key>{escape(key)}</Key><VersionId>{found['id']}</VersionId></{name}>"


class Handler(BaseHTTPRequestHandler):
    """Answers three kinds of requests: to the server itself, to the server as a proxy, and to other hosts over TLS."""
    protocol_version = "HTTP/1.1"
    host = None

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.host = self.path.rpartition(":")[0]
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)

    def answer(self, status, body=b"", headers=None):
        if self.lost:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, value, status=200):
        self.answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def handle_any(self):
        self.lost = False
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlparse(self.path)
        host = self.host or url.hostname
        self.query = dict(parse_qsl(url.query, keep_blank_values=True))
        with self.server.mutex:
            if host is None and url.path.startswith("/-/"):
                return self.control(url.path[3:])
            self.server.hosts.append(host or "")
            try:
                return self.work(host, unquote(url.path))
            except Refused as error:
                text = f"<Error><Code>{error.code}</Code><Message>{escape(error.message)}</Message></Error>"
                return self.answer(error.status, text.encode(), {"Content-Type": "application/xml"})

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def control(self, word):
        objects = self.server.objects
        if word == "versions":
            objects.versioned = True
        elif word == "drop":
            self.server.drops = int(self.query["times"])
        elif word == "objects":
            return self.answer_json(objects.keys())
        elif word == "hosts":
            return self.answer_json(self.server.hosts)
        elif word != "":
            return self.control_more(word)
        return self.answer(200)

    def control_more(self, word):
        """Answers a request to the server itself that only one of the two servers supports."""
        self.answer(404)

    def work_on_object(self, key, own):
        """Reads, writes or deletes an object, or lists all objects. `own` is the prefix of the names of the service's
        headers."""
        objects = self.server.objects
        if not key:
            return self.answer(200, objects.listing(self.query).encode(), {"Content-Type": "application/xml"})
        if self.command in ("GET", "HEAD"):
            found = objects.get(key)
            return self.answer(200, found["content"], found["headers"])
        if self.command == "DELETE":
            objects.delete(key, self.query.get("versionId"))
            return self.answer(204)
        kept = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith(f"{own}meta-")}
        kept["ETag"] = f'"{hashlib.md5(self.body).hexdigest().upper()}"'
        made = objects.put(key, self.body, kept, self.headers.get(f"{own}forbid-overwrite") == "true")
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        if self.server.drops:
            self.server.drops, self.lost = self.server.drops - 1, True
        headers = {f"{own}hash-crc64ecma": str(crc64(self.body)), "ETag": kept["ETag"]}
        if objects.versioned:
            headers[f"{own}version-id"] = made["id"]
        return self.answer(200, b"", headers)


def serve(handler, options, **more):
    """Serves until it is interrupted. Writes the port once it listens."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.mutex, server.objects, server.hosts, server.seen, server.drops = RLock(), Objects(), [], [], 0
    server.port = server.server_address[1]
    for name, value in more.items():
        setattr(server, name, value)
    server.context = tls(options.ca)
    if options.port_file:
        with open(options.port_file + ".new", "w") as file:
            file.write(str(server.port))
        os.replace(options.port_file + ".new", options.port_file)
    else:
        print(server.port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
