#!/usr/bin/env bash
# The cases of Scripts/interop.sh with `chappie ws` and `chappie events`, which sources this file.
#
# Usage: none of its own; see Scripts/interop.sh.
# shellcheck disable=SC2154,SC2034 # Variables are shared with that file.

readonly client_cases=(
    ws-websockets-full ws-websockets-plain ws-websockets-binary
    ws-aiohttp-full ws-aiohttp-plain ws-aiohttp-binary
    ws-node-full ws-node-plain ws-node-binary
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
