#!/usr/bin/env bash
# Builds what the budgets are about, and holds it against them: see Benchmarks/Runner/budgets.py. Then an event at many
# streams, with its cache misses: see Benchmarks/Runner/cold.py; `budgets.sh cold [--accept] [NAME]...` counts it alone.
# Then the walks over a server's words, which must be linear: see Benchmarks/Runner/growth.py; `budgets.sh growth
# [NAME]...` counts them alone. Last the memory of a stream that waits, beside the bars of `make bench`.
# Usage: Scripts/budgets.sh [--accept] [--without-command] [NAME]...
#        Scripts/budgets.sh cold [--accept] [NAME]...
#        Scripts/budgets.sh growth [NAME]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly budgets=Benchmarks/budgets.tsv
export CHAPPIE_BENCHMARKS=1
readonly building=(--configuration release --scratch-path .build/benchmarks)

if [[ $(uname -sm) != "Linux x86_64" ]]; then
    echo "budgets: skipped, they are counted on x86-64 Linux"
    exit 0
fi
SECONDS=0
mapfile -t products < <(grep -v -e '^#' -e '^$' "$budgets" | cut -f 2 | sort -u)
# The command line takes as long to build as all others.
if [[ " $* " == *" --without-command "* ]]; then mapfile -t products < <(printf '%s\n' "${products[@]}" | grep -vx chappie); fi
# What stands beside them.
products+=(stream-server walk-growth)
if [[ ${1-} == growth ]]; then products=(walk-growth); fi
if [[ ${1-} == cold ]]; then products=(connection-cost stream-server); fi
for product in "${products[@]}"; do
    swift build --quiet "${building[@]}" --product "$product"
done
folder=$(swift build "${building[@]}" --show-bin-path)
built=$SECONDS
if [[ ${1-} == growth ]]; then
    python3 Benchmarks/Runner/growth.py "$folder" "${@:2}"
elif [[ ${1-} == cold ]]; then
    python3 Benchmarks/Runner/cold.py "$folder" "${@:2}"
else
    python3 Benchmarks/Runner/budgets.py "$folder" "$@"
    if [[ $# == 0 || $1 == --* ]]; then
        accepting=()
        if [[ ${1-} == --accept ]]; then accepting=(--accept); fi
        python3 Benchmarks/Runner/cold.py "$folder" "${accepting[@]}"
        python3 Benchmarks/Runner/growth.py "$folder"
        # The caller's environment may change the allocator.
        env -i PATH="$PATH" "$folder/connection-cost" --repetitions 3 memory
    fi
fi
echo "budgets: built in $built s, counted in $((SECONDS - built)) s"
