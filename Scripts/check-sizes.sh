#!/usr/bin/env bash
# Fails when a source file is longer than 600 lines, a state machine's longer than 1,300 or a test file longer than 1,000.
# Usage: Scripts/check-sizes.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly longest_source=600
# State that is private to one type cannot be divided among files.
readonly longest_state_machine=1300
readonly state_machines=' ResponseOrder.swift TurnStateMachine.swift '
readonly longest_test=1000

status=0
while IFS= read -r -d '' file; do
    # A file that was deleted but not committed yet is still listed.
    [[ -f $file ]] || continue
    limit=$longest_source
    if [[ $state_machines == *" ${file##*/} "* ]]; then limit=$longest_state_machine; fi
    if [[ $file == Tests/* || $file == */Tests/* ]]; then limit=$longest_test; fi
    lines=$(wc -l <"$file")
    if ((lines > limit)); then
        printf '%s: %d lines, the limit is %d\n' "$file" "$lines" "$limit" >&2
        status=1
    fi
done < <(git ls-files -z --cached --others --exclude-standard -- '*.swift' '*.c' '*.cpp' '*.h')
exit "$status"
