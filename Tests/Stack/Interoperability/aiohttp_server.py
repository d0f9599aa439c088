"""Serves a JSON Lines recording with aiohttp: as an event stream in gzip to a POST, over a WebSocket to an upgrade.

Usage: aiohttp_server.py RECORDING       prints its port, then one line a response
"""

import asyncio
import json
import pathlib
import sys
import zlib

from aiohttp import web

# A prime number, so that writes end inside of fields, scalars and compressed blocks.
SLICE_LENGTH = 37
GZIP = zlib.MAX_WBITS | 16


def serialized(event):
    """The event's lines, with the comment and the line ends that a gateway may use."""
    kind = json.loads(event)["type"]
    return f": pause\r\n\r\nevent: {kind}\r\ndata: {event}\r\n\r\n".encode()


async def stream(request):
    """Answers a POST with the event stream; it is compressed when the client accepts that."""
    text = await request.text()
    body = json.loads(text)
    if body.get("stream") is not True:
        raise web.HTTPBadRequest(text="stream must be true")
    packs = "gzip" in request.headers.get("Accept-Encoding", "")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    if packs:
        response.headers["Content-Encoding"] = "gzip"
    await response.prepare(request)
    compressor = zlib.compressobj(wbits=GZIP)
    for event in request.app["events"]:
        data = serialized(event)
        if packs:
            data = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
        for start in range(0, len(data), SLICE_LENGTH):
            await response.write(data[start : start + SLICE_LENGTH])
    if packs:
        await response.write(compressor.flush(zlib.Z_FINISH))
    await response.write_eof()
    size = len(text.encode())
    coding = "gzip" if packs else "identity"
    print(f"aiohttp: request of {size} bytes, {len(request.app['events'])} events, {coding}", flush=True)
    return response


async def converse(request):
    """Answers every request of one WebSocket with the recording."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.json().get("type") != "response.create":
            await socket.close(code=1008, message=b"response.create was expected")
            break
        for event in request.app["events"]:
            await socket.send_str(event)
        extension = f"window bits {socket.compress}" if socket.compress else "no extension"
        size = len(message.data.encode())
        print(f"aiohttp: request of {size} bytes, {len(request.app['events'])} messages, {extension}", flush=True)
    return socket


async def main():
    """Serves until it is killed."""
    application = web.Application()
    application["events"] = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    application.add_routes([web.post("/v1/responses", stream), web.get("/v1/responses", converse)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
