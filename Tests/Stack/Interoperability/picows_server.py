"""Serves a JSON Lines recording over WebSocket with the picows package, which knows no compression.

Usage: picows_server.py RECORDING       prints its port, then one line a response
"""

import asyncio
import json
import pathlib
import sys

from picows import WSListener, WSMsgType, ws_create_server


class Reciter(WSListener):
    """Answers every request of one connection with the recording."""

    def __init__(self, events):
        super().__init__()
        self.events = events
        self.request = bytearray()

    def on_ws_frame(self, transport, frame):
        """Collects the fragments of a request, and answers it."""
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()
            return
        if frame.msg_type not in (WSMsgType.TEXT, WSMsgType.CONTINUATION):
            return
        self.request += frame.get_payload_as_bytes()
        if not frame.fin:
            return
        size, kind = len(self.request), json.loads(self.request).get("type")
        self.request.clear()
        if kind != "response.create":
            transport.send_close(1008, b"response.create was expected")
            return
        for event in self.events:
            transport.send(WSMsgType.TEXT, event)
        print(f"picows: request of {size} bytes, {len(self.events)} messages, no extension", flush=True)


async def main():
    """Serves until it is killed."""
    events = pathlib.Path(sys.argv[1]).read_bytes().splitlines()
    server = await ws_create_server(lambda request: Reciter(events), "127.0.0.1", 0, enable_auto_pong=True)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
