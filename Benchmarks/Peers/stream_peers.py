"""Reads responses of stream-server with clients of PyPI, and times it.

Usage: stream_peers.py CLIENT TASK

CLIENT is one of CLIENTS. TASK is JSON: `sizes`, in ascending order, each a number of deltas, the URL of a server that
sends them, and the file of its certificate or null; `streamCount`, the number of simultaneous streams; `isCompressed`;
`isChat`, whether the streams are of Chat Completions; `seconds`, the time of a run; `runCount`, the number of timed
runs. The output is one line of JSON with the counts of a first pass and the times of the runs after it. The clock starts
when WebSockets are open and requests are not yet sent; over HTTP, before the connection.
"""

import asyncio
import importlib.metadata
import json
import ssl
import sys
import time
import zlib

DELTA = "response.output_text.delta"
COMPLETED = "response.completed"
REQUEST = json.dumps({"type": "response.create", "model": "paper-and-ink", "input": "Tell me about the bottle."})


class Tally:
    """The counts of one stream: its events, the size of their content, and a CRC-32 of that content."""

    def __init__(self, name, event_count=0, size=0, checksum=None):
        self.name = name
        self.event_count = event_count
        self.size = size
        self.checksum = checksum

    def members(self):
        sum_name = self.name.replace("ByteCount", "Checksum").replace("CharacterCount", "Checksum")
        found = {"eventCount": self.event_count, self.name: self.size}
        return found if self.checksum is None else {**found, sum_name: self.checksum}


class Client:
    """A stream that is opened, read to its end, and closed."""

    def __init__(self, task, size, checks):
        self.task = task
        self.delta_count, self.url, self.certificate = size
        self.checks = checks

    async def open(self):
        """Opens a connection, before the clock starts."""

    async def close(self):
        """Closes the connection."""

    @property
    def trust(self):
        """A TLS context that trusts the server's certificate; None without one."""
        return ssl.create_default_context(cafile=self.certificate) if self.certificate else None

    def demand(self, is_compressed):
        """Raises an error when a stream is compressed and should not be, or the other way round."""
        if bool(is_compressed) != self.task["isCompressed"]:
            raise RuntimeError("the stream is compressed" if is_compressed else "the stream is not compressed")

    def demand_encoding(self, fields):
        """The same check, by the Content-Encoding of a response."""
        self.demand(fields.get("content-encoding") == "gzip")

    def counted(self, texts):
        """Counts the texts of deltas, with a checksum of them in the pass that checks."""
        event_count = size = checksum = 0
        for text in texts:
            event_count += 1
            size += len(text)
            if self.checks:
                checksum = zlib.crc32(text.encode(), checksum)
        return Tally("textCharacterCount", event_count, size, checksum if self.checks else None)


def typed_deltas(events):
    """The texts of openai's events."""
    for event in events:
        if event.type == DELTA:
            yield event.delta
        elif event.type == COMPLETED:
            return


def chat_deltas(chunks):
    """The texts of openai's chunks of a chat completion."""
    for chunk in chunks:
        if text := chunk.choices[0].delta.content:
            yield text


def parsed_deltas(messages):
    """The texts in messages that are JSON."""
    loads = json.loads
    for message in messages:
        event = loads(message)
        if event["type"] == DELTA:
            yield event["delta"]
        elif event["type"] == COMPLETED:
            return


class OpenAIClient(Client):
    async def open(self):
        import httpx
        import openai

        verified = httpx.Client(verify=self.trust) if self.trust else None
        self.client = openai.OpenAI(base_url=self.url, api_key="sk-fake", max_retries=0, http_client=verified)


class OpenAIWebSocket(OpenAIClient):
    async def open(self):
        await super().open()
        options = {"ssl": self.trust} if self.trust else {}
        options |= {"compression": "deflate"} if self.task["isCompressed"] else {}
        self.connection = self.client.responses.connect(websocket_connection_options=options).enter()
        self.demand(self.connection._connection.protocol.extensions)

    async def read(self):
        self.connection.response.create(model="paper-and-ink", input="Tell me about the bottle.")
        return self.counted(typed_deltas(self.connection))

    async def close(self):
        self.connection.close()


class OpenAIEventStream(OpenAIClient):
    async def close(self):
        self.client.close()

    async def read(self):
        request = {"model": "paper-and-ink", "input": "Tell me about the bottle.", "stream": True}
        with self.client.responses.create(**request) as stream:
            self.demand_encoding(stream.response.headers)
            return self.counted(typed_deltas(stream))


