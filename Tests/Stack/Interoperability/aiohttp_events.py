"""Sends the streams of event_streams.py with aiohttp, in gzip when the client accepts that, with comments.

Usage: aiohttp_events.py plain|gzip|busy       prints its port, then the facts of each request as JSON

`busy` answers the first request with 503.
"""

import asyncio
import json
import sys
import zlib

import aiohttp
from aiohttp import web

from event_streams import CUT_OFF, PARTS, RETRY, fields

# A prime number, so that writes end inside of fields, scalars and compressed blocks.
SLICE_LENGTH = 997
GZIP = zlib.MAX_WBITS | 16


def serialized(values):
    """The lines of an event, behind a comment, with each line of its data in a field of its own."""
    lines = [": pause"]
    for name, value in values.items():
        lines += [f"{name}: {line}" for line in str(value).split("\n")]
    return "\n".join(lines) + "\n\n"


class Streams:
    """The state of the server: how many requests have come."""

    def __init__(self, kind):
        self.kind = kind
        self.count = 0

    def log(self, request, status, coding=None, comments=0):
        """Prints the facts of a request."""
        facts = {
            "server": f"aiohttp {aiohttp.__version__}",
            "request": [request.method, request.headers.get("Last-Event-ID"), status],
            "accept": request.headers.get("Accept"),
            "coding": coding,
            "comments": comments,
        }
        print(json.dumps(facts), flush=True)

    async def send(self, request, texts, is_cut_off=False):
        """Sends a stream, each text on its own; a stream that is cut off has no last chunk."""
        packs = self.kind == "gzip" and "gzip" in request.headers.get("Accept-Encoding", "")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        if packs:
            response.headers["Content-Encoding"] = "gzip"
        await response.prepare(request)
        compressor = zlib.compressobj(wbits=GZIP)
        for text in texts:
            data = text.encode()
            if packs:
                data = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
            for start in range(0, len(data), SLICE_LENGTH):
                await response.write(data[start : start + SLICE_LENGTH])
        self.log(request, 200, "gzip" if packs else None, sum(text.startswith(":") for text in texts))
        if is_cut_off:
            request.transport.close()
        elif packs:
            await response.write(compressor.flush(zlib.Z_FINISH))
        return response

    async def get(self, request):
        """Answers with the next part."""
        number = self.count - (1 if self.kind == "busy" else 0)
        self.count += 1
        if number < 0:
            self.log(request, 503)
            return web.Response(status=503, text="The bottle is being filled.")
        if number == len(PARTS):
            self.log(request, 204)
            return web.Response(status=204)
        texts = [serialized(fields(position, event)) for position, event in enumerate(PARTS[number])]
        if number == 1:
            texts.append(CUT_OFF)
        return await self.send(request, texts, is_cut_off=number == 1)

    async def post(self, request):
        """Repeats the content of the request."""
        text = await request.text()
        events = [{"data": text, "id": "p1", "retry": RETRY}, {"data": request.method, "event": "done"}]
        return await self.send(request, [": begin\n\n"] + [serialized(event) for event in events])


async def main():
    """Serves until it is killed."""
    streams = Streams(sys.argv[1])
    application = web.Application()
    application.add_routes([web.get("/", streams.get, allow_head=False), web.post("/", streams.post)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
