"""Passes connections on, for the topology tests: forward.py ADDRESS:PORT TARGET makes a port of the loopback device
reachable at an address.
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


async def main(address, target):
    async def serve(reader, writer):
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", int(target))
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    host, port = address.split(":")
    server = await asyncio.start_server(serve, host, int(port))
    async with server:
        await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