class OpenAIChat(OpenAIEventStream):
    async def read(self):
        messages = [{"role": "user", "content": "Tell me about the bottle."}]
        with self.client.chat.completions.create(model="paper-and-ink", messages=messages, stream=True) as stream:
            self.demand_encoding(stream.response.headers)
            return self.counted(chat_deltas(stream))


class HTTPXEventStream(Client):
    async def open(self):
        import httpx

        # A new client reads all trusted certificates, which a program does once.
        self.client = httpx.Client(verify=self.trust or True)

    async def read(self):
        import httpx_sse

        with httpx_sse.connect_sse(self.client, "GET", self.url + "/responses") as source:
            self.demand_encoding(source.response.headers)
            return self.counted(parsed_deltas(event.data for event in source.iter_sse()))

    async def close(self):
        self.client.close()


class Websockets(Client):
    """The client of `websockets` on asyncio, with JSON."""

    async def open(self):
        from websockets.asyncio.client import connect

        compression = "deflate" if self.task["isCompressed"] else None
        trust = {"ssl": self.trust} if self.trust else {}
        self.connection = await connect(self.url + "/responses", compression=compression, proxy=None, **trust)
        self.demand(self.connection.protocol.extensions)

    async def read(self):
        await self.connection.send(REQUEST)
        receive, loads = self.connection.recv, json.loads
        event_count = size = checksum = 0
        while True:
            event = loads(await receive())
            if event["type"] == DELTA:
                text = event["delta"]
                event_count += 1
                size += len(text)
                if self.checks:
                    checksum = zlib.crc32(text.encode(), checksum)
            elif event["type"] == COMPLETED:
                return Tally("textCharacterCount", event_count, size, checksum if self.checks else None)

    async def close(self):
        # Aborts, so that no time is spent waiting for the server's close.
        self.connection.transport.abort()


class AIOHTTPClient(Client):
    async def open(self):
        import aiohttp

        self.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        self.options = {"ssl": self.trust} if self.trust else {}

    async def close(self):
        await self.session.close()


class AIOHTTPWebSocket(AIOHTTPClient):
    """aiohttp's WebSocket, with JSON."""

    async def open(self):
        await super().open()
        compress = 15 if self.task["isCompressed"] else 0
        self.socket = await self.session.ws_connect(
            self.url + "/responses", compress=compress, **self.options)
        self.demand(self.socket.compress)

    async def read(self):
        await self.socket.send_str(REQUEST)
        loads = json.loads
        event_count = size = checksum = 0
        async for message in self.socket:
            event = loads(message.data)
            if event["type"] == DELTA:
                text = event["delta"]
                event_count += 1
                size += len(text)
                if self.checks:
                    checksum = zlib.crc32(text.encode(), checksum)
            elif event["type"] == COMPLETED:
                break
        return Tally("textCharacterCount", event_count, size, checksum if self.checks else None)


class AIOHTTPLines(AIOHTTPClient):
    """A body line by line, with JSON after `data: `: a common shortcut, not a conforming parser."""

    async def read(self):
        loads = json.loads
        event_count = size = checksum = 0
        async with self.session.get(self.url + "/responses", **self.options) as response:
            response.raise_for_status()
            self.demand_encoding(response.headers)
            async for line in response.content:
                if not line.startswith(b"data: "):
                    continue
                event = loads(line[6:])
                if event["type"] == DELTA:
                    text = event["delta"]
                    event_count += 1
                    size += len(text)
                    if self.checks:
                        checksum = zlib.crc32(text.encode(), checksum)
                elif event["type"] == COMPLETED:
                    break
        return Tally("textCharacterCount", event_count, size, checksum if self.checks else None)


