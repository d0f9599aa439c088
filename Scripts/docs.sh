#!/usr/bin/env bash
# Builds one documentation site of all library products and the guide, and checks it. Any warning fails.
# Usage: Scripts/docs.sh [--accept-api]
#
# Every public symbol has documentation and a place among the topics of its module; no public declaration has changed
# unannounced (Scripts/release.py); every code block of README.md, the guide and the catalogs compiles by itself, and its
# output neither traps in a pipe nor stays in a buffer; every public type has an example; the manual page and the
# completions of the command line are well formed. The products have to be built. The site is left in
# .build/documentation/site; its addresses begin at the root of a server.
# --accept-api only writes the baseline of the public API, Documentation/PublicAPI.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A module follows those that its documentation links to.
readonly modules=(
    ServerSentEvents ChappieTransport WebSocketClient EventSource Chappie ChappieSignIn ChappieRelay ChappieDiagnosis
    ChappieTestServer
)
readonly work=.build/documentation
readonly site=$work/site

fail() {
    printf 'docs: %s\n' "$*" >&2
    exit 1
}

tools=$(dirname "$(readlink -f "$(command -v swift)")")
products=$(swift build --show-bin-path)
target=$(swift -print-target-info | sed -nE 's/^ *"unversionedTriple": "(.*)",?$/\1/p')
readonly tools products target
[[ -x $tools/docc ]] || fail "this toolchain has no docc"

rm -rf "$work"
mkdir -p "$work/symbols" "$work/examples/manifests" "$work/modules" "$work/graphs" "$work/catalogs"

# C modules are named by their maps, which the package manager writes beside what it builds.
compile=(-I "$products/Modules" -target "$target")
for map in Sources/C/*/module.modulemap "$products"/*.build/module.modulemap; do
    compile+=(-Xcc "-fmodule-map-file=$map")
done
for folder in Sources/C/C*/include; do compile+=(-Xcc "-I$folder"); done

# The extractor takes ChappieTransportVersion for a version that Xcode makes, and leaves it out.
for module in "${modules[@]}"; do
    options=(-minimum-access-level public -skip-synthesized-members -skip-inherited-docs)
    # The engine's types that modules below it declare (ChappieTransport/ReexportedTypes.swift): their pages are
    # in this module, with the members of its extensions.
    if [[ $module == ChappieTransport ]]; then
        options+=("-experimental-allowed-reexported-modules=ResponseEvents,StreamSession,StreamTransport,TransportSurface")
    elif [[ $module == ChappieDiagnosis ]]; then
        options+=("-experimental-allowed-reexported-modules=PathDiagnosis")
    elif [[ $module != Chappie ]]; then
        options+=(-emit-extension-block-symbols)
    fi
    "$tools/swift-symbolgraph-extract" -module-name "$module" "${compile[@]}" -output-dir "$work/symbols" "${options[@]}"
done
if [[ ${1:-} == --accept-api ]]; then
    python3 Scripts/release.py accept-api "$work/symbols" "${modules[@]}"
    exit
fi
python3 Scripts/docs.py undocumented "$work/symbols" "${modules[@]}" || fail "symbols without documentation"
python3 Scripts/release.py api "$work/symbols" "${modules[@]}" ||
    fail "the public API has changed: '-' is gone, '+' is new and breaks programs; CONTRIBUTING.md, \"Versions\""

# Converts the catalog of a name into an archive whose pages may link to those of the archives before it.
archives=()
convert() {
    local name=$1 dependencies=() archive
    cp Scripts/docs/header.html "$work/catalogs/$name.docc"
    for archive in "${archives[@]}"; do dependencies+=(--dependency "$archive"); done
    "$tools/docc" convert "$work/catalogs/$name.docc" "${@:2}" \
        --fallback-display-name "$name" --fallback-bundle-identifier "$name" --fallback-default-module-kind Library \
        --enable-experimental-external-link-support "${dependencies[@]}" --experimental-enable-custom-templates \
        --warnings-as-errors --diagnostic-level warning --output-path "$work/$name.doccarchive" \
        >"$work/$name.log" 2>&1 || {
        cat "$work/$name.log" >&2
        fail "$name: docc reports warnings or errors"
    }
    archives+=("$work/$name.doccarchive")
}

