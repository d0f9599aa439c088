#!/usr/bin/env bash
# Builds the fuzz targets and runs each over its committed inputs: those that once broke something, and the seeds.
# Usage: Scripts/replay-fuzz.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Two --sanitize options would reach the compiler in random order; the second list adds the address sanitizer.
readonly options=(--package-path Fuzz --configuration release --sanitize fuzzer -Xswiftc "-sanitize=fuzzer,address")

swift build "${options[@]}"
executables=$(swift build "${options[@]}" --show-bin-path)
mkdir -p .build
for source in Fuzz/Sources/*/; do
    target=$(basename "$source")
    inputs=()
    for folder in "Fuzz/Regressions/$target" "Fuzz/Corpus/$target"; do
        if [[ -d $folder ]]; then inputs+=("$folder"); fi
    done
    if ((${#inputs[@]} == 0)); then
        printf '%s: no committed inputs\n' "$target" >&2
        exit 1
    fi
    # No new inputs are made, so nothing is written into the folders.
    "$executables/$target" -runs=0 -artifact_prefix=.build/ "${inputs[@]}" >.build/replay-fuzz.log 2>&1 || {
        tail -n 40 .build/replay-fuzz.log >&2
        printf '%s: an input broke it\n' "$target" >&2
        exit 1
    }
    printf '%s: %d inputs replayed\n' "$target" "$(find "${inputs[@]}" -type f | wc -l)"
done
