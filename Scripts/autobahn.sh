#!/usr/bin/env bash
# Runs the Autobahn WebSocket suite against our client, an echo client named autobahn-client, and prints a table.
# Usage: Scripts/autobahn.sh [--check | --full] [--tls] [--swap]
#
# Without --full, only the smaller messages of the compression groups; with --check, in a minute at most, also only the
# smaller ones of group 9. With --tls, over wss, with a certificate made for the run. The suite's own Python takes most
# of the time, so two of its servers run side by side, each with every second part of the cases.
#
# The client reads half of the cases in the borrowed form (`withNextMessage`) and half as `messages`; with --swap, the
# other way round. A run without --swap and one with it read each case of a selection in both forms.
#
# AUTOBAHN_CLIENT names another client to judge; CHAPPIE_PEERS_DIR is where the suite is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly server_count=2
selection=quick
time_limit=900
scheme=ws
client_options=()
for argument in "$@"; do
    case $argument in
        --check) selection=check ;;
        --full)
            selection=full
            time_limit=3600
            ;;
        --tls) scheme=wss ;;
        --swap) client_options+=(--lends odd) ;;
        -h | --help)
            sed -n '2,12s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *)
            sed -n '3s/^# //p' "$0" >&2
            exit 64
            ;;
    esac
done

suite=${CHAPPIE_PEERS_DIR:-$HOME/.cache/chappie-peers}/autobahn
client=${AUTOBAHN_CLIENT:-$(swift build --show-bin-path)/autobahn-client}
helper=Tests/Stack/Interoperability/autobahn.py
[[ -x $client ]] || {
    printf 'autobahn.sh: no %s: run make autobahn\n' "$client" >&2
    exit 69
}
Scripts/setup-autobahn.sh "$suite"

output=$PWD/.build/autobahn/$scheme
rm -rf "$output"
mkdir -p "$output"
if [[ $scheme == wss ]]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$output/key.pem" -out "$output/certificate.pem" 2>"$output/openssl.log"
    client_options+=(--ca-file "$output/certificate.pem")
fi

servers=()
clients=()
# shellcheck disable=SC2317 # Called by the trap.
stop() {
    local process
    for process in "${clients[@]}" "${servers[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
}
trap stop EXIT

# Starts the server of one part and the client that it judges.
# Usage: start PART
start() {
    local part=$output/$1 url
    mkdir -p "$part"
    url=$(python3 "$helper" specification --selection "$selection" --part "$1" --of "$server_count" \
        --scheme "$scheme" --output "$part")
    (
        # shellcheck source=/dev/null
        source "$suite/environment.sh"
        export PYTHONUNBUFFERED=1
        exec "$suite/suite/bin/wstest" --mode fuzzingserver --spec "$part/specification.json" --webport 0
    ) >"$part/server.log" 2>&1 &
    servers+=($!)
    python3 "$helper" await --url "$url" --seconds 30 || {
        tail -n 20 "$part/server.log" >&2
        exit 69
    }
    timeout "$time_limit" "$client" --url "$url" --agent chappie "${client_options[@]}" >"$part/client.log" 2>&1 &
    clients+=($!)
}

started=$SECONDS
for ((part = 0; part < server_count; part++)); do start "$part"; done
status=0
for ((part = 0; part < server_count; part++)); do
    result=0
    wait "${clients[part]}" || result=$?
    if ((result != 0)); then
        printf 'autobahn.sh: a client ended with status %d; the end of its output:\n' "$result" >&2
        tail -n 20 "$output/$part/client.log" >&2
        printf 'and of its server:\n' >&2
        tail -n 20 "$output/$part/server.log" >&2
        status=1
    fi
done
printf 'Autobahn over %s, %s set, %d s\n' "$scheme" "$selection" $((SECONDS - started))
python3 "$helper" report --output "$output" || status=1
printf 'reports: %s/*/reports/index.html\n' "$output"
exit "$status"
