"""Serves a JSON Lines recording over WebSocket with the websockets package: compressed, and each message in fragments.

Usage: websockets_server.py RECORDING       prints its port, then one line a connection
"""

import asyncio
import json
import pathlib
import sys

from websockets.asyncio.server import serve

FRAGMENT_LENGTH = 100


def fragments(message):
    """Yields a message in pieces; each becomes a frame."""
    for start in range(0, len(message), FRAGMENT_LENGTH):
        yield message[start : start + FRAGMENT_LENGTH]


async def answer(connection, events):
    """Answers every request of one connection with the recording."""
    async for message in connection:
        if json.loads(message).get("type") != "response.create":
            await connection.close(1008, "response.create was expected")
            return
        for event in events:
            await connection.send(fragments(event))
        extensions = connection.response.headers.get("Sec-WebSocket-Extensions", "no extension")
        size = len(message.encode())
        print(f"websockets: request of {size} bytes, {len(events)} fragmented messages, {extensions}", flush=True)


async def main():
    """Serves until it is killed."""
    events = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    async with serve(lambda connection: answer(connection, events), "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
