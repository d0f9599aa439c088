#!/usr/bin/env bash
# Makes several targets at the same time, because each of them waits much. The output of the first is printed as it
# comes, and that of the others behind it.
# Usage: Scripts/at-once.sh TARGET...      Fails when one of them does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
readonly work
declare -A processes=()

clean_up() {
    # shellcheck disable=SC2046 # One word for each job.
    kill $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

for target in "$@"; do
    if [[ $target == "$1" ]]; then
        make --no-print-directory "$target" 2>&1 &
    else
        make --no-print-directory "$target" >"$work/$target" 2>&1 &
    fi
    processes[$target]=$!
done
printf 'Running at the same time: %s. The output of the first is here; that of each other one follows.\n' "$*"
failed=()
for target in "$@"; do
    wait "${processes[$target]}" || failed+=("$target")
    [[ $target != "$1" ]] || continue
    printf -- '--- %s\n' "$target"
    cat "$work/$target"
done
((${#failed[@]} == 0)) || {
    printf 'at-once.sh: %s failed\n' "${failed[*]}" >&2
    exit 1
}
