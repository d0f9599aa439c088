#!/usr/bin/env bash
# Runs the benchmarks one after another, and makes of their figures results.json, a table and report.html.
# Usage: Scripts/bench.sh run [FILTER]            everything, or what has FILTER in its group, workload or figure's name
#        Scripts/bench.sh peers [FILTER]          the same, and other people's programs beside it
#        Scripts/bench.sh compare BASE [FILTER]   BASE is a results.json, or a revision that is measured in turn
#        Scripts/bench.sh report [RESULTS]        report.html again from a results.json
#        Scripts/bench.sh readme [--check]        the tables of the READMEs from Benchmarks/Results/results.json
#
# BENCH_OUTPUT is where results.json and report.html go (Benchmarks/.build/results), BENCH_ROUNDS how often a revision
# is measured (3). Status 1: a bar is missed, or a program has failed; 2: nothing could be measured.
set -euo pipefail
readonly started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A path as the caller means it. Usage: named PATH
named() {
    if [[ $1 == /* ]]; then printf '%s' "$1"; else printf '%s' "$started_in/$1"; fi
}

output=Benchmarks/.build/results
if [[ -n ${BENCH_OUTPUT:-} ]]; then output=$(named "$BENCH_OUTPUT"); fi
readonly output
# Where programs that look how fast a core is find what others before them have seen.
readonly cache=${CHAPPIE_BENCHMARKS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/chappie-benchmarks}
export CORE_PACE_FILE=${CORE_PACE_FILE:-$cache/core-pace}
readonly base_tree=Benchmarks/.build/base

fail() {
    printf 'bench.sh: %s\n' "$*" >&2
    exit 2
}

usage() {
    sed -n '3,7s/^# //p' "$0" >&2
    exit 2
}

runner() {
    PYTHONPATH=Benchmarks python3 -m Runner "$@"
}

# Builds the benchmarks of a checkout, and prints the folder of the programs. What cannot be built is not measured: the
# programs of an earlier build may be there.
build() {
    local package=$1/Benchmarks
    swift build --configuration release --package-path "$package" >&2 || return 1
    swift build --configuration release --package-path "$package" --show-bin-path
}

# The load of the machine, before this script gives it something to do.
load() {
    if [[ -r /proc/loadavg ]]; then cut -d ' ' -f 1 /proc/loadavg; else echo 0; fi
}

measure() {
    local filter=$1 said=$2 before programs
    shift 2
    mkdir -p "$cache"
    before=$(load)
    programs=$(build .) || fail "the benchmarks cannot be built"
    runner run --programs "$programs" --filter "$filter" --output "$output" --load-before "$before" \
        --said "$said${filter:+ FILTER=$filter}" "$@"
}

# Checks a revision out beside this one; what was built of an earlier one is built on.
check_out() {
    local revision=$1
    if [[ -e $base_tree/.git ]] && git -C "$base_tree" checkout --quiet --force --detach "$revision" 2>/dev/null; then
        return
    fi
    rm -rf "$base_tree"
    git worktree prune
    git worktree add --quiet --force --detach "$base_tree" "$revision"
}

compare() {
    local base=$1 filter=$2 revision programs base_programs
    if [[ -f $(named "$base") ]]; then
        runner compare "$(named "$base")" --results "$output/results.json" --filter "$filter"
        return
    fi
    revision=$(git rev-parse --verify --quiet "$base^{commit}") ||
        fail "BASE=$base is neither a file of results nor a revision"
    git grep --quiet -e '"--results"' "$revision" -- Benchmarks/Sources ||
        fail "the benchmarks of $base write no results: they do not know --results"
    programs=$(build .) || fail "the benchmarks cannot be built"
    check_out "$revision"
    base_programs=$(build "$base_tree") || fail "the benchmarks of $base cannot be built"
    runner compare "$base_programs" --programs "$programs" --filter "$filter" --rounds "${BENCH_ROUNDS:-3}"
}

command=${1:-}
argument=${2:-}
case $command in
    run) measure "$argument" "make bench" ;;
    peers) measure "$argument" "make bench-peers" --peers Scripts/bench-peers.sh ;;
    compare)
        [[ -n $argument ]] || fail "make bench-compare BASE=… needs a results.json or a revision"
        compare "$argument" "${3:-}"
        ;;
    report)
        if [[ -n $argument ]]; then argument=$(named "$argument"); fi
        runner report "${argument:-$output/results.json}"
        ;;
    readme) runner readme ${argument:+"$argument"} ;;
    *) usage ;;
esac
