#!/usr/bin/env bash
# Runs the benchmarks that have bars, and fails when one is missed.
# Usage: Scripts/bench.sh [NAME]      NAME is a part of a figure's name, or of `sse`; without it, everything is run.
set -euo pipefail

cd "$(dirname "$0")/.."
readonly filter=${1:-}
status=0

swift build --configuration release --package-path Benchmarks
bin=$(swift build --configuration release --package-path Benchmarks --show-bin-path)

if [[ sse != *"$filter"* || -z $filter ]]; then
    "$bin/connection-cost" ${filter:+"$filter"} || status=1
fi
if [[ sse == *"$filter"* ]]; then
    "$bin/sse-throughput" --bars || status=1
    "$bin/sse-throughput" growth || status=1
fi
exit "$status"