for module in "${modules[@]}"; do
    catalogs=(Sources/*/"$module/$module.docc")
    catalog=${catalogs[0]}
    [[ -d $catalog ]] || fail "$catalog is not there"
    cp -R "$catalog" "$work/catalogs"
    mkdir "$work/graphs/$module"
    # The graphs of a module are its own and those of its extensions: `Chappie*` would be those of four modules.
    graphs=("$work/symbols/$module".symbols.json "$work/symbols/$module"@*.symbols.json)
    # Members that Chappie adds to the engine's types are documented with those types: a page `ChappieTransport` in the
    # documentation of Chappie would hide the engine's from links.
    if [[ $module == ChappieTransport ]]; then
        graphs+=("$work/symbols/Chappie@ChappieTransport.symbols.json")
    elif [[ $module == Chappie ]]; then
        graphs=("$work/symbols/Chappie.symbols.json")
    fi
    for graph in "${graphs[@]}"; do
        [[ ! -f $graph ]] || cp "$graph" "$work/graphs/$module"
    done
    convert "$module" --additional-symbol-graph-dir "$work/graphs/$module"
done

# The pages of Documentation are for the site as well; their links to catalogs become links within it.
cp -R Documentation/Guide.docc "$work/catalogs"
for page in Documentation/*.md; do
    sed -E -e 's#\]\(\.\./Sources/\w+/(\w+)/\1\.docc/(\w+)\.md\)#](doc:/\1/\2)#g' \
        -e 's#\]\(Guide\.docc/(\w+)\.md\)#](doc:\1)#g' "$page" >"$work/catalogs/Guide.docc/$(basename "$page")"
done
convert Guide

"$tools/docc" merge "${archives[@]}" --synthesized-landing-page-name chappie-transport --output-path "$site" >"$work/merge.log"
# The guide is the landing page, in place of the list that docc makes.
cp Scripts/docs/index.html "$site/index.html"
cp Scripts/docs/index.html "$site/documentation/index.html"
cat Scripts/docs/site.css >>"$site"/css/index.*.css
python3 Scripts/docs.py curated "$site" || fail "symbols without a place among the topics of their module"

# Stand-ins for packages that adapters are shown for.
for name in Logging Metrics; do
    swiftc -emit-module -parse-as-library -module-name "$name" -emit-module-path "$work/modules/$name.swiftmodule" \
        "Examples/Sources/$name/$name.swift"
done

python3 Scripts/docs.py output || fail "examples whose output traps or is not seen"
python3 Scripts/docs.py examples "$work/examples"
readonly check=(swiftc -typecheck -swift-version 6 -warnings-as-errors)
readonly features=(-enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility)
printf '%s\0' "$work"/examples/*.swift |
    xargs -0 -P 2 -n 1 "${check[@]}" "${features[@]}" -I "$work/modules" "${compile[@]}" ||
    fail "examples that do not compile"
for manifest in "$work"/examples/manifests/*.swift; do
    "${check[@]}" -package-description-version 6.2 -I "$tools/../lib/swift/pm/ManifestAPI" "$manifest" ||
        fail "manifests that do not compile"
done
python3 Scripts/docs.py tables Documentation/Guide.docc/ChappieSDK.md || fail "names in tables without an example"
for script in "$work"/examples/*.sh; do bash -n "$script" || fail "commands with a wrong syntax"; done
python3 Scripts/docs.py types "$work/symbols" "$work/examples" "${modules[@]}" || fail "types without an example"

# The command line's own documents.
"$products/chappie" man >"$work/chappie.1"
mandoc -T lint -W warning "$work/chappie.1" || fail "the manual page is not well formed"
for shell in bash zsh fish; do
    "$products/chappie" completion "$shell" >"$work/chappie.$shell"
    "$shell" -n "$work/chappie.$shell" || fail "the completions of $shell are not well formed"
done
# Each shell reads its own, and then completes the command.
bash --norc -euc "source '$work/chappie.bash' && complete -p chappie" >/dev/null || fail "bash does not complete"
zsh -f -euc "autoload -U compinit && compinit -u -D && source '$work/chappie.zsh' && ((\$+_comps[chappie]))" ||
    fail "zsh does not complete"
[[ $(fish --no-config -c "source '$work/chappie.fish'; complete -C 'chappie strea'") == stream* ]] ||
    fail "fish does not complete"

find "$work/examples" -type f | wc -l | xargs printf 'docs: %s modules, %s examples\n' "${#modules[@]}"
printf 'docs: the site is in %s; make docs-serve shows it\n' "$PWD/$site"
