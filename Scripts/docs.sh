#!/usr/bin/env bash
# Builds the documentation of the library products, and checks it. Any warning fails.
# Usage: Scripts/docs.sh
#
# Every public symbol has documentation; every code block of README.md and of the catalogs compiles by itself; every
# public type stands in one of the catalogs; the manual page and the completions of the command line are well formed. The
# products have to be built. The archives are left in .build/documentation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly modules=(ServerSentEvents ChappieTransport Chappie ChappieSignIn ChappieTestServer)
readonly work=.build/documentation

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
mkdir -p "$work/symbols" "$work/examples" "$work/modules" "$work/graphs"

# C modules are named by their maps, which the package manager writes beside what it builds.
compile=(-I "$products/Modules" -target "$target")
for map in Sources/*/module.modulemap "$products"/*.build/module.modulemap; do
    compile+=(-Xcc "-fmodule-map-file=$map")
done
for folder in Sources/C*/include; do compile+=(-Xcc "-I$folder"); done

# The extractor takes ChappieTransportVersion for a version that Xcode makes, and leaves it out.
for module in "${modules[@]}"; do
    options=(-minimum-access-level public -skip-synthesized-members -skip-inherited-docs -emit-extension-block-symbols)
    # The engine's types that modules below it declare (Sources/ChappieTransport/ReexportedTypes.swift).
    if [[ $module == ChappieTransport ]]; then
        options+=("-experimental-allowed-reexported-modules=ResponseEvents,StreamSession,StreamTransport")
    fi
    "$tools/swift-symbolgraph-extract" -module-name "$module" "${compile[@]}" -output-dir "$work/symbols" "${options[@]}"
done
python3 Scripts/docs.py undocumented "$work/symbols" "${modules[@]}" || fail "symbols without documentation"

for module in "${modules[@]}"; do
    catalog=Sources/$module/$module.docc
    [[ -d $catalog ]] || fail "$catalog is not there"
    mkdir "$work/graphs/$module"
    cp "$work/symbols/$module"*.symbols.json "$work/graphs/$module"
    "$tools/docc" convert "$catalog" --additional-symbol-graph-dir "$work/graphs/$module" \
        --fallback-display-name "$module" --fallback-bundle-identifier "chappie-transport.$module" \
        --warnings-as-errors --diagnostic-level warning --output-path "$work/$module.doccarchive" \
        >"$work/$module.log" 2>&1 || {
        cat "$work/$module.log" >&2
        fail "$module: docc has something to say"
    }
done

# Stand-ins for packages that adapters are shown for.
for name in Logging Metrics; do
    swiftc -emit-module -parse-as-library -module-name "$name" -emit-module-path "$work/modules/$name.swiftmodule" \
        "Examples/Sources/$name/$name.swift"
done

python3 Scripts/docs.py examples "$work/symbols" "$work/examples" "${modules[@]}"
readonly check=(swiftc -typecheck -swift-version 6 -warnings-as-errors -enable-upcoming-feature ExistentialAny
    -enable-upcoming-feature MemberImportVisibility -I "$work/modules" "${compile[@]}")
printf '%s\0' "$work"/examples/*.swift | xargs -0 -P 2 -n 1 "${check[@]}" || fail "examples that do not compile"
python3 Scripts/docs.py types "$work/symbols" "$work/examples" "${modules[@]}" || fail "types without an example"

# The command line's own documents.
"$products/chappie" man >"$work/chappie.1"
mandoc -T lint -W warning "$work/chappie.1" || fail "the manual page is not well formed"
for shell in bash zsh fish; do
    "$products/chappie" completion "$shell" >"$work/chappie.$shell"
    "$shell" -n "$work/chappie.$shell" || fail "the completions of $shell are not well formed"
done

find "$work/examples" -name '*.swift' | wc -l | xargs printf 'docs: %s modules, %s examples\n' "${#modules[@]}"
