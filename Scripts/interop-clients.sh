#!/usr/bin/env bash
# The cases of Scripts/interop.sh, which sources this file, with `chappie ws`, `chappie events` and the example
# ModelContext.
#
# Usage: none of its own; see Scripts/interop.sh.
# shellcheck disable=SC2154,SC2034 # Variables are shared with that file.

readonly client_cases=(
    ws-websockets-full ws-websockets-plain ws-websockets-binary
    ws-aiohttp-full ws-aiohttp-plain ws-aiohttp-binary
    ws-node-full ws-node-plain ws-node-binary
    events-sse-starlette-get events-sse-starlette-post
    events-aiohttp-get events-aiohttp-gzip events-aiohttp-busy events-aiohttp-post
    events-mcp-session example-mcp-tools
)

# MARK: chappie ws against other people's servers

# Starts the server NAME_chat of one make. Usage: start_chat NAME
start_chat() {
    if [[ $1 == node ]]; then
        start chat node "$programs/node_chat.js"
    else
        local python
        python=$(environment "$1")/bin/python
        start chat "$python" "$programs/$1_chat.py"
    fi
}

# Converses with a server, and judges both ends. Usage: converse NAME KIND
converse() {
    local port status=0 wanted_status=0 options=()
    case $2 in
        full)
            options=(--subprotocol bottle.v1 --subprotocol bottle.v2 --ping 0.05 --keep-open)
            # The server closes with a code of its own, which is a failure.
            wanted_status=69
            ;;
        plain) options=(--no-compression) ;;
        binary) options=(--binary) ;;
    esac
    start_chat "$1"
    port=$(first_line chat)
    : >"$work/client.out"
    send_chat "$2" | timeout 60 "$CHAPPIE" ws --json "${options[@]}" "ws://127.0.0.1:$port/" >"$work/client.out" ||
        status=$?
    ((status == wanted_status)) || {
        printf 'chappie ws: exit %d\n' "$status"
        return 1
    }
    await_lines chat 2
    python3 "$programs/websocket_chat.py" check "$2" "$work/client.out" "$work/chat.out"
}

# Prints a conversation's lines, and stays until the messages are back: servers drop what they have not sent when the
# client closes. Usage: send_chat KIND
send_chat() {
    python3 "$programs/websocket_chat.py" input "$1"
    # The messages, behind the line about the opening.
    [[ $1 == full ]] || await_lines client 5
}

# Waits until a program has written some lines to its standard output. Usage: await_lines NAME COUNT
await_lines() {
    for ((i = 0; i < 100; i++)); do
        if (($(wc -l <"$work/$1.out") >= $2)); then return 0; fi
        sleep 0.1
    done
    printf '%s wrote no %d lines\n' "$1" "$2" >&2
    return 1
}

ws-websockets-full() { converse websockets full; }
ws-websockets-plain() { converse websockets plain; }
ws-websockets-binary() { converse websockets binary; }
ws-aiohttp-full() { converse aiohttp full; }
ws-aiohttp-plain() { converse aiohttp plain; }
ws-aiohttp-binary() { converse aiohttp binary; }
ws-node-full() { converse node full; }
ws-node-plain() { converse node plain; }
ws-node-binary() { converse node binary; }

# MARK: chappie events against other people's servers

# Reads the streams of event_streams.py, and judges both ends. The reconnection time is the server's, or the case does
# not end in time. Usage: read_streams ENVIRONMENT SERVER KIND
read_streams() {
    local python port options=(--reconnection-time 300)
    python=$(environment "$1")/bin/python
    start events "$python" "$programs/$2" "$3"
    port=$(first_line events)
    case $3 in
        busy) options=(--reconnection-time 0.1 --retry-status 503) ;;
        post)
            PYTHONPATH=$programs python3 -c 'import event_streams; print(event_streams.POSTED, end="")' >"$work/content"
            options+=(--data "@$work/content")
            ;;
    esac
    timeout 60 "$CHAPPIE" events --json --timeout 30 "${options[@]}" "http://127.0.0.1:$port/" >"$work/client.json"
    python3 "$programs/event_streams.py" "$3" "$work/client.json" "$work/events.out"
}

