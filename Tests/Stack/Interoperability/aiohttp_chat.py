"""Converses over WebSocket with aiohttp: websocket_chat.py describes the commands.

aiohttp cannot send a message in fragments, so the message of that command has one frame.

Usage: aiohttp_chat.py       prints its port, then the facts of each connection as JSON
"""

import asyncio
import hashlib
import json

import aiohttp
from aiohttp import WSMsgType, web

PING_CONTENT = b"are you there?"


class Conversation:
    """One connection; pings and pongs are messages to it."""

    def __init__(self, socket):
        self.socket = socket
        self.messages = []
        self.deferred = []
        self.pings = 0
        self.has_pong = False
        # The frames that a command waits for: a condition, and the message that is sent then.
        self.awaited = None

    async def take(self, message):
        """Handles a message or a control frame."""
        if message.type is WSMsgType.PING:
            await self.socket.pong(message.data)
            self.pings += 1
        elif message.type is WSMsgType.PONG:
            self.has_pong = message.data == PING_CONTENT
        else:
            data = message.data.encode() if message.type is WSMsgType.TEXT else message.data
            self.messages.append([message.type.name.lower(), len(data), hashlib.sha256(data).hexdigest()])
            self.deferred.append(message)
        await self.advance()

    async def advance(self):
        """Answers the messages up to a command that has to wait."""
        while True:
            if self.awaited:
                condition, text = self.awaited
                if not condition():
                    return
                self.awaited = None
                await self.socket.send_str(text)
            if not self.deferred:
                return
            message = self.deferred.pop(0)
            if message.type is WSMsgType.TEXT:
                await self.answer(message.data)
            else:
                await self.socket.send_bytes(message.data)

    async def answer(self, text):
        """Performs a command, and sends any other text back."""
        command, _, argument = text.partition(" ")
        if command == "/ping":
            self.awaited = (lambda: self.has_pong, "pong received")
            await self.socket.ping(PING_CONTENT)
        elif command == "/pings":
            self.awaited = (lambda: self.pings >= int(argument), "pings received")
        elif command == "/close":
            code, _, reason = argument.partition(" ")
            await self.socket.close(code=int(code), message=reason.encode())
        else:
            await self.socket.send_str(argument if command == "/fragments" else text)


async def converse(request):
    """Answers the messages of one connection, and prints its facts."""
    socket = web.WebSocketResponse(protocols=["bottle.v2"], autoping=False)
    await socket.prepare(request)
    conversation = Conversation(socket)
    async for message in socket:
        await conversation.take(message)
    facts = {
        "server": f"aiohttp {aiohttp.__version__}",
        "subprotocol": socket.ws_protocol,
        "extensions": f"permessage-deflate, window bits {socket.compress}" if socket.compress else None,
        "messages": conversation.messages,
        "pings": conversation.pings,
        "close": socket.close_code,
    }
    print(json.dumps(facts), flush=True)
    return socket


async def main():
    """Serves until it is killed."""
    application = web.Application()
    application.add_routes([web.get("/", converse)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
