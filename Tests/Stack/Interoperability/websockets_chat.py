"""Converses over WebSocket with the websockets package: websocket_chat.py describes the commands.

Usage: websockets_chat.py       prints its port, then the facts of each connection as JSON
"""

import asyncio
import contextlib
import hashlib
import json
import logging

import websockets
from websockets.asyncio.server import serve
from websockets.frames import Opcode

FRAGMENT_LENGTH = 7
PING_CONTENT = b"are you there?"


class FrameCounter(logging.Handler):
    """Counts the frames that were received, which the package only logs."""

    def __init__(self):
        super().__init__()
        self.pings = 0
        self.pinged = asyncio.Event()

    def emit(self, record):
        """Notes a ping."""
        if record.msg == "< %s" and record.args[0].opcode is Opcode.PING:
            self.pings += 1
            self.pinged.set()


def fragments(data):
    """Yields pieces that may end inside of a scalar; each becomes a frame."""
    for start in range(0, len(data), FRAGMENT_LENGTH):
        yield data[start : start + FRAGMENT_LENGTH]


async def answer(connection, message, frames):
    """Performs a command, and sends any other message back."""
    command, _, argument = message.partition(" ") if isinstance(message, str) else ("", "", "")
    if command == "/fragments":
        await connection.send(fragments(argument.encode()), text=True)
    elif command == "/ping":
        await (await connection.ping(PING_CONTENT))
        await connection.send("pong received")
    elif command == "/pings":
        while frames.pings < int(argument):
            frames.pinged.clear()
            await frames.pinged.wait()
        await connection.send("pings received")
    elif command == "/close":
        code, _, reason = argument.partition(" ")
        await connection.close(int(code), reason)
    else:
        await connection.send(message)


async def converse(connection, frames):
    """Answers the messages of one connection, and prints its facts."""
    messages = []
    with contextlib.suppress(websockets.ConnectionClosed):
        async for message in connection:
            kind, data = ("text", message.encode()) if isinstance(message, str) else ("binary", message)
            messages.append([kind, len(data), hashlib.sha256(data).hexdigest()])
            await answer(connection, message, frames)
    await connection.wait_closed()
    facts = {
        "server": f"websockets {websockets.__version__}",
        "subprotocol": connection.subprotocol,
        "extensions": connection.response.headers.get("Sec-WebSocket-Extensions"),
        "messages": messages,
        "pings": frames.pings,
        "close": connection.close_code,
    }
    print(json.dumps(facts), flush=True)


def chosen(_, offered):
    """The subprotocol that is agreed on, if it was offered; the package itself refuses clients that offer none."""
    return "bottle.v2" if "bottle.v2" in offered else None


async def main():
    """Serves until it is killed; one connection at a time."""
    frames = FrameCounter()
    logger = logging.getLogger("chat")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(frames)
    options = {"select_subprotocol": chosen, "logger": logger}
    async with serve(lambda connection: converse(connection, frames), "127.0.0.1", 0, **options) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
