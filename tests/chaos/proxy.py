#!/usr/bin/env python3
"""A proxy in front of one service that is slow and fails on purpose.

    proxy.py --to PORT --port-file FILE [--port PORT] [--raw] [--latency MS] [--faults RATE] [--seed N] [--counts FILE]
             [--hang-at N] [--expire-after N] [--down FROM..TO] [--begin FILE] [--ignore-conditions]
             [--trace FILE]

Each request of HTTP waits for the latency before it is forwarded. With `--faults`, this share of the requests fails in
one of these ways, chosen at random from the seed:
- `busy`: 503, and the request is not forwarded;
- `throttled`: 429 with `Retry-After: 0`, and the request is not forwarded;
- `broken`: the connection is closed before the request is forwarded;
- `lost`: the request is forwarded, and the connection is closed before the answer: the request took effect, but the
  client does not know that.

Further troubles:
- `--hang-at N`: request N is not answered until the client gives up. The seed decides whether it takes effect.
- `--expire-after N`: from request N on, the first credentials that were used have expired. Others are accepted.
- `--down FROM..TO`: between these seconds after the first request, connections are refused, and open connections break.
- `--ignore-conditions`: `If-Match` and `If-None-Match` are removed from writing requests, as some services ignore them.

With `--begin FILE`, these troubles and the faults begin when that file exists: requests and seconds count from then on.
With `--raw`, the proxy passes bytes on for any protocol. In this case, a request is the data that the client sends in
one piece, and only `--hang-at` and `--down` have an effect.

With `--trace`, each request adds a line to that file: the times when the request arrived and when it was answered, in
seconds, its size in bytes, and its first line.

The counts of requests and of troubles are in the file of `--counts` as JSON, written again after each request.
"""
import argparse
import asyncio
import json
import os
import random
import re
import time
import traceback
from collections import Counter
from pathlib import Path

# The ways to fail.
FAULTS = ["busy", "throttled", "broken", "lost"]
# The largest head of a request, in bytes.
LONGEST_HEAD = 1 << 20
# The maximum number of bytes that are passed on at once.
CHUNK = 1 << 16
# The time between two checks whether an outage begins or ends, in seconds.
LOOK = 0.02
# The headers that --ignore-conditions removes.
CONDITIONS = (b"if-match", b"if-none-match", b"x-goog-if-generation-match")


async def message(reader, answers_to=None):
    """One HTTP message: its first line, and all of its bytes. None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None, None
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    bodiless = answers_to == "HEAD" or lines[0].split(" ")[1] in ("204", "304") if answers_to else False
    if bodiless:
        return lines[0], head
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += line + await reader.readexactly(size + 2)
            if size == 0:
                return lines[0], head + body
    if "content-length" in headers:
        return lines[0], head + await reader.readexactly(int(headers["content-length"]))
    if answers_to:
        return lines[0], head + await reader.read()
    return lines[0], head


def identity(request):
    """What identifies the sender of a request: the key of a signature, a token, or a password. None if there is
    nothing."""
    head = request.split(b"\r\n\r\n", 1)[0].decode("latin-1")
    match = re.search(r"(?im)^authorization: *(.+?)\r?$", head)
    if match is None:
        return None
    key = re.search(r"Credential=([^/]+)/", match[1])
    return key[1] if key else match[1]


def expired(request):
    """The answer to expired credentials, in the words of the service that the request is for."""
    head = request.split(b"\r\n\r\n", 1)[0].lower()
    if b"x-amz-target" in head:
        kind, body = "application/x-amz-json-1.0", json.dumps({
            "__type": "com.amazonaws.dynamodb.v20120810#ExpiredTokenException",
            "message": "The security token included in the request is expired"}).encode()
    elif b"aws4-hmac-sha256" in head:
        kind, body = "application/xml", (b"<?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code>"
                                         b"<Message>The provided token has expired.</Message></Error>")
    else:
        body = b'{"error": {"code": 401, "message": "ExpiredToken: the credentials have expired"}}'
        return (f"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                .encode() + body)
    return f"HTTP/1.1 400 Bad Request\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def without_conditions(request):
    """A writing request without conditions. A condition of Cloud Storage is in the query of the request."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    if lines[0].split(b" ")[0] in (b"GET", b"HEAD"):
        return request
    lines[0] = re.sub(rb"(?i)[?&]ifGenerationMatch=\d+", b"", lines[0])
    kept = [line for line in lines if line.split(b":")[0].strip().lower() not in CONDITIONS]
    return b"\r\n".join(kept) + b"\r\n\r\n" + body


