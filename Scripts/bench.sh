#!/usr/bin/env bash
# Builds the benchmarks, runs them one after another, and prints their figures as a table.
# Usage: Scripts/bench.sh run [FILTER]            everything, or what has FILTER in its group and workload
#        Scripts/bench.sh peers [FILTER]          the same, and other people's programs in turn with this package
#        Scripts/bench.sh report [RESULTS]        report.html again from a results.json
#        Scripts/bench.sh readme [RESULTS]        RESULTS.md and the README's table from a results.json
#        Scripts/bench.sh check                   whether the README's figures are those of RESULTS.md
#
# BENCH_OUTPUT is where results.json and report.html go (.build/benchmarks-results). Status 1: a bar is missed, or a
# program has failed; 2: nothing could be measured.
set -euo pipefail
readonly started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A path as the caller means it. Usage: named PATH
named() {
    if [[ $1 == /* ]]; then printf '%s' "$1"; else printf '%s' "$started_in/$1"; fi
}

# The benchmarks are targets of this package that are there when they are asked for.
export CHAPPIE_BENCHMARKS=1
readonly building=(--configuration release --scratch-path .build/benchmarks)

# How long the last build took.
readonly build_seconds=.build/benchmarks-build-seconds

output=.build/benchmarks-results
if [[ -n ${BENCH_OUTPUT:-} ]]; then output=$(named "$BENCH_OUTPUT"); fi
readonly output

fail() {
    printf 'bench.sh: %s\n' "$*" >&2
    exit 2
}

runner() {
    PYTHONPATH=Benchmarks PYTHONDONTWRITEBYTECODE=1 python3 -m Runner "$@"
}

# The load of the machine, before this script gives it something to do.
load() {
    if [[ -r /proc/loadavg ]]; then cut -d ' ' -f 1 /proc/loadavg; else echo 0; fi
}

# Usage: measure FILTER COMMAND OPTION...
measure() {
    local filter=$1 said=$2 before programs last
    shift 2
    before=$(load)
    SECONDS=0
    last='the first build takes some minutes'
    if [[ -s $build_seconds ]]; then last="last time that took $(<"$build_seconds") s"; fi
    printf 'bench: building the benchmarks for release; %s\n' "$last" >&2
    swift build "${building[@]}" >&2 || fail "the benchmarks cannot be built"
    printf '%d\n' "$SECONDS" >"$build_seconds"
    programs=$(swift build "${building[@]}" --show-bin-path)
    printf 'bench: built in %d s; measuring\n' "$SECONDS" >&2
    runner run --programs "$programs" --filter "$filter" --output "$output" --load-before "$before" \
        --said "$said${filter:+ FILTER=$filter}" "$@"
}

command=${1:-}
argument=${2:-}
if [[ $command == re* && -n $argument ]]; then argument=$(named "$argument"); fi
case $command in
    run) measure "$argument" "make bench" ;;
    peers) measure "$argument" "make bench-peers" --peers Scripts/bench-peers.sh ;;
    report) runner report "${argument:-$output/results.json}" ;;
    readme) runner readme --results "${argument:-$output/results.json}" ;;
    check) runner readme --check ;;
    *)
        sed -n '3,7s/^# //p' "$0" >&2
        exit 2
        ;;
esac
