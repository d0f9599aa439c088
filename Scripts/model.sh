#!/usr/bin/env bash
# Checks the models of a turn and of a journal with spin: as they are they hold, and without one of their rules they do not.
# Usage: Scripts/model.sh [CASE]...      (default: all; --list names them)
#
# Needs spin and a C compiler (Scripts/install.sh model). Two cases run at a time, each in at most 1.8 GB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly models=$PWD/Model
readonly memory_limit=1800
readonly depth_limit=20000
readonly time_limit=600

# Name, model, what must come of it, how it is searched, options of the model.
readonly cases=(
    "websocket Turn holds states -DBEGIN=0"
    "websocket-ends Turn holds cycles -DBEGIN=0 -DRETRIES=1 -DLIVENESS"
    "http Turn holds states -DBEGIN=1"
    "http-ends Turn holds cycles -DBEGIN=1 -DLIVENESS"
    "resumable Turn holds states -DBEGIN=2"
    "resumable-ends Turn holds cycles -DBEGIN=2 -DLIVENESS"
    "restarts Turn holds states -DBEGIN=1 -DRECOVERY=verify -DRESTARTS=2"
    "restarts-resumable Turn holds states -DBEGIN=2 -DRECOVERY=verify -DRESTARTS=2"
    "restarts-end Turn holds cycles -DBEGIN=1 -DRECOVERY=verify -DRESTARTS=2 -DLIVENESS"
    "no-comparison Turn breaks states -DBEGIN=1 -DMUTATE_NO_COMPARISON"
    "no-token Turn breaks states -DBEGIN=0 -DMUTATE_NO_TOKEN"
    "no-stale-check Turn breaks states -DBEGIN=1 -DMUTATE_NO_STALE_CHECK"
    "deliver-while-verifying Turn breaks states -DBEGIN=1 -DMUTATE_DELIVER_WHILE_VERIFYING"
    "no-budget Turn breaks states -DBEGIN=1 -DMUTATE_NO_BUDGET"
    "resume-rewinds Turn breaks states -DBEGIN=2 -DMUTATE_RESUME_REWINDS"
    "no-gap-check Turn breaks states -DBEGIN=2 -DMUTATE_NO_GAP_CHECK"
    "no-repeated-call-check Turn breaks states -DBEGIN=1 -DMUTATE_NO_REPEATED_CALL_CHECK"
    "completes-short Turn breaks states -DBEGIN=1 -DMUTATE_COMPLETES_SHORT"
    "policy-never-ignored Turn breaks states -DBEGIN=1 -DRECOVERY=neverAgain -DMUTATE_POLICY_IGNORED"
    "policy-resume-only-ignored Turn breaks states -DBEGIN=1 -DRECOVERY=resumeOnly -DMUTATE_POLICY_IGNORED"
    "condemns-too-soon Turn breaks states -DBEGIN=0 -DMUTATE_CONDEMNS_TOO_SOON"
    "replaces-after-events Turn breaks states -DBEGIN=0 -DMUTATE_REPLACES_AFTER_EVENTS"
    "lends-again Turn breaks cycles -DBEGIN=0 -DLIVENESS -DMUTATE_LENDS_AGAIN"
    "no-cancel Turn breaks states -DBEGIN=1 -DMUTATE_NO_CANCEL"
    "restart-keeps-text Turn breaks states -DBEGIN=1 -DRECOVERY=verify -DRESTARTS=1 -DMUTATE_RESTART_KEEPS_TEXT"
    "restarts-behind-a-call Turn breaks states -DBEGIN=1 -DRECOVERY=verify -DRESTARTS=1 -DMUTATE_RESTARTS_BEHIND_A_CALL"
    "restarts-without-end Turn breaks states -DBEGIN=1 -DRECOVERY=verify -DRESTARTS=1 -DMUTATE_RESTARTS_WITHOUT_END"
    "delivers-after-the-end Turn breaks states -DBEGIN=1 -DMUTATE_DELIVERS_AFTER_THE_END"
    "journal Journal holds states"
    "journal-three Journal holds states -DPRODUCERS=3 -DLOST=0 -DLATE=0"
    "journal-one-owner Journal holds states -DONE_OWNER -DLATE=0"
    "journal-restarts Journal holds states -DRESTARTS=1 -DEXPIRIES=1 -DLATE=0"
    "journal-cancelled Journal holds states -DCANCEL -DEXPIRIES=1 -DLATE=0"
    "journal-ends Journal holds cycles -DEXPIRIES=1 -DLATE=0"
    "no-fence Journal breaks states -DMUTATE_NO_FENCE"
    "no-new-epoch Journal breaks states -DONE_OWNER -DMUTATE_NO_NEW_EPOCH"
    "renewal-takes-back Journal breaks states -DMUTATE_RENEWAL_TAKES_BACK"
    "renews-for-another Journal breaks cycles -DMUTATE_RENEWS_FOR_ANOTHER"
    "checks-before-append Journal breaks states -DMUTATE_CHECKS_BEFORE_APPEND"
    "no-position-check Journal breaks states -DMUTATE_NO_POSITION_CHECK"
    "reads-before-taking Journal breaks states -DMUTATE_READS_BEFORE_TAKING"
    "stale-and-unchecked Journal breaks states -DLOST=0 -DLATE=0 -DMUTATE_READS_BEFORE_TAKING -DMUTATE_NO_POSITION_CHECK"
    "no-journal-comparison Journal breaks states -DMUTATE_NO_COMPARISON"
    "no-end-check Journal breaks states -DMUTATE_NO_END_CHECK"
    "delivers-before-append Journal breaks states -DMUTATE_DELIVERS_BEFORE_APPEND"
    "never-takes Journal breaks states -DMUTATE_NEVER_TAKES"
)

