#!/usr/bin/env bash
# Builds a program that depends on this package as README says, by URL and version, and streams with it.
# Usage: Scripts/dependency-check.sh [ROOT]
#
# Manifest and program are README's, unchanged. The URL leads to a clone in which README's version is a tag: the
# repository's own, or else one of the last commit. What was built stays for the next time, when only the changes are
# compiled. The server is `chappie serve` of the checkout, which has to be built. ROOT is a root folder with a Debian of
# its own, such as debian12 (Scripts/platforms.sh), where all of it is built instead; as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=Scripts/roots.sh
source Scripts/roots.sh

readonly place=.build/dependency
# The package manager keeps what it has fetched for a version, and refuses another commit for it.
readonly kept=(--cache-path .build/cache --security-path .build/security)
server=

# Writes a program with README's manifest and README's first program into a folder.
write_program() {
    mkdir -p "$1/Sources/Ask"
    awk '/^```$/ { shows = 0 } shows || /^\/\/ swift-tools-version/ { shows = 1; print }' README.md >"$1/Package.swift"
    awk '/^```$/ && shows { exit } shows { print } /^```swift$/ { shows = 1 }' README.md >"$1/Sources/Ask/main.swift"
}

# The clones and the programs, in a folder of the checkout; `place` is where they are found when they are built.
prepare() {
    local target=$1/$place version url by_path
    version=$(python3 Scripts/release.py readme-version)
    mkdir -p "$target"
    rm -rf "$target"/{chappie-transport,by-path} "$target/app/Package.resolved" "$target/app/.build/security"
    git clone --quiet --bare . "$target/chappie-transport"
    git -C "$target/chappie-transport" rev-parse --quiet --verify "refs/tags/$version" >/dev/null ||
        git -C "$target/chappie-transport" tag "$version"
    write_program "$target/app"
    # README's URL leads to the clone.
    url=$(sed -nE 's/.*\.package\(url: "([^"]*)".*/\1/p' README.md)
    mkdir -p "$target/app/.swiftpm/configuration"
    printf '{"object":[{"original":"%s","mirror":"file://%s"}],"version":1}\n' "$url" \
        "$checkout/$place/chappie-transport" >"$target/app/.swiftpm/configuration/mirrors.json"
    # The same program beside a checkout in a folder of another name.
    by_path=$(grep --only-matching --max-count=1 '\.package(name: "[^"]*", path: "\.\./[^"]*")' README.md) ||
        fail "README does not say how a program depends on a checkout in a folder of another name"
    write_program "$target/by-path/Ask"
    sed --in-place -E "s|\.package\(url: [^)]*\)|$by_path|" "$target/by-path/Ask/Package.swift"
    git clone --quiet . "$target/by-path/$(sed -E 's|.*"\.\./([^"]*)".*|\1|' <<<"$by_path")"
}

# Builds and runs what is prepared.
run() {
    local chappie address output code=0
    chappie=$(swift build --show-bin-path)/chappie
    cd "$place"
    (cd by-path/Ask && swift package "${kept[@]}" show-dependencies >/dev/null) || fail "by path, nothing is resolved"
    (cd app && swift package "${kept[@]}" resolve && swift build --quiet "${kept[@]}" --product Ask) ||
        fail "README's manifest or program does not build"
    rm -f code.txt
    printf 'The sky is blue, and the connection is cut once.' >answer.txt
    unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
    exec {lines}< <(exec "$chappie" serve --text answer.txt --scenario replay-same)
    server=$!
    trap 'kill "$server"' EXIT
    read -r -t 30 -u "$lines" address
    export CHAPPIE_BASE_URL=${address#listening on } OPENAI_API_KEY=none
    output=$(timeout 60 app/.build/debug/Ask) || fail "README's program failed: $output"
    [[ $output == "$(cat answer.txt)" ]] || fail "README's program printed '$output'"
    # A pipe whose reader is gone: an error or the signal, and no trap.
    { timeout 60 app/.build/debug/Ask || code=$?; ((code < 2 || code == 141)) || echo "$code" >code.txt; } | true
    [[ ! -e code.txt ]] || fail "README's program ended with $(cat code.txt) in a pipe without a reader"
    # The address of no server: one line, and no trap.
    output=$(CHAPPIE_BASE_URL=http://127.0.0.1:1/v1 timeout 60 app/.build/debug/Ask 2>&1) || code=$?
    if ((code != 1)) || [[ $(wc -l <<<"$output") != 1 ]]; then
        fail "README's program ended with $code without a server: $output"
    fi
    echo "dependency-check: a program that depends on the package by URL and version builds and streams"
}

case ${1:-} in
    '')
        prepare .
        run
        ;;
    --prepared) run ;;
    *)
        require roots
        make_root "$1"
        copy_checkout "$1"
        prepare "$folder/$1.checkout"
        enter "$1" "Scripts/install.sh build && swift build --product chappie && Scripts/dependency-check.sh --prepared"
        ;;
esac
