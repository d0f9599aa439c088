#!/usr/bin/env bash
# Measures this package and other people's programs in rounds on the same work: parsers, clients, typical traffic, first text.
# Usage: Scripts/bench-peers.sh [--results FILE] [FILTER]
#
# FILTER is a part of a group and a workload, and of a name behind them: `first-text/cold`, `websocket-plain-1 picows`.
# FILE gets figures, and what is missing, as lines of JSON (Benchmarks/Runner/figures.py).
# Status 1: something failed, or a bar is missed; 2: nothing has FILTER in its name.
# CHAPPIE_BENCHMARKS_DIR is where the peers and the streams are kept; the first run fetches about 250 MB from PyPI.
# Nothing is installed into the system. What needs a compiler or a library that is not there is left out, and named.
set -euo pipefail
readonly started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

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

# MARK: Peers in C++, Rust and Go

# The programs that are built from Benchmarks/Peers/native.
readonly native=$cache/native
readonly debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Unpacks packages of sources from a Debian, with those that they depend on, into the cache: older systems do not have
# them, and sources need nothing of the system. Usage: fetch_sources SUITE PATTERN PACKAGE...
fetch_sources() {
    local suite=$1 pattern=$2 folder=$cache/debian-$1 mirror names
    shift 2
    if [[ -f $folder/$1.complete ]]; then return 0; fi
    if ! [[ -f $debian_keyring ]] || ! command -v apt-get >/dev/null; then return 1; fi
    mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Origin: Debian' | grep -v security | sed -n 1p)
    [[ -n $mirror ]] || return 1
    log "Fetching $* of Debian $suite"
    mkdir -p "$folder"/{root,downloads,lists/partial,cache/archives/partial}
    : >"$folder/status"
    printf 'deb [signed-by=%s] %s %s main\n' "$debian_keyring" "$mirror" "$suite" >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONFIGURATION
Dir::State "$folder";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
CONFIGURATION
    export APT_CONFIG=$folder/apt.conf
    # shellcheck disable=SC2030,SC2031
    if apt-get -qq update >&2 && names=$(apt-get -qq --print-uris --yes install "$@" |
        sed -nE "s/^'[^']*' (${pattern}[^_]*)_.*/\1/p") && [[ -n $names ]] &&
        (cd "$folder/downloads" && xargs apt-get -qq download <<<"$names" >&2) &&
        find "$folder/downloads" -name '*.deb' -exec dpkg-deb --extract '{}' "$folder/root" ';'; then
        : >"$folder/$1.complete"
    fi
    unset APT_CONFIG
    rm -rf "$folder"/{downloads,lists,cache}
    [[ -f $folder/$1.complete ]]
}

# Whether a program is there and newer than what it is made of. Usage: is_built PROGRAM SOURCE...
is_built() {
    local program=$1
    shift
    [[ -x $program && -z $(find "$@" -newer "$program" -print -quit) ]]
}

# Builds a peer in C++; names it when it cannot be built. Usage: build_cpp NAME SUBJECT LIBRARY...
build_cpp() {
    local name=$1 subject=$2 error
    shift 2
    if is_built "$native/$name" "$sources/native/$name.cpp" "$sources/native/peer.hpp"; then return 0; fi
    log "Building $subject"
    if ! error=$(c++ -std=c++20 -O2 -DNDEBUG "$sources/native/$name.cpp" -o "$native/$name" "$@" 2>&1); then
        rm -f "$native/$name"
        missing "$subject" "it cannot be built: $(grep --max-count 1 -E 'error|not found' <<<"$error" || head -n 1 <<<"$error")"
    fi
}

# The version of a crate in a registry; nothing where it is not there. Usage: crate_version REGISTRY NAME
crate_version() {
    find "$1" -maxdepth 1 -name "$2-[0-9]*" 2>/dev/null | sed 's/.*-//' | head -n 1
}

# Builds the peer in Rust, with the crates of the system's packages or else of Debian 13's.
build_rust() {
    local registry=/usr/share/cargo/registry error version
    if is_built "$native/tungstenite" "$sources/native/rust"; then return 0; fi
    if ! command -v cargo >/dev/null; then
        missing tungstenite "there is no cargo"
        return 0
    fi
    if ! compgen -G "$registry/tungstenite-*" >/dev/null; then
        registry=$cache/debian-trixie/root/usr/share/cargo/registry
        fetch_sources trixie librust- librust-tungstenite-dev librust-{openssl,serde-json,serde-derive,crc32fast,libc}-dev || true
    fi
    version=$(crate_version "$registry" tungstenite)
    if [[ -z $version ]]; then
        missing tungstenite "librust-tungstenite-dev is not installed, and cannot be fetched"
        return 0
    fi
    log "Building tungstenite"
    rm -f "$native/tungstenite"
    # In a copy, because cargo writes a lock file beside the manifest.
    rm -rf "$native/rust" && cp -r "$sources/native/rust" "$native/rust"
    if error=$(cd "$native/rust" && TUNGSTENITE_VERSION=$version \
        SERDE_JSON_VERSION=$(crate_version "$registry" serde_json) cargo build --quiet --offline --release \
        --config 'source.crates-io.replace-with="debian"' --config "source.debian.directory=\"$registry\"" 2>&1); then
        mv "$native/rust/target/release/tungstenite-peer" "$native/tungstenite"
    else
        missing tungstenite "it cannot be built: $(grep --max-count 1 error <<<"$error" || head -n 1 <<<"$error")"
    fi
    rm -rf "$native/rust"
}