events-sse-starlette-get() { read_streams sse-starlette starlette_events.py get; }
events-sse-starlette-post() { read_streams sse-starlette starlette_events.py post; }
events-aiohttp-get() { read_streams aiohttp aiohttp_events.py get; }
events-aiohttp-gzip() { read_streams aiohttp aiohttp_events.py gzip; }
events-aiohttp-busy() { read_streams aiohttp aiohttp_events.py busy; }
events-aiohttp-post() { read_streams aiohttp aiohttp_events.py post; }

# Sends a request to the MCP server, or with no name opens a stream, and writes the events to $work/NAME.json.
# Usage: speak_mcp NAME [REQUEST] [OPTION]...
speak_mcp() {
    local options=("${@:3}")
    if [[ -n ${2:-} ]]; then
        python3 "$programs/mcp_requests.py" request "$2" >"$work/$2.request"
        options+=(--data "@$work/$2.request")
    fi
    if [[ -n $session ]]; then
        options+=(--header "Mcp-Session-Id: $session" --header "MCP-Protocol-Version: 2025-11-25")
    fi
    timeout 60 "$CHAPPIE" events --json --timeout 30 --reconnection-time 300 \
        --header "Accept: application/json, text/event-stream" "${options[@]}" "$mcp_url" >"$work/$1.json"
}

# A session of the Model Context Protocol: a call is answered by the stream of its POST, which the server closes in the
# middle, and by that of a GET; another run of the client gets the same events; and a notification comes over the
# session's own stream.
events-mcp-session() {
    local python session="" mcp_url status=0 first listener
    python=$(environment mcp)/bin/python
    start mcp "$python" "$programs/mcp_server.py"
    mcp_url=http://127.0.0.1:$(first_line mcp)/mcp
    speak_mcp initialize initialize
    session=$(python3 "$programs/mcp_requests.py" session "$work/mcp.out")
    # The answer, 202, has no events.
    speak_mcp initialized initialized || status=$?
    ((status == 69))
    # The event that begins the stream, five about progress, and the result.
    speak_mcp pour pour --resend asGet --max-events 7
    first=$(python3 -c 'import json, sys; print(next(event["id"] for event in map(json.loads, sys.stdin) if "id" in event))' \
        <"$work/pour.json")
    speak_mcp replay "" --max-events 6 --last-event-id "$first"
    speak_mcp listen "" --max-events 1 &
    listener=$!
    # The port, and the heads of six answers.
    await_lines mcp 7
    speak_mcp announce announce
    wait "$listener"
    python3 "$programs/mcp_requests.py" check "$work" "$work/mcp.out"
}

# Has the example call a tool of the MCP server, and writes its messages to $work/TOOL.json; the server's facts go to
# $work/TOOL.out. Usage: call_tool TOOL ARGUMENTS
call_tool() {
    local python
    python=$(environment mcp)/bin/python
    start "$1" "$python" "$programs/mcp_server.py"
    timeout 60 "$model_context" "http://127.0.0.1:$(first_line "$1")/mcp" "$1" "$2" >"$work/$1.json" || {
        # Its error.
        tail -n 1 "$work/$1.json"
        return 1
    }
}

# The transport of the example ModelContext: the session, the list of tools, a call whose stream the server closes in
# the middle of its progress, and one that fails.
example-mcp-tools() {
    # It is built where the command line is.
    local model_context=${CHAPPIE%/*}/ModelContext
    [[ -x $model_context ]] || {
        printf 'no %s: run make interop\n' "$model_context"
        return 1
    }
    call_tool pour '{"bottle": "sølv 🍾"}'
    call_tool spill '{}'
    python3 "$programs/mcp_tools.py" "$work"
}
