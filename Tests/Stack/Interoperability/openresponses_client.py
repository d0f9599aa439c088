"""Streams two responses with the openresponses-py package and prints how long their texts are.

Usage: openresponses_client.py sse|websocket BASE_URL

Over a WebSocket every event is held against the specification's schema. Over HTTP what the specification asks for
beyond OpenAI's own streams (`[DONE]` behind the last event) is not.
"""

import sys

import openresponses

REQUEST = {"model": "paper-and-ink", "input": "Tell me about the bottle."}


def turns(transport, client):
    """Yields the events of each response."""
    if transport == "sse":
        for _ in range(2):
            with client.responses.create({**REQUEST, "stream": True}) as stream:
                yield list(stream)
    else:
        with client.websocket() as connection:
            for _ in range(2):
                yield list(connection.create(REQUEST))


def main():
    """Reads the command line, and fails unless each response completed with the text of its deltas."""
    transport, base_url = sys.argv[1:]
    compatibility = {"sse": "openai-compatible", "websocket": "strict"}[transport]
    client = openresponses.OpenResponses(
        api_key="sk-fake", base_url=base_url, response_compatibility=compatibility, timeout=20
    )
    for events in turns(transport, client):
        if not events or events[-1].type != "response.completed":
            sys.exit(f"the last event is {events and events[-1].type}, not response.completed")
        deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        output = events[-1].response.model_dump(mode="json", by_alias=True)["output"]
        parts = [part for item in output if item["type"] == "message" for part in item["content"]]
        if not deltas or deltas != "".join(part["text"] for part in parts):
            sys.exit("the completed response has another text than its deltas")
        print(len(deltas))


if __name__ == "__main__":
    main()
