"""Serves a tool over the streamable HTTP of the mcp package, which keeps events for clients that come back.

Usage: mcp_server.py       prints its port, then the facts of each request as JSON

The tool `pour` reports its progress, closes its own stream in the middle, as the protocol allows since 2025-11-25, and
goes on: the client gets the rest, and the result, with a GET. The tool `spill` fails.
"""

import asyncio
import json
import logging
import socket

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import EventMessage, EventStore

# In milliseconds.
RETRY = 40
GLASSES = 5

server = MCPServer("bottle", log_level="ERROR")


class Events(EventStore):
    """The events of all streams, in memory; the ID is the place in the list."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        """Keeps an event; one without a message only has an ID."""
        self.events.append((stream_id, message))
        return f"event-{len(self.events)}"

    async def replay_events_after(self, last_event_id, send_callback):
        """Sends the events of the same stream behind an ID."""
        place = int(last_event_id.removeprefix("event-"))
        stream = self.events[place - 1][0]
        for number, (stream_id, message) in enumerate(self.events[place:], place + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, f"event-{number}"))
        return stream


@server.tool()
async def pour(bottle: str, context: Context) -> str:
    """Fills glasses, and tells of each."""
    for glass in range(1, GLASSES + 1):
        await context.report_progress(glass, GLASSES, f"glass {glass}")
        if glass == 2:
            # What is written now has gone out when the stream is closed.
            await asyncio.sleep(0.1)
            await context.close_sse_stream()
    return f"{GLASSES} glasses of {bottle}"


@server.tool()
async def spill() -> str:
    """Fails."""
    raise ToolError("the bottle is empty")


@server.tool()
async def announce(text: str, context: Context) -> str:
    """Sends a notification over the session's own stream."""
    await context.session.send_resource_updated(f"bottle://{text}")
    return "announced"


def observed(application):
    """Wraps an application, and prints the facts of each request when its answer begins."""

    async def handle(scope, receive, send):
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        fields = {name.decode(): value.decode() for name, value in scope["headers"]}

        async def report(message):
            if message["type"] == "http.response.start":
                answered = {name.decode().lower(): value.decode() for name, value in message["headers"]}
                facts = {
                    "request": [scope["method"], fields.get("last-event-id"), message["status"]],
                    "accept": fields.get("accept"),
                    "session": fields.get("mcp-session-id"),
                    "version": fields.get("mcp-protocol-version"),
                    "type": answered.get("content-type"),
                    "opened": answered.get("mcp-session-id"),
                }
                print(json.dumps(facts), flush=True)
            await send(message)

        await application(scope, receive, report)

    return handle


def main():
    """Serves until it is killed."""
    logging.disable(logging.CRITICAL)
    application = server.streamable_http_app(event_store=Events(), retry_interval=RETRY)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(observed(application), log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
