#!/usr/bin/env bash
# Measures this package and other people's programs in turn on the same work: parsers, clients, first text.
# Usage: Scripts/bench-peers.sh [--results FILE] [--filter TEXT] [--thorough] [-- OPTION OF compare.py...]
#        Scripts/bench-peers.sh --in-turn TEXT     the workloads of end-to-end that TEXT makes this measure, a line each
#
# TEXT is a part of `parser`, of a group and a workload, or of a name: `first-text cold`, `websocket-plain-1 picows`.
# --thorough gives each parser every workload, and more time. FILE gets figures, and what is missing, as lines of JSON.
# Status 1: something failed, or a bar is missed; 2: nothing is called like TEXT.
# CHAPPIE_BENCHMARKS_DIR is where the peers and the streams are kept; the first run fetches about 350 MB from PyPI and
# Debian. Nothing is installed into the system.
set -euo pipefail
readonly started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly sources=$PWD/Benchmarks/Peers
readonly cache=${CHAPPIE_BENCHMARKS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/chappie-benchmarks}
readonly python=$cache/python/bin/python
readonly node=$cache/python/bin/node
# Not installed, only opened: its JavaScript bundle has the parser that most of the web's clients use.
readonly playwright=playwright==1.65.2
readonly go_packages=(golang-github-donovanhide-eventsource-dev golang-github-gin-contrib-sse-dev)
readonly node_parsers=("$node" --no-deprecation "$sources/node_peers.cjs")
readonly short_workloads=(
    model-deltas/16384 tiny-events/16384 long-lines/16384 multi-line-data/16384 model-deltas-crlf/16384
)
readonly other_workloads=(model-deltas/37 model-deltas/1 model-deltas/4194304)
status=0
# Where programs that look how fast a core is find what others before them have seen.
export CORE_PACE_FILE=${CORE_PACE_FILE:-$cache/core-pace}
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

# Makes a virtual environment with the pinned versions: clients and parsers of Python, codex, a Node and a Go.
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

# Unpacks a Debian package of a library; fails where there is no apt. Usage: set_up_debian PACKAGE
set_up_debian() {
    if [[ -f $cache/debian/$1.version ]]; then return 0; fi
    command -v apt-get >/dev/null || return 1
    log "Fetching $1"
    mkdir -p "$cache/debian/root"
    (
        cd "$cache/debian"
        apt-get -qq download "$1" 2>/dev/null &&
            dpkg-deb --extract "$1"_*.deb root &&
            dpkg-deb --field "$1"_*.deb Version >"$1.version" &&
            rm "$1"_*.deb
    )
}

debian_version() {
    cat "$cache/debian/$1.version"
}

# Builds the Go adapter from the unpacked sources: no module is fetched.
build_go() {
    local folder=$cache/go name
    mkdir -p "$folder"
    for name in donovanhide/eventsource gin-contrib/sse; do
        rm -rf "${folder:?}/$(basename "$name")"
        cp -r "$cache/debian/root/usr/share/gocode/src/github.com/$name" "$folder/$(basename "$name")" || return 1
        printf 'module github.com/%s\n\ngo 1.21\n' "$name" >"$folder/$(basename "$name")/go.mod"
    done
    cp "$sources/go_peers.go" "$folder/go_peers.go"
    cat >"$folder/go.mod" <<'GO'
module peers

go 1.22

require (
	github.com/donovanhide/eventsource v0.0.0
	github.com/gin-contrib/sse v0.0.0
)

replace (
	github.com/donovanhide/eventsource => ./eventsource
	github.com/gin-contrib/sse => ./sse
)
GO
    (cd "$folder" && GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOCACHE=$folder/cache \
        "$cache/python/bin/go" build -o go_peers go_peers.go)
}

# MARK: What is built here

# Builds products of a package; fails when one cannot be built. Usage: build FOLDER PRODUCT...
build() {
    local folder=$1 product
    shift
    for product in "$@"; do
        swift build --configuration release --package-path "$folder" --product "$product" >&2 || return 1
    done
}

# MARK: Parsers