fail() {
    printf 'model.sh: %s\n' "$*" >&2
    exit 69
}

# Prints one number of the report, or a dash.
number() {
    local found
    found=$(sed -nE "s/$2/\\1/p" "$1" | head -n 1)
    printf '%s' "${found:--}"
}

# Runs one case in a folder of its own, and leaves its line in `result` and its name in `passed` when it is as it must be.
check() {
    local name=$1 model=$models/$2.pml expectation=$3 search=$4
    shift 4
    local folder=$scratch/$name flags=(-DSAFETY) arguments=("-m$depth_limit") began=$EPOCHREALTIME
    mkdir "$folder"
    cd "$folder"
    if [[ $search == cycles ]]; then
        flags=(-DNP)
        arguments+=(-l)
    fi
    # A mutated form is broken early: compiling it takes longer than searching it.
    if [[ $expectation == breaks ]]; then flags+=(-O0); else flags+=(-O2); fi
    local verdict=failed what=""
    if ! spin -a "$@" "$model" >report 2>&1 ||
        ! "${CC:-cc}" -w -DNOREDUCE -DMEMLIM="$memory_limit" "${flags[@]}" -o search pan.c >>report 2>&1; then
        what="does not build: $(tail -n 1 report)"
    else
        # In the background, because only `wait` lets the trap end the search with the script.
        timeout "$time_limit" ./search "${arguments[@]}" >report 2>&1 &
        local searching=$!
        trap 'kill "$searching" 2>/dev/null; exit 143' TERM
        wait "$searching" || true
        trap - TERM
        what=$(judge report "$expectation")
        if [[ -z $what || $what == "found: "* ]]; then verdict=passed; fi
    fi
    local ended=$EPOCHREALTIME
    printf '%-28s %-6s %9s states  depth %5s  %6.1f s  %s\n' "$name" "$verdict" \
        "$(number report '^ *([0-9.e+]+) states, stored.*')" "$(number report '.*depth reached ([0-9]+).*')" \
        "$(((${ended/./} - ${began/./}) / 100000))e-1" "$what" >line
    if [[ $verdict == passed ]]; then touch passed; fi
    rm -f search pan.*
}

# Prints nothing for a search that is complete and clean, `found: ...` for an error that had to be, else what is wrong.
judge() {
    local report=$1 expectation=$2 error
    error=$(sed -nE 's/^pan:[0-9]+: ((assertion violated|invalid end state|non-progress cycle).*) \(at depth.*/\1/p' \
        "$report" | head -n 1)
    if [[ $expectation == breaks ]]; then
        if [[ -n $error ]]; then printf 'found: %.60s' "$error"; else printf 'no error found'; fi
    elif [[ -n $error ]]; then
        printf '%s' "$error"
    elif grep -qiE 'search depth too small|out of memory|memory limit|not completed|aborting|bitstate' "$report"; then
        printf 'the search was cut short'
    elif ! grep -q 'errors: 0' "$report"; then
        printf 'the search did not end'
    fi
}

# Fails when a statement of the processes was executed in none of a model's complete searches. Usage: check_coverage CASE...
check_coverage() {
    local name processes=0 unreached
    for name in "$@"; do
        [[ -f $scratch/$name/passed ]] || return 0
        processes=$((processes + 1))
        awk '/^unreached in/ { process = $NF } / state [0-9]+, / { sub(/^.* state /, ""); print process ": " $0 }' \
            "$scratch/$name/report" | sort -u
    done >"$scratch/unreached"
    # What stands after a loop, and the assertion that a second end would meet, are not to be reached.
    unreached=$(sort "$scratch/unreached" | uniq -c | awk -v all="$processes" '$1 == all' |
        grep -vE '"(-end-|assert\(0\))"' || true)
    [[ -z $unreached ]] && return 0
    printf 'Never executed, so nothing was checked about it:\n%s\n' "$unreached" >&2
    return 1
}

selected=()
for argument in "$@"; do
    case $argument in
        -h | --help)
            sed -n '2,5s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        --list)
            for entry in "${cases[@]}"; do printf '%s\n' "${entry%% *}"; done
            exit 0
            ;;
        *)
            printf '%s\n' "${cases[@]%% *}" | grep -qxF -- "$argument" || fail "no case '$argument'; --list names them"
            selected+=("$argument")
            ;;
    esac
done

command -v spin >/dev/null || fail "needs spin: run make model"
command -v "${CC:-cc}" >/dev/null || fail "needs a C compiler: run make model"
scratch=$(mktemp -d)
# What is still searching ends with the script, and nothing is left behind.
trap 'jobs -p | xargs -r kill 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

began=$SECONDS
names=()
for entry in "${cases[@]}"; do
    read -ra words <<<"$entry"
    name=${words[0]}
    if ((${#selected[@]} > 0)) && ! printf '%s\n' "${selected[@]}" | grep -qxF -- "$name"; then continue; fi
    names+=("$name")
    while (($(jobs -pr | wc -l) >= 2)); do wait -n || true; done
    (check "${words[@]}" && cat "$scratch/$name/line") &
done
wait

failures=0
for name in "${names[@]}"; do
    if [[ ! -f $scratch/$name/passed ]]; then failures=$((failures + 1)); fi
done
if ! check_coverage websocket http resumable restarts; then failures=$((failures + 1)); fi
if ! check_coverage journal journal-three journal-restarts journal-cancelled; then failures=$((failures + 1)); fi
if ((failures > 0)); then
    printf 'model: %d of %d cases are not as they must be (%d s)\n' "$failures" "${#names[@]}" "$((SECONDS - began))" >&2
    exit 1
fi
printf 'model: %d cases, all as they must be (%d s)\n' "${#names[@]}" "$((SECONDS - began))"
