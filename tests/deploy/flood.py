"""Opens connections that are refused, as many as it can: flood.py ADDRESS:PORT SECONDS [SILENT]

Each connection sends random bytes or the beginning of a TLS greeting, and is closed. SILENT others (0 by default) stay
open all the time and send nothing. Prints the number of connections and the rate, as JSON.
"""
import json
import os
import resource
import selectors
import socket
import sys
import time

# The number of concurrent connections. With this number, the machine opens connections as fast as it can.
WIDTH = 128
# The beginning of a TLS 1.3 handshake record with a greeting of 512 bytes. The rest of the greeting is never sent.
GREETING = bytes.fromhex("16030102000100 01fc0303".replace(" ", ""))


def begin(selector, address, number):
    """Begins a connection. Returns whether the system had a free socket."""
    try:
        caller = socket.socket()
    except OSError:
        return False
    caller.setblocking(False)
    # Closing does not wait for the last packets, so that ports are free again at once.
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if caller.connect_ex(address) not in (0, 115):
        caller.close()
        return False
    selector.register(caller, selectors.EVENT_WRITE, number)
    return True


def main(target, seconds, silent="0"):
    host, port = target.rsplit(":", 1)
    address = (host, int(port))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    waiting = []
    for _ in range(int(silent)):
        try:
            waiting.append(socket.create_connection(address, 5))
        except OSError:
            break
    selector = selectors.DefaultSelector()
    made = failed = begun = 0
    start = time.monotonic()
    while time.monotonic() - start < float(seconds):
        while len(selector.get_map()) < WIDTH and begin(selector, address, begun):
            begun += 1
        for key, _ in selector.select(0.1):
            caller = key.fileobj
            selector.unregister(caller)
            try:
                caller.send(os.urandom(64) if key.data % 2 else GREETING)
                made += 1
            except OSError:
                failed += 1
            caller.close()
    took = time.monotonic() - start
    print(json.dumps({"connections": made, "failed": failed, "silent": len(waiting), "per_second": round(made / took)}))


main(*sys.argv[1:])
