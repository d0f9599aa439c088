"""A chat-completions server that calls a tool once and then repeats what the tool said.

Usage: chat_model.py [ANSWER_FILE]

Asked without tools, it answers with the text of ANSWER_FILE. It prints the port that it listens on, and then one JSON
line for each request: the roles of its messages.
"""

import http.server
import json
import pathlib
import re
import sys

ANSWER = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else None


def last_output(messages):
    """Returns the tool's output, if it has been called since the last message of the user."""
    for message in reversed(messages):
        if message["role"] == "tool":
            return message["content"]
        if message["role"] == "user":
            return None
    return None


def deltas(request):
    """Returns the deltas of the answer, and its finish reason."""
    output = last_output(request["messages"])
    tools = request.get("tools") or []
    if ANSWER is not None and not tools:
        return [{"content": piece} for piece in re.findall(r"\S+\s*|\s+", ANSWER)], "stop"
    if output is not None or not tools:
        words = ("The tool said: " + (output if isinstance(output, str) else json.dumps(output))).split(" ")
        return [{"content": word + (" " if at < len(words) - 1 else "")} for at, word in enumerate(words)], "stop"
    name = tools[0]["function"]["name"]
    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = ['{"city"', ':"Oslo"}']
    return [{"tool_calls": [start]}] + [
        {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces
    ], "tool_calls"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print(json.dumps([message["role"] for message in request["messages"]]), flush=True)
        pieces, reason = deltas(request)
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for delta in [{"role": "assistant"}] + pieces:
            self.event(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.event(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
