"""Streams one response with the openai package and prints its text.

Usage: openai_client.py sse|websocket BASE_URL
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


def main():
    """Reads the command line, prints the text, and fails unless the response completed."""
    transport, base_url = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key="sk-fake", max_retries=0, timeout=20)
    events = {"sse": over_sse, "websocket": over_websocket}[transport](client)
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
