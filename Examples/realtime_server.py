"""A scripted server with the shape of OpenAI's Realtime API, in text, for the example Realtime. It has no model.

Usage: realtime_server.py       prints its port, then serves until it is ended

A question is answered with its own words, one in each event. One that asks for everything has an answer without an end,
which the client has to cancel, and one that asks for an error gets one. Half of the events come in two fragments, and a
ping stands in the middle of each answer.
"""

import asyncio
import base64
import contextlib
import hashlib
import itertools
import json

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10


def frame(opcode, payload, is_final=True):
    """Returns a frame of a server (RFC 6455 section 5.2)."""
    head = bytes([0x80 * is_final | opcode])
    length = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2, "big")
    return head + length + payload


async def read_frame(reader):
    """Returns the opcode and the payload of a client's frame, which is masked."""
    head = await reader.readexactly(2)
    length = head[1] & 0x7F
    if length >= 126:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    mask = await reader.readexactly(4)
    payload = await reader.readexactly(length)
    return head[0] & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


class Session:
    """One connection: its conversation, and the answer that runs."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.question = ""
        self.answer = None
        self.numbers = itertools.count(1)

    async def send(self, kind, **members):
        """Sends an event."""
        number = next(self.numbers)
        text = json.dumps({"type": kind, "event_id": f"event_{number}", **members}).encode()
        cut = len(text) // 2 if number % 2 else len(text)
        if cut < len(text):
            self.writer.write(frame(TEXT, text[:cut], is_final=False) + frame(CONTINUATION, text[cut:]))
        else:
            self.writer.write(frame(TEXT, text))
        await self.writer.drain()

    async def respond(self, question):
        """Sends an answer."""
        response = {"object": "realtime.response", "id": "resp_1", "status": "in_progress"}
        await self.send("response.created", response=response)
        self.writer.write(frame(PING, b"are you there?"))
        words = itertools.repeat("and so on ") if "everything" in question else question.split(" ")
        try:
            for index, word in enumerate(words):
                delta = word if "everything" in question or index == 0 else " " + word
                await self.send("response.output_text.delta", response_id="resp_1", delta=delta)
                # Lets the connection be read: an answer without an end has to notice its cancellation.
                await asyncio.sleep(0)
            response["status"] = "completed"
        except asyncio.CancelledError:
            response["status"] = "cancelled"
        # The client may have left.
        with contextlib.suppress(ConnectionError):
            await self.send("rate_limits.updated", rate_limits=[])
            await self.send("response.done", response=response)

    async def receive(self, event):
        """Performs a client's event."""
        match event:
            case {"type": "session.update", "session": {"type": "realtime", "output_modalities": ["text"]}}:
                await self.send("session.updated", session=event["session"])
            case {"type": "conversation.item.create", "item": {"role": "user", "content": [{"text": text}]}}:
                self.question = text
                await self.send("conversation.item.added", item=event["item"])
            case {"type": "response.create"} if "error" not in self.question:
                self.answer = asyncio.create_task(self.respond(self.question))
            case {"type": "response.cancel"} if self.answer and not self.answer.done():
                self.answer.cancel()
            case _:
                error = {"type": "invalid_request_error", "code": "not_in_the_script"}
                await self.send("error", error=error | {"event_id": event.get("event_id")})

    async def run(self):
        """Performs the opening handshake, and serves to the end."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        key = next(line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key"))
        if fields.get("authorization") != "bearer key-1":
            self.writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            return
        accept = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
        self.writer.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        await self.send("session.created", session={"object": "realtime.session", "model": "script"})
        while True:
            opcode, payload = await read_frame(self.reader)
            if opcode == CLOSE:
                self.writer.write(frame(CLOSE, payload))
                return
            if opcode == TEXT:
                await self.receive(json.loads(payload))


async def serve(reader, writer):
    """Serves a connection."""
    session = Session(reader, writer)
    try:
        await session.run()
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        if session.answer:
            session.answer.cancel()
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
