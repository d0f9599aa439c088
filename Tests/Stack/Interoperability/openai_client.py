"""Streams one response with the openai package and prints its text.

Usage: openai_client.py sse|websocket|kept BASE_URL

With kept, the stream is left in the middle, the rest is read behind its last number, and the response is read again as a
whole; another response is cancelled.
"""

import sys

import openai

REQUEST = {"model": "paper-and-ink", "input": "Tell me about the bottle.", "store": False}


def over_sse(client):
    """Yields the events of a streamed POST."""
    with client.responses.create(stream=True, **REQUEST) as stream:
        yield from stream


def over_websocket(client):
    """Yields the events of one response on a WebSocket."""
    with client.responses.connect() as connection:
        connection.response.create(**REQUEST)
        for event in connection:
            yield event
            if event.type in ("response.completed", "response.failed", "response.incomplete", "error"):
                return


def over_two_streams(client):
    """Yields the events of a response in the background, some from its stream and the others behind their numbers."""
    request = {**REQUEST, "store": True}
    response_id = None
    with client.responses.create(stream=True, background=True, **request) as stream:
        for event in stream:
            yield event
            response_id = response_id or event.response.id
            if event.sequence_number == 7:
                break
    # The connection is closed with the block.
    last = event.sequence_number
    with client.responses.retrieve(response_id, stream=True, starting_after=last) as stream:
        for event in stream:
            if event.sequence_number != last + 1:
                sys.exit(f"event {event.sequence_number} follows event {last}")
            last = event.sequence_number
            yield event
    if client.responses.retrieve(response_id).output_text != event.response.output_text:
        sys.exit("the response that is read again has another text")
    other = client.responses.create(background=True, **request)
    if (status := client.responses.cancel(other.id).status) not in ("cancelled", "completed"):
        sys.exit(f"the cancelled response is {status}")


def main():
    """Reads the command line, prints the text, and fails unless the response completed."""
    transport, base_url = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key="sk-fake", max_retries=0, timeout=20)
    events = {"sse": over_sse, "websocket": over_websocket, "kept": over_two_streams}[transport](client)
    last = None
    text = []
    for event in events:
        last = event
        if event.type == "response.output_text.delta":
            text.append(event.delta)
    sys.stdout.write("".join(text))
    if last is None or last.type != "response.completed":
        sys.exit(f"the last event is {last and last.type}, not response.completed")
    if last.response.output_text != "".join(text):
        sys.exit("the completed response has another text than its deltas")


if __name__ == "__main__":
    main()
