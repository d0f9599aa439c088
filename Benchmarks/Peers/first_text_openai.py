"""Times the first text with the openai package, in this process.

Usage: first_text_openai.py websocket|sse cold|warm BASE_URL TEXT

Prints a list of milliseconds. Imports are not timed: a cold run makes a client, a connection and a request, a warm one
makes a request on the connection that has had a response before.
"""

import contextlib
import json
import sys
import time

import openai

RUN_COUNT = 7
REQUEST = {"model": "paper-and-ink", "input": "Hello", "store": False}
TERMINAL = ("response.completed", "response.failed", "response.incomplete", "error")


def make_client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="sk-fake", max_retries=0, timeout=20)


def drain(events, wanted):
    """Reads a response to its end, and returns the moment of its first text."""
    moment, text = None, ""
    for event in events:
        if event.type == "response.output_text.delta":
            moment = moment or time.perf_counter()
            text += event.delta
        elif event.type in TERMINAL:
            break
    if text != wanted or event.type != "response.completed":
        sys.exit(f"{event.type} after the text {text!r}")
    return moment


def request(transport, client, connection):
    """Requests a response, and returns its events."""
    if transport == "websocket":
        connection.response.create(**REQUEST)
        return connection
    return client.responses.create(stream=True, **REQUEST)


def main():
    transport, workload, base_url, wanted = sys.argv[1:]
    connect = (lambda client: client.responses.connect()) if transport == "websocket" else contextlib.nullcontext
    moments = []
    if workload == "cold":
        for _ in range(RUN_COUNT):
            start = time.perf_counter()
            client = make_client(base_url)
            with connect(client) as connection:
                moments.append(drain(request(transport, client, connection), wanted) - start)
    else:
        client = make_client(base_url)
        with connect(client) as connection:
            for _ in range(RUN_COUNT):
                start = time.perf_counter()
                moments.append(drain(request(transport, client, connection), wanted) - start)
    # The first two runs also create models of events and a connection, and are not counted.
    print(json.dumps([moment * 1000 for moment in moments[2:]]))


main()
