#!/usr/bin/env bash
# Holds the reader of HTTP responses against h11, which is installed on the first run.
# Usage: Scripts/http-oracle.sh BIN [OPTION...]
#   BIN                the program http-oracle
#   OPTION             what Tests/Protocols/HTTPOracle/run.py takes, such as --count 1000
#   CHAPPIE_PEERS_DIR  where h11 is kept, default ~/.cache/chappie-peers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly oracle=$PWD/Tests/Protocols/HTTPOracle
readonly environment=${CHAPPIE_PEERS_DIR:-$HOME/.cache/chappie-peers}/h11

if (($# == 0)); then
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
if ! cmp --quiet "$oracle/requirements.txt" "$environment/installed.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$oracle/requirements.txt"
    cp "$oracle/requirements.txt" "$environment/installed.txt"
fi
PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" "$oracle/run.py" --reader "$@"
