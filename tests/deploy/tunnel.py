"""Passes connections on, for the topology tests.

    tunnel.py port ADDRESS:PORT TARGET   from an address to a port of the loopback device
    tunnel.py far SOCKET PORT            from a Unix socket to a port of the loopback device
    tunnel.py near SOCKET PORT           from a port of the loopback device to a Unix socket
"""
import asyncio
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main(side, one, other):
    async def serve(reader, writer):
        try:
            if side == "near":
                inner, outer = await asyncio.open_unix_connection(one)
            else:
                inner, outer = await asyncio.open_connection("127.0.0.1", int(other))
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    if side == "port":
        host, port = one.split(":")
        server = await asyncio.start_server(serve, host, int(port))
    elif side == "far":
        server = await asyncio.start_unix_server(serve, one)
    else:
        server = await asyncio.start_server(serve, "127.0.0.1", int(other))
    async with server:
        await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
