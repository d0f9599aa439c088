#!/usr/bin/env bash
# Adds and deletes the default route, as a VPN does that comes and goes, while a response streams over each transport:
# nothing may close. All of it is in a network namespace of its own. Left out where the system allows no such namespace.
# Usage: Scripts/routes.sh CHAPPIE
set -euo pipefail

readonly chappie=$1
# The server's address, and one that a default route leads to (RFC 5737).
readonly address=192.0.2.1 gateway=198.51.100.2

if [[ ${2:-} != inside ]]; then
    for way in "unshare --net" "unshare --map-root-user --net"; do
        # shellcheck disable=SC2086 # Words.
        if $way ip tuntap add mode tun name probe 2>/dev/null; then exec $way "$0" "$chappie" inside; fi
    done
    echo "routes: skipped, no network namespace with a tun device can be made here"
    exit 0
fi

work=$(mktemp -d)
readonly work
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

ip link set lo up
for device in "tun0 $address/24" "tun1 198.51.100.1/24"; do
    ip tuntap add mode tun name "${device% *}"
    ip address add "${device#* }" dev "${device% *}"
    ip link set "${device% *}" up
done

# The test server listens on 127.0.0.1; the relay gives it an address that is not loopback's.
"$chappie" serve --rate 100 >"$work/serve" &
until grep --quiet 'listening on' "$work/serve"; do sleep 0.1; done
port=$(sed -nE 's|.*127.0.0.1:([0-9]+)/v1|\1|p' "$work/serve")
readonly port
python3 - "$address" "$port" <<'PYTHON' &
import asyncio, sys
address, port = sys.argv[1], int(sys.argv[2])
async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
async def relay(reader, writer):
    onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(copy(reader, onward_writer), copy(onward_reader, writer), return_exceptions=True)
async def main():
    async with await asyncio.start_server(relay, address, port) as server:
        await server.serve_forever()
asyncio.run(main())
PYTHON
until (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; do sleep 0.1; done

# Streams over one transport while routes change. A connection that was closed would be made anew, and say so.
# Usage: stream TRANSPORT OPTION...
stream() {
    local stream changes=0 diagnostics
    timeout 60 "$chappie" stream --json --base-url "http://$address:$port/v1" --api-key sk-fake "${@:2}" hi \
        >"$work/events" &
    stream=$!
    until grep --quiet textDelta "$work/events"; do
        kill -0 "$stream" || return 1
        sleep 0.05
    done
    while kill -0 "$stream" 2>/dev/null; do
        ip route add default via "$gateway" dev tun1
        sleep 0.05
        ip route del default via "$gateway" dev tun1
        sleep 0.05
        changes=$((changes + 1))
    done
    wait "$stream"
    diagnostics=$(grep '"type":"diagnostic"' "$work/events")
    if [[ $diagnostics != *'"connected","transport":"'"$1"'"'* || $diagnostics == *$'\n'* ]] || ((changes < 10)); then
        printf 'routes: %d default routes came and went, and a stream over %s was not left alone:\n%s\n' \
            "$changes" "$1" "$diagnostics" >&2
        return 1
    fi
    printf 'routes: %d default routes came and went beside a stream over %s\n' "$changes" "$1"
}
stream webSocket
stream httpSSE --http-only