# Builds the peers in Go: net/http, and those whose packages the system or Debian unstable has.
build_go() {
    local paths=/usr/share/gocode tags=() name error
    if is_built "$native/go-peers" "$sources/native/go"; then return 0; fi
    if ! command -v go >/dev/null; then
        missing Go "there is no go"
        return 0
    fi
    log "Building the peers in Go"
    rm -f "$native/go-peers"
    # Debian 13 does not have the package.
    if ! [[ -d $paths/src/github.com/gobwas/ws ]] && fetch_sources sid golang-github-gobwas- \
        golang-github-gobwas-ws-dev golang-github-gobwas-httphead-dev golang-github-gobwas-pool-dev; then
        paths+=:$cache/debian-sid/root/usr/share/gocode
    fi
    for name in gorilla/websocket gobwas/ws; do
        if compgen -G "/usr/share/gocode/src/github.com/$name" >/dev/null ||
            compgen -G "${paths#*:}/src/github.com/$name" >/dev/null; then
            tags+=("${name%/*}")
        else
            missing "Go, ${name%/*}" "golang-github-${name/\//-}-dev is not installed, and cannot be fetched"
        fi
    done
    if ! error=$(cd "$sources/native/go" && GO111MODULE=off GOFLAGS='' GOPATH=$paths \
        go build -tags "${tags[*]}" -o "$native/go-peers" . 2>&1); then
        missing Go "it cannot be built: $(sed -n 2p <<<"$error")"
    fi
}

build_native() {
    mkdir -p "$native"
    build_cpp epoll "machine, epoll" -lsimdjson -lssl -lcrypto -lz
    build_cpp beast Boost.Beast -lsimdjson -lssl -lcrypto -lz -pthread
    build_cpp curl libcurl -lsimdjson -lcurl -lz
    build_rust
    build_go
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
    python3 "$sources/end_to_end.py" --bin "$bin" --native "$native" --python "$python" --node "$node" \
        --foundation-version "$(foundation_version)" ${results:+--results "$results"} --filter "$filter"
}

measure_typical() {
    build stream-server stream-facts connection-cost || return 1
    python3 "$sources/typical.py" --bin "$bin" --native "$native" ${results:+--results "$results"} --filter "$filter"
}

# Whether a filter is about what a script measures. Usage: is_asked SCRIPT FILTER
is_asked() {
    [[ $(python3 "$sources/$1.py" --names) == *"$2"* ]]
}

# MARK: Running

# What can be asked for and has peers from PyPI, a line each.
names_of_pypi() {
    local workload
    for workload in "${workloads[@]}"; do parser_names "$workload"; done
    python3 "$sources/end_to_end.py" --names
    python3 "$sources/first_text.py" --names
}

# Everything that can be asked for, a line each.
names() {
    names_of_pypi
    python3 "$sources/typical.py" --names
}

results='' filter=''
while (($# > 0)); do
    case $1 in
        --results) results=$(cd "$started_in" && realpath --canonicalize-missing "$2") && shift 2 ;;
        -h | --help)
            sed -n '2,9s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        -*)
            log "bench-peers.sh: what is '$1'? (--help)"
            exit 64
            ;;
        *) filter=$1 && shift ;;
    esac
done
readonly results filter

if [[ $(names) != *"$filter"* ]]; then
    log "bench-peers.sh: nothing is called like '$filter'"
    exit 2
fi
mkdir -p "$cache"
if [[ $(names_of_pypi) == *"$filter"* ]]; then
    set_up_python
    set_up_playwright
fi
if is_asked end_to_end "$filter" || is_asked typical "$filter"; then build_native; fi
export PLAYWRIGHT_BUNDLE=$cache/$playwright/utilsBundle.js
bin=$(benchmarks --show-bin-path)
started=$SECONDS
measure_parsers || status=1
if is_asked end_to_end "$filter"; then measure_clients || status=1; fi
if is_asked typical "$filter"; then measure_typical || status=1; fi
# Typical traffic has a bar for the start of the command line.
first_text_filter=$filter
if [[ $filter == typical ]]; then first_text_filter='first-text/cold chappie'; fi
if is_asked first_text "$first_text_filter"; then
    build recovery-figures empty-program
    # As it is installed (Scripts/deb.sh).
    installed=(--configuration release --static-swift-stdlib --scratch-path .build/release-static)
    if swift build "${installed[@]}" --product chappie >&2; then
        chappie=$(swift build "${installed[@]}" --show-bin-path)/chappie
    else
        missing chappie "Swift's libraries cannot be linked into it: the program with shared ones is measured"
        build chappie
        chappie=$bin/chappie
        status=1
    fi
    python3 "$sources/first_text.py" --bin "$bin" --python "$python" ${results:+--results "$results"} \
        --filter "$first_text_filter" --chappie "$chappie" \
        --codex "$(find "$cache" -path '*/codex_cli_bin/bin/codex' -print -quit)" || status=1
fi
log "Measured in $((SECONDS - started)) s"
exit "$status"
