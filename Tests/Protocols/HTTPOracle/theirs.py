"""Reads responses with h11."""

import collections

import h11

Reading = collections.namedtuple("Reading", "verdict error status minor byte_count content fields phase")


def text_of(value):
    """Returns a value as `String(decoding:as:)` decodes it."""
    return bytes(value).decode("utf-8", "replace")


def connection(exchange):
    """A connection that has sent its request."""
    client = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=1 << 20)
    fields = [("Host", "h")]
    if exchange.method == "POST":
        fields.append(("Content-Length", "0"))
    if exchange.upgrade:
        fields += [("Upgrade", "websocket"), ("Connection", "Upgrade")]
    client.send(h11.Request(method=exchange.method, target="h:1" if exchange.method == "CONNECT" else "/",
                            headers=fields))
    client.send(h11.EndOfMessage())
    return client


def read(exchange):
    """Returns h11's reading of a response and an end of the connection behind it."""
    client = connection(exchange)
    head, content, phase, verdict, error = None, b"", "head", None, ""
    pieces = [exchange.data, b""] if exchange.data else [b""]
    try:
        for piece in pieces:
            client.receive_data(piece)
            while verdict is None:
                event = client.next_event()
                if event is h11.NEED_DATA:
                    break
                if isinstance(event, h11.Response):
                    head, phase = event, "body"
                elif isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                    head = event
                elif isinstance(event, h11.Data):
                    content += event.data
                elif event is h11.PAUSED:
                    verdict = "complete"
                elif isinstance(event, h11.EndOfMessage):
                    verdict = "complete" if piece else "untilClose"
                elif isinstance(event, h11.ConnectionClosed):
                    verdict = "incomplete"
    except h11.RemoteProtocolError as found:
        error = str(found)
        ended = "peer closed" in error or "peer unexpectedly" in error or "receive_data" in error
        verdict = "incomplete" if ended or not piece else "wrong"
    fields = [(text_of(name), text_of(value)) for name, value in head.headers.raw_items()] if head else []
    byte_count = len(exchange.data) - len(client.trailing_data[0])
    # An empty body ends with the head, and the event comes without another byte.
    return Reading(verdict, error, head and head.status_code, head and int(head.http_version.split(b".")[1]),
                   byte_count, content, fields, phase)