class Picows(Client):
    """picows, whose listener is called for each frame: here with a listener that decodes JSON."""

    loads = staticmethod(json.loads)
    takes_bytes = False

    async def open(self):
        import picows

        self.end = asyncio.get_running_loop().create_future()
        trust = {"ssl_context": self.trust} if self.trust else {}
        url = self.url + "/responses"
        self.transport, self.listener = await picows.ws_connect(lambda: self.make_listener(picows), url, **trust)
        self.demand(self.transport.response.headers.get("Sec-WebSocket-Extensions"))

    def make_listener(self, picows):
        checks, end, loads, takes_bytes = self.checks, self.end, self.loads, self.takes_bytes

        class Listener(picows.WSListener):
            def __init__(self):
                self.event_count = self.size = self.checksum = 0

            def on_ws_frame(self, transport, frame):
                event = loads(frame.get_payload_as_bytes() if takes_bytes else frame.get_payload_as_utf8_text())
                if event["type"] == DELTA:
                    text = event["delta"]
                    self.event_count += 1
                    self.size += len(text)
                    if checks:
                        self.checksum = zlib.crc32(text.encode(), self.checksum)
                elif event["type"] == COMPLETED:
                    end.set_result("textCharacterCount")

            def on_ws_disconnected(self, transport):
                if not end.done():
                    end.set_exception(ConnectionError("the connection ended"))

        return Listener()

    async def read(self):
        import picows

        self.transport.send(picows.WSMsgType.TEXT, REQUEST.encode())
        name = await self.end
        found = self.listener
        return Tally(name, found.event_count, found.size, found.checksum if self.checks else None)

    async def close(self):
        # A stream that is given up has no end to wait for.
        self.end.cancel()
        self.transport.disconnect(graceful=False)


class FastPicows(Picows):
    """The same with orjson."""

    takes_bytes = True

    async def open(self):
        import orjson

        self.loads = orjson.loads
        await super().open()


class BarePicows(Picows):
    """The same without JSON: it counts frames and their bytes."""

    def make_listener(self, picows):
        wanted, checks, end = self.delta_count + 2, self.checks, self.end

        class Listener(picows.WSListener):
            def __init__(self):
                self.frame_count = self.size = self.checksum = 0

            def on_ws_frame(self, transport, frame):
                self.size += frame.payload_size
                self.frame_count += 1
                if checks:
                    self.checksum = zlib.crc32(frame.get_payload_as_memoryview(), self.checksum)
                if self.frame_count == wanted:
                    end.set_result("payloadByteCount")

            def on_ws_disconnected(self, transport):
                if not end.done():
                    end.set_exception(ConnectionError("the connection ended"))

            @property
            def event_count(self):
                return self.frame_count - 2

        return Listener()


CLIENTS = {
    "openai-websocket": ("openai", OpenAIWebSocket),
    "openai-sse": ("openai", OpenAIEventStream),
    "openai-chat": ("openai", OpenAIChat),
    "httpx-sse": ("httpx-sse", HTTPXEventStream),
    "websockets-json": ("websockets", Websockets),
    "aiohttp-json": ("aiohttp", AIOHTTPWebSocket),
    "aiohttp-lines-json": ("aiohttp", AIOHTTPLines),
    "picows-json": ("picows", Picows),
    "picows-orjson": ("picows", FastPicows),
    "picows-bare": ("picows", BarePicows),
}


async def run(make, task, size, checks=False):
    """Reads all streams once; returns wall and processor seconds, and the counts of each stream."""
    clients = [make(task, size, checks) for _ in range(task["streamCount"])]
    try:
        await asyncio.gather(*(client.open() for client in clients))
        processor, wall = time.process_time(), time.perf_counter()
        tallies = await asyncio.gather(*(client.read() for client in clients))
        times = {"seconds": time.perf_counter() - wall, "processorSeconds": time.process_time() - processor}
    finally:
        await asyncio.gather(*(client.close() for client in clients), return_exceptions=True)
    return {**times, "streams": [tally.members() for tally in tallies]}


async def measure(make, task):
    """Finds the largest response that can be read in the time of a run, checks it, and times it."""
    chosen = task["sizes"][0]
    # A pass before all others loads modules and fills caches.
    await run(make, task, chosen)
    for size in task["sizes"][1:]:
        elapsed = (await run(make, task, chosen))["seconds"]
        if elapsed * size[0] / chosen[0] > task["seconds"]:
            break
        chosen = size
    first = await run(make, task, chosen, checks=True)
    runs = [await run(make, task, chosen) for _ in range(task["runCount"])]
    return {"deltaCount": chosen[0], "check": first, "runs": runs}


def main():
    import uvloop

    distribution, make = CLIENTS[sys.argv[1]]
    task = json.loads(sys.argv[2])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(measure(make, task))
    print(json.dumps({"version": importlib.metadata.version(distribution), **result}))


main()