class Proxy:
    def __init__(self, options):
        self.options, self.random, self.counts = options, random.Random(options.seed), Counter()
        self.number, self.began, self.old, self.down, self.writers = 0, None, None, False, set()

    def count(self, what):
        self.counts[what] += 1
        if self.options.counts:
            self.options.counts.write_text(json.dumps(self.counts))

    def next(self):
        """The number of a request since the troubles began; 0 before that."""
        self.count("requests")
        begin = self.options.begin
        if begin and not begin.exists():
            return 0
        if self.began is None:
            self.began = asyncio.get_running_loop().time()
        self.number += 1
        return self.number

    async def watch(self, listen):
        """Refuses connections during the outage."""
        server, (begin, end) = await listen(), self.options.down or (None, None)
        while True:
            await asyncio.sleep(LOOK)
            if begin is None or self.began is None:
                continue
            since = asyncio.get_running_loop().time() - self.began
            if begin <= since < end and not self.down:
                self.down = True
                self.count("outages")
                server.close()
                for writer in list(self.writers):
                    writer.transport.abort()
            elif since >= end and self.down:
                self.down, begin = False, None
                server = await listen()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            if self.options.raw:
                await self.pass_on(reader, writer)
            else:
                while await self.one(reader, writer):
                    pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception:
            # A mistake in the proxy must not look like a trouble of the service: nothing works from now on.
            traceback.print_exc()
            os._exit(1)
        finally:
            self.writers.discard(writer)
            writer.close()

    async def hang(self, reader):
        """Waits until the client gives up."""
        self.count("hung")
        while await reader.read(CHUNK):
            pass

    async def one(self, reader, writer):
        """Answers one request. False if the connection is to be closed."""
        first, request = await message(reader)
        if request is None:
            return False
        if not self.options.trace:
            return await self.answer(first, request, reader, writer)
        begin = time.time()
        try:
            return await self.answer(first, request, reader, writer)
        finally:
            with self.options.trace.open("a") as trace:
                trace.write(f"{begin:.3f} {time.time():.3f} {len(request)} {first}\n")

    async def answer(self, first, request, reader, writer):
        """Answers a request that was read. False if the connection is to be closed."""
        number, options = self.next(), self.options
        began = number > 0
        fault = self.random.choice(FAULTS) if began and self.random.random() < options.faults else None
        if fault:
            self.count(fault)
        await asyncio.sleep(options.latency / 1000)
        if options.expire_after and began:
            who = identity(request)
            self.old = self.old or who
            if number >= options.expire_after and who is not None and who == self.old:
                self.count("expired")
                writer.write(expired(request))
                await writer.drain()
                return True
        if options.ignore_conditions:
            request = without_conditions(request)
        if number and number == options.hang_at:
            if self.random.random() < 0.5:
                await self.forward(first.split(" ")[0], request)
            await self.hang(reader)
            return False
        if fault == "broken":
            return False
        if fault in ("busy", "throttled"):
            status = "503 Slow Down" if fault == "busy" else "429 Too Many Requests"
            writer.write(f"HTTP/1.1 {status}\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return True
        answer = await self.forward(first.split(" ")[0], request)
        if fault == "lost" or answer is None or self.down:
            return False
        writer.write(answer)
        await writer.drain()
        return True

    async def forward(self, method, request):
        there, back = await asyncio.open_connection("127.0.0.1", self.options.to, limit=LONGEST_HEAD)
        back.write(request)
        await back.drain()
        while True:
            status, answer = await message(there, answers_to=method)
            if answer is None or status.split(" ")[1] != "100":
                break
        back.close()
        return answer

    async def pass_on(self, reader, writer):
        """Passes the bytes of one connection on, in both directions."""
        there, back = await asyncio.open_connection("127.0.0.1", self.options.to)
        self.writers.add(back)

        async def answers():
            try:
                while data := await there.read(CHUNK):
                    writer.write(data)
                    await writer.drain()
            except ConnectionError:
                pass
            writer.close()
        answering = asyncio.create_task(answers())
        try:
            while data := await reader.read(CHUNK):
                number = self.next()
                await asyncio.sleep(self.options.latency / 1000)
                if number and number == self.options.hang_at:
                    answering.cancel()
                    if self.random.random() < 0.5:
                        back.write(data)
                        await back.drain()
                    await self.hang(reader)
                    return
                back.write(data)
                await back.drain()
        finally:
            self.writers.discard(back)
            back.close()


def span(text):
    begin, dots, end = text.partition("..")
    if not dots or not float(begin) < float(end):
        raise argparse.ArgumentTypeError("FROM..TO are seconds, such as 1..4")
    return float(begin), float(end)


async def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--to", type=int, required=True)
    a.add_argument("--port-file", type=Path, required=True)
    a.add_argument("--port", type=int, default=0)
    a.add_argument("--raw", action="store_true")
    a.add_argument("--latency", type=float, default=0)
    a.add_argument("--faults", type=float, default=0)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--counts", type=Path)
    a.add_argument("--trace", type=Path)
    a.add_argument("--hang-at", type=int, default=0)
    a.add_argument("--expire-after", type=int, default=0)
    a.add_argument("--down", type=span)
    a.add_argument("--begin", type=Path)
    a.add_argument("--ignore-conditions", action="store_true")
    options = a.parse_args()
    proxy = Proxy(options)

    async def listen():
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", options.port, limit=LONGEST_HEAD)
        options.port = server.sockets[0].getsockname()[1]
        return server

    async def tell():
        while not options.port:
            await asyncio.sleep(LOOK)
        part = options.port_file.with_suffix(".part")
        part.write_text(str(options.port))
        os.replace(part, options.port_file)
    await asyncio.gather(proxy.watch(listen), tell())


if __name__ == "__main__":
    asyncio.run(main())
