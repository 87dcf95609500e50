#!/usr/bin/env python3
"""An HTTP proxy in front of one service that is slow and fails on purpose.

    proxy.py --to PORT --port-file FILE [--latency MS] [--faults RATE] [--seed N] [--counts FILE]

Each request waits for the latency before it is forwarded. With faults, that part of the requests fails in one of these
ways, chosen at random from the seed:
- `busy`: 503, and the request is not forwarded;
- `throttled`: 429 with `Retry-After: 0`, and the request is not forwarded;
- `broken`: the connection is closed before the request is forwarded;
- `lost`: the request is forwarded, and the connection is closed before the answer: it took effect, and nobody knows.

The counts of requests and of faults are in the file as JSON, written again after each request.
"""
import argparse
import asyncio
import json
import os
import random
from collections import Counter
from pathlib import Path

# The ways to fail.
FAULTS = ["busy", "throttled", "broken", "lost"]
# The largest head of a request, in bytes.
LONGEST_HEAD = 1 << 20
# The pause between two attempts to connect to the service, in seconds.
PAUSE = 0.05


async def message(reader, answers_to=None):
    """One HTTP message as bytes, or None at the end of the connection."""
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


class Proxy:
    def __init__(self, options):
        self.options, self.random, self.counts = options, random.Random(options.seed), Counter()

    async def serve(self, reader, writer):
        try:
            while await self.one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        """Answers one request. False if the connection is to be closed."""
        first, request = await message(reader)
        if request is None:
            return False
        self.counts["requests"] += 1
        fault = self.random.choice(FAULTS) if self.random.random() < self.options.faults else None
        if fault:
            self.counts[fault] += 1
        if self.options.counts:
            self.options.counts.write_text(json.dumps(self.counts))
        await asyncio.sleep(self.options.latency / 1000)
        if fault == "broken":
            return False
        if fault in ("busy", "throttled"):
            status = "503 Slow Down" if fault == "busy" else "429 Too Many Requests"
            writer.write(f"HTTP/1.1 {status}\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return True
        answer = await self.forward(first.split(" ")[0], request)
        if fault == "lost" or answer is None:
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


async def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--to", type=int, required=True)
    a.add_argument("--port-file", type=Path, required=True)
    a.add_argument("--latency", type=float, default=0)
    a.add_argument("--faults", type=float, default=0)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--counts", type=Path)
    options = a.parse_args()
    proxy = Proxy(options)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=LONGEST_HEAD)
    port = server.sockets[0].getsockname()[1]
    part = options.port_file.with_suffix(".part")
    part.write_text(str(port))
    os.replace(part, options.port_file)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