readonly node_names=(eventsource-parser undici)
readonly python_names=(launchdarkly-eventsource httpx-sse httpx2 anthropic sseclient-py openai)
readonly go_names=(donovanhide/eventsource gin-contrib/sse)
workloads=()
parsers=()
# Whether the filter is about a parser. Usage: is_chosen NAME
is_chosen() {
    local workload
    for workload in "${workloads[@]}"; do
        if [[ "parser $workload $1" == *"$filter"* ]]; then return 0; fi
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

# Adds the parsers that Debian has the sources of, or says why there are none.
add_node_eventsource() {
    is_chosen node-eventsource || return 0
    if set_up_debian node-eventsource; then
        export NODE_EVENTSOURCE=$cache/debian/root/usr/share/nodejs/eventsource
        add_parsers node-eventsource -- "${node_parsers[@]}"
    else
        missing node-eventsource "parser: Debian's package cannot be fetched"
    fi
}

add_go_parsers() {
    local name
    is_chosen "${go_names[0]}" || is_chosen "${go_names[1]}" || return 0
    if set_up_debian "${go_packages[0]}" && set_up_debian "${go_packages[1]}" && build_go; then
        DONOVANHIDE_VERSION=$(debian_version "${go_packages[0]}")
        GIN_CONTRIB_VERSION=$(debian_version "${go_packages[1]}")
        export DONOVANHIDE_VERSION GIN_CONTRIB_VERSION
        add_parsers "${go_names[@]}" -- "$cache/go/go_peers"
    else
        for name in "${go_names[@]}"; do missing "$name" "parser: Debian's package cannot be fetched or built"; done
    fi
}

# What a filter may be a part of, a line each parser. Usage: parser_names WORKLOAD
parser_names() {
    printf "parser $1 %s\n" "${node_names[@]}" "${python_names[@]}" node-eventsource "${go_names[@]}"
}

# Usage: measure_parsers OPTION OF compare.py...
measure_parsers() {
    local chosen=() workload list
    for workload in "${workloads[@]}"; do
        if [[ $(parser_names "$workload") == *"$filter"* ]]; then chosen+=("$workload"); fi
    done
    add_parsers "${node_names[@]}" -- "${node_parsers[@]}"
    add_parsers "${python_names[@]}" -- "$python" "$sources/python_peers.py"
    add_node_eventsource
    add_go_parsers
    ((${#parsers[@]} > 0)) || return 0
    # Who calls this asks for its status, so nothing here ends the script by itself.
    build Benchmarks sse-throughput machine-pace || return 1
    log "Writing streams"
    "$bin/sse-throughput" --write-corpus "$cache/streams" \
        model-deltas model-deltas-crlf tiny-events long-lines multi-line-data || return 1
    list=$(IFS=, && printf '[%s]' "${parsers[*]}")
    printf 'parser\n'
    "$python" "$sources/compare.py" --ours "$bin/sse-throughput" --corpora "$cache/streams" --rounds "$rounds" \
        --pace "$bin/machine-pace" --workloads "$(IFS=, && printf '%s' "${chosen[*]}")" \
        ${results:+--results "$results"} "$@" -- "$list"
}

# MARK: Clients

foundation_version() {
    swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/Swift \1/p' | head -n 1
}

# Usage: measure_clients [--filter TEXT]
measure_clients() {
    build Benchmarks stream-server stream-facts machine-pace urlsession-peer connection-cost || return 1
    python3 "$sources/end_to_end.py" --bin "$bin" --python "$python" --node "$node" \
        --foundation-version "$(foundation_version)" ${results:+--results "$results"} "$@"
}

# MARK: Running

# Everything that can be asked for, a line each.
names() {
    local workload
    for workload in "${workloads[@]}"; do parser_names "$workload"; done
    python3 "$sources/end_to_end.py" --names
    python3 "$sources/first_text.py" --names
}

results='' filter='' is_thorough=false rounds=1
while (($# > 0)); do
    case $1 in
        --results) results=$(cd "$started_in" && realpath --canonicalize-missing "$2") && shift 2 ;;
        --filter) filter=$2 && shift 2 ;;
        --thorough) is_thorough=true && shift ;;
        --in-turn)
            if [[ $2 != parser* ]]; then python3 "$sources/end_to_end.py" --in-turn "$2"; fi
            exit 0
            ;;
        --) shift && break ;;
        -h | --help)
            sed -n '2,11s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *)
            log "bench-peers.sh: what is '$1'? (--help)"
            exit 64
            ;;
    esac
done

workloads=("${short_workloads[@]}")
if $is_thorough; then workloads+=("${other_workloads[@]}"); else rounds=3 && export SECONDS_A_PASS=0.1 PASSES=3; fi
if [[ $(names) != *"$filter"* ]]; then
    log "bench-peers.sh: nothing is called like '$filter'"
    exit 2
fi
mkdir -p "$cache"
set_up_python
set_up_playwright
export PLAYWRIGHT_BUNDLE=$cache/$playwright/utilsBundle.js
bin=$(swift build --configuration release --package-path Benchmarks --show-bin-path)
if [[ $filter == parser* ]]; then
    measure_parsers "$@" || status=1
    exit "$status"
fi

build . chappie
build Benchmarks recovery-figures
first_text=(
    python3 "$sources/first_text.py" --bin "$bin" --python "$python" ${results:+--results "$results"} --filter "$filter"
    --chappie "$(swift build --configuration release --show-bin-path)/chappie"
    --codex "$(find "$cache/python" -path '*/codex_cli_bin/bin/codex' -print -quit)"
)
started=$SECONDS
# What only waits does it beside all the rest, in a process group of its own.
waited=$(mktemp)
setsid "${first_text[@]}" --waiting only >"$waited" 2>&1 &
waiting=$!
trap 'kill -- "-$waiting" 2>/dev/null || true; rm -f "$waited"' EXIT
measure_parsers "$@" || status=1
measure_clients --filter "$filter" || status=1
"${first_text[@]}" --waiting without || status=1
wait "$waiting" || status=1
cat "$waited"
log "Measured in $((SECONDS - started)) s"
exit "$status"
