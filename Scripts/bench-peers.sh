#!/usr/bin/env bash
# Measures this package and other people's programs in rounds on the same work: parsers, clients, first text.
# Usage: Scripts/bench-peers.sh [--results FILE] [FILTER]
#
# FILTER is a part of a group and a workload, and of a name behind them: `first-text/cold`, `websocket-plain-1 picows`.
# FILE gets figures, and what is missing, as lines of JSON (Benchmarks/Runner/figures.py).
# Status 1: something failed, or a bar is missed; 2: nothing has FILTER in its name.
# CHAPPIE_BENCHMARKS_DIR is where the peers and the streams are kept; the first run fetches about 250 MB from PyPI.
# Nothing is installed into the system.
set -euo pipefail
readonly started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The command line is measured as well, which a build of the benchmarks alone does not have.
unset CHAPPIE_BENCHMARKS

readonly sources=$PWD/Benchmarks/Peers
readonly cache=${CHAPPIE_BENCHMARKS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/chappie-benchmarks}
readonly python=$cache/python/bin/python
readonly node=$cache/python/bin/node
# Not installed, only opened: its JavaScript bundle has the parser that most of the web's clients use.
readonly playwright=playwright==1.65.2
readonly node_parsers=("$node" --no-deprecation "$sources/node_peers.cjs")
readonly workloads=(
    model-deltas/16384 tiny-events/16384 long-lines/16384 multi-line-data/16384 model-deltas-crlf/16384
)
status=0
# What Python compiles stays out of the repository.
export PYTHONDONTWRITEBYTECODE=1

log() {
    printf '%s\n' "$*" >&2
}

# Names what has no figure. Usage: missing SUBJECT WHY
missing() {
    log "$1: MISSING: $2"
    [[ -n $results ]] || return 0
    python3 -c 'import json, sys; print(json.dumps({"missing": {"subject": sys.argv[1], "why": sys.argv[2]}}))' \
        "$1" "$2" >>"$results"
}

# MARK: The cache

pip() {
    "$python" -m pip "$@" --quiet --disable-pip-version-check --retries 2 --timeout 20
}

# Makes a virtual environment with the pinned versions: clients and parsers of Python, codex and a Node.
# When they cannot be had at once, each is tried alone, and those that cannot be had are named.
set_up_python() {
    local wanted=$sources/requirements.txt requirement error is_whole=true
    if cmp --quiet "$wanted" "$cache/python/installed.txt"; then return 0; fi
    log "Setting up $(tr '\n' ' ' <"$wanted")"
    rm -rf "$cache/python"
    python3 -m venv "$cache/python"
    if ! pip install --requirement "$wanted" >&2; then
        while IFS= read -r requirement; do
            error=$(pip install "$requirement" 2>&1) && continue
            missing "${requirement%%==*}" "$requirement cannot be installed: ${error##*$'\n'}"
            is_whole=false
        done <"$wanted"
    fi
    if $is_whole; then cp "$wanted" "$cache/python/installed.txt"; fi
}

# Takes the bundle and the list of what is in it out of the wheel.
set_up_playwright() {
    local folder=$cache/$playwright wheels
    if [[ -f $folder/utilsBundle.js.LICENSE ]]; then return 0; fi
    log "Fetching $playwright"
    wheels=$(mktemp -d)
    if pip download --no-deps --dest "$wheels" "$playwright" >&2 && mkdir -p "$folder"; then
        "$python" - "$wheels" "$folder" <<'PYTHON' || missing eventsource-parser "$playwright has no such bundle"
import pathlib, sys, zipfile
wheel = next(pathlib.Path(sys.argv[1]).glob("*.whl"))
with zipfile.ZipFile(wheel) as archive:
    for name in ["utilsBundle.js", "utilsBundle.js.LICENSE"]:
        content = archive.read(f"playwright/driver/package/lib/{name}")
        (pathlib.Path(sys.argv[2]) / name).write_bytes(content)
PYTHON
    else
        missing eventsource-parser "$playwright cannot be fetched"
    fi
    rm -rf "$wheels"
}

# MARK: What is built here

# The benchmarks are targets of this package that are there when they are asked for. Usage: benchmarks OPTION...
benchmarks() {
    CHAPPIE_BENCHMARKS=1 swift build --configuration release --scratch-path .build/benchmarks "$@"
}

