"""Sends the streams of event_streams.py with sse-starlette on uvicorn, each part with other line ends, and with pings
where no event is cut off.

Usage: starlette_events.py       prints its port, then the facts of each request as JSON
"""

import asyncio
import importlib.metadata
import json
import socket

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from event_streams import CUT_OFF, PARTS, RETRY, fields

LINE_ENDS = ["\r\n", "\r", "\n"]
# In seconds; between two events there are several pings.
PING_INTERVAL = 0.02
PAUSE = 0.1


class Streams:
    """The state of the server: how many parts have been sent."""

    def __init__(self):
        self.count = 0

    def log(self, request, status, comments=0):
        """Prints the facts of a request."""
        facts = {
            "server": f"sse-starlette {importlib.metadata.version('sse-starlette')}",
            "request": [request.method, request.headers.get("last-event-id"), status],
            "accept": request.headers.get("accept"),
            "coding": None,
            "comments": comments,
        }
        print(json.dumps(facts), flush=True)

    def response(self, request, content, separator="\r\n", interval=PING_INTERVAL):
        """Returns a stream with pings, which logs its end; an interval of 0 is none."""
        comments = 0

        def ping():
            nonlocal comments
            comments += 1
            return ServerSentEvent(comment=f"ping {comments}", sep=separator)

        async def logged():
            try:
                async for item in content:
                    yield item
                    await asyncio.sleep(PAUSE)
            finally:
                self.log(request, 200, comments)

        return EventSourceResponse(logged(), sep=separator, ping=interval, ping_message_factory=ping)

    async def get(self, request):
        """Answers with the next part."""
        number = self.count
        self.count += 1
        if number == len(PARTS):
            self.log(request, 204)
            return Response(status_code=204)
        separator = LINE_ENDS[number]

        async def part():
            for position, event in enumerate(PARTS[number]):
                yield ServerSentEvent(**fields(position, event), sep=separator)
            if number == 1:
                yield CUT_OFF.replace("\n", separator).encode()
                # uvicorn closes the connection without the last chunk.
                raise ConnectionAbortedError

        # A ping would complete the event that is cut off.
        return self.response(request, part(), separator, 0 if number == 1 else PING_INTERVAL)

    async def post(self, request):
        """Repeats the content of the request."""
        text = (await request.body()).decode()

        async def echo():
            yield ServerSentEvent(data=text, id="p1", retry=RETRY)
            yield ServerSentEvent(data=request.method, event="done")

        return self.response(request, echo())


def main():
    """Serves until it is killed."""
    streams = Streams()
    application = Starlette(
        routes=[Route("/", streams.get, methods=["GET"]), Route("/", streams.post, methods=["POST"])]
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
