#!/usr/bin/env bash
# Runs the Autobahn WebSocket suite against our client, an echo client named autobahn-client.
# Usage: Scripts/autobahn.sh [--full]      (without --full, only the smaller messages of the compression groups)
#
# AUTOBAHN_CLIENT names another client to judge; CHAPPIE_PEERS_DIR is where the suite is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

selection=quick
time_limit=900
case ${1:-} in
    "") ;;
    --full)
        selection=full
        time_limit=3600
        ;;
    -h | --help)
        sed -n '2,5s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        sed -n '3s/^# //p' "$0" >&2
        exit 64
        ;;
esac

peers=${CHAPPIE_PEERS_DIR:-$HOME/.cache/chappie-peers}
suite=$peers/autobahn
client=${AUTOBAHN_CLIENT:-$(swift build --show-bin-path)/autobahn-client}
helper=Tests/Interoperability/autobahn.py
[[ -x $client ]] || {
    printf 'autobahn.sh: no %s: run make autobahn\n' "$client" >&2
    exit 69
}
Scripts/setup-autobahn.sh "$suite"

output=$PWD/.build/autobahn
rm -rf "$output"
mkdir -p "$output"
url=$(python3 "$helper" specification --selection "$selection" --output "$output")

server=""
# shellcheck disable=SC2317 # Called by the trap.
stop_server() {
    [[ -z $server ]] || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap stop_server EXIT

(
    # shellcheck source=/dev/null
    source "$suite/environment.sh"
    export PYTHONUNBUFFERED=1
    exec "$suite/suite/bin/wstest" --mode fuzzingserver --spec "$output/specification.json" --webport 0
) >"$output/server.log" 2>&1 &
server=$!

python3 "$helper" await --url "$url" --seconds 30 || {
    tail -n 20 "$output/server.log" >&2
    exit 69
}

status=0
timeout "$time_limit" "$client" --url "$url" --agent chappie >"$output/client.log" 2>&1 || status=$?
if ((status != 0)); then
    printf 'autobahn.sh: the client ended with status %d; the end of its output:\n' "$status" >&2
    tail -n 20 "$output/client.log" >&2
fi
python3 "$helper" report --output "$output" || status=1
printf 'reports: %s/reports/index.html\n' "$output"
exit "$status"