# Builds benchmarks; fails when one cannot be built. Usage: build PRODUCT...
build() {
    local product
    for product in "$@"; do benchmarks --product "$product" >&2 || return 1; done
}

# MARK: Parsers

readonly node_names=(eventsource-parser undici)
readonly python_names=(launchdarkly-eventsource httpx-sse httpx2 anthropic sseclient-py openai)
parsers=()
# Whether the filter is about a parser. Usage: is_chosen NAME
is_chosen() {
    local workload
    for workload in "${workloads[@]}"; do
        if [[ "parser/$workload $1" == *"$filter"* ]]; then return 0; fi
    done
    return 1
}

# Adds those of some parsers that the filter is about. Usage: add_parsers NAME... -- COMMAND...
add_parsers() {
    local names=() name
    while [[ $1 != -- ]]; do
        names+=("$1")
        shift
    done
    shift
    for name in "${names[@]}"; do
        is_chosen "$name" || continue
        parsers+=("$(python3 -c 'import json, sys; print(json.dumps({"peer": sys.argv[1], "command": sys.argv[2:]}))' \
            "$name" "$@")")
    done
}

# What a filter may be a part of, a line each parser. Usage: parser_names WORKLOAD
parser_names() {
    printf "parser/$1 %s\n" "${node_names[@]}" "${python_names[@]}"
}

measure_parsers() {
    local chosen=() workload list
    for workload in "${workloads[@]}"; do
        if [[ $(parser_names "$workload") == *"$filter"* ]]; then chosen+=("$workload"); fi
    done
    add_parsers "${node_names[@]}" -- "${node_parsers[@]}"
    add_parsers "${python_names[@]}" -- "$python" "$sources/python_peers.py"
    ((${#parsers[@]} > 0)) || return 0
    # Who calls this asks for its status, so nothing here ends the script by itself.
    build sse-throughput || return 1
    log "Writing streams"
    "$bin/sse-throughput" --write-corpus "$cache/streams" \
        model-deltas model-deltas-crlf tiny-events long-lines multi-line-data || return 1
    list=$(IFS=, && printf '[%s]' "${parsers[*]}")
    printf 'parser\n'
    "$python" "$sources/compare.py" --ours "$bin/sse-throughput" --corpora "$cache/streams" \
        ${results:+--results "$results"} "$(IFS=, && printf '%s' "${chosen[*]}")" "$list"
}

# MARK: Clients

foundation_version() {
    swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/Swift \1/p' | head -n 1
}

measure_clients() {
    build stream-server stream-facts urlsession-peer connection-cost || return 1
    python3 "$sources/end_to_end.py" --bin "$bin" --python "$python" --node "$node" \
        --foundation-version "$(foundation_version)" ${results:+--results "$results"} --filter "$filter"
}

# MARK: Running

# Everything that can be asked for, a line each.
names() {
    local workload
    for workload in "${workloads[@]}"; do parser_names "$workload"; done
    python3 "$sources/end_to_end.py" --names
    python3 "$sources/first_text.py" --names
}

results='' filter=''
while (($# > 0)); do
    case $1 in
        --results) results=$(cd "$started_in" && realpath --canonicalize-missing "$2") && shift 2 ;;
        -h | --help)
            sed -n '2,10s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        -*)
            log "bench-peers.sh: what is '$1'? (--help)"
            exit 64
            ;;
        *) filter=$1 && shift ;;
    esac
done

if [[ $(names) != *"$filter"* ]]; then
    log "bench-peers.sh: nothing is called like '$filter'"
    exit 2
fi
mkdir -p "$cache"
set_up_python
set_up_playwright
export PLAYWRIGHT_BUNDLE=$cache/$playwright/utilsBundle.js
bin=$(benchmarks --show-bin-path)
started=$SECONDS
measure_parsers || status=1
if [[ $(python3 "$sources/end_to_end.py" --names) == *"$filter"* ]]; then measure_clients || status=1; fi
if [[ $(python3 "$sources/first_text.py" --names) == *"$filter"* ]]; then
    swift build --configuration release --product chappie >&2
    build recovery-figures
    python3 "$sources/first_text.py" --bin "$bin" --python "$python" ${results:+--results "$results"} \
        --filter "$filter" --chappie "$(swift build --configuration release --show-bin-path)/chappie" \
        --codex "$(find "$cache/python" -path '*/codex_cli_bin/bin/codex' -print -quit)" || status=1
fi
log "Measured in $((SECONDS - started)) s"
exit "$status"
