"""Judges what the example ModelContext printed of two sessions with mcp_server.py, and their requests.

Usage: mcp_tools.py FOLDER

FOLDER has the example's messages, pour.json and spill.json, and the server's facts, pour.out and spill.out.
"""

import json
import pathlib
import sys

VERSION = "2025-11-25"
GLASSES = 5
# The number of the call, and of its token for progress.
CALL = 3


def expect(name, actual, wanted):
    """Ends the program when two values differ."""
    if actual != wanted:
        sys.exit(f"{name}: {repr(actual)[:300]}, wanted: {repr(wanted)[:300]}")


def lines_of(path):
    """Returns the values of a file with one in each line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_session(folder, tool):
    """Judges what both sessions have in common; returns the messages behind the list of tools, and the requests."""
    messages = lines_of(folder / f"{tool}.json")
    expect("answers", [message["id"] for message in messages if "id" in message], [1, 2, CALL])
    expect("version", messages[0]["result"]["protocolVersion"], VERSION)
    expect("tools", [entry["name"] for entry in messages[1]["result"]["tools"]], ["pour", "spill", "announce"])
    # Behind the port.
    log = lines_of(folder / f"{tool}.out")[1:]
    session = log[0]["opened"]
    expect("sessions", [request["session"] for request in log], [None] + [session] * (len(log) - 1))
    expect("versions", [request["version"] for request in log], [None] + [VERSION] * (len(log) - 1))
    # The stream of what the server sends by itself may open at any time.
    requests = [request["request"] for request in log if request["request"] != ["GET", None, 200]]
    return messages[2:], requests


def main():
    """Judges both sessions."""
    folder = pathlib.Path(sys.argv[1])
    begun = [["POST", None, 200], ["POST", None, 202], ["POST", None, 200], ["POST", None, 200]]
    ended = [["DELETE", None, 200]]

    messages, requests = check_session(folder, "pour")
    progress = [message["params"] for message in messages[:-1]]
    wanted = [{"progressToken": CALL, "progress": number, "total": GLASSES} for number in range(1, GLASSES + 1)]
    expect("progress", [{name: entry[name] for name in wanted[0]} for entry in progress], wanted)
    result = messages[-1]["result"]
    expect("result", [result.get("isError", False), result["content"][0]["text"]], [False, f"{GLASSES} glasses of sølv 🍾"])
    resumed_behind = requests[len(begun)][1]
    expect("resumed", resumed_behind is not None, True)
    expect("requests", requests, begun + [["GET", resumed_behind, 200]] + ended)

    messages, requests = check_session(folder, "spill")
    expect("messages of the failed call", len(messages), 1)
    result = messages[0]["result"]
    expect("failed", result["isError"], True)
    expect("error", "the bottle is empty" in result["content"][0]["text"], True)
    expect("requests of the failed call", requests, begun + ended)
    print(f"mcp: {len(progress)} notifications of progress and the result, resumed behind {resumed_behind}; one error")


main()
