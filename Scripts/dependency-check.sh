#!/usr/bin/env bash
# Builds a program that depends on this package as README says, by URL and version, and streams with it.
# Usage: Scripts/dependency-check.sh [ROOT]
#
# The URL is that of a clone of the last commit with the version's tag. The manifest is README's. ROOT is a root folder
# with a Debian of its own, such as debian12 (Scripts/platforms.sh), where it is built instead; as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=Scripts/roots.sh
source Scripts/roots.sh

readonly place=.build/dependency

# The clone and the program, in a folder of the checkout; `place` is where it is found when it is built.
prepare() {
    local target=$1/$place version url
    version=$(python3 Scripts/release.py version)
    url=file://$checkout/$place/chappie-transport
    rm -rf "$target"
    mkdir -p "$target/app/Sources/Ask"
    git clone --quiet . "$target/chappie-transport"
    git -C "$target/chappie-transport" tag --force "$version" >/dev/null
    # The server that it streams from is a second product.
    awk '/^```$/ { shows = 0 } shows || /^\/\/ swift-tools-version/ { shows = 1; print }' README.md |
        sed -E "s|url: \"[^\"]*\"|url: \"$url\"|
            s|(\.product\(name: )\"Chappie\"(, package: [^)]*\))|&, \1\"ChappieTestServer\"\2|" >"$target/app/Package.swift"
    grep --quiet "from: \"$version\"" "$target/app/Package.swift" || fail "README's manifest does not ask for $version"
    grep --quiet ChappieTestServer "$target/app/Package.swift" || fail "README's manifest has another form"
    cat >"$target/app/Sources/Ask/main.swift" <<'SWIFT'
import Chappie
import ChappieTestServer
import Foundation

let server = try ChappieTestServer(
    configuration: .init(model: .text("The sky is blue."), faults: [.init(.cutAfterEvent(event: 6), attempts: 1...1)]))
setenv("CHAPPIE_BASE_URL", server.baseURL, 1)
setenv("OPENAI_API_KEY", "none", 1)
var text = ""
for try await event in Chappie.client().events("Why is the sky blue?") {
    if case .textDelta(let delta) = event { text += delta }
}
server.stop()
print(ChappieTransportVersion.current, text)
exit(text == "The sky is blue." ? 0 : 1)
SWIFT
}

# The package manager keeps what it has fetched for a version, and refuses another commit for it.
readonly kept="--cache-path .build/cache --security-path .build/security"
readonly build="Scripts/install.sh build && cd $place/app && swift build $kept && env --unset=HTTP_PROXY --unset=ALL_PROXY --unset=http_proxy --unset=all_proxy swift run --skip-build $kept Ask"

if [[ -z ${1:-} ]]; then
    prepare .
    bash -euc "$build"
else
    require roots
    make_root "$1"
    copy_checkout "$1"
    prepare "$folder/$1.checkout"
    enter "$1" "$build"
fi
echo "dependency-check: a program that depends on the package by URL and version builds and streams"
