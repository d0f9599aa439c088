#!/usr/bin/env bash
# Builds and runs the fuzz targets.
# What FuzzEngine has replayed is judged by the oracle in Tests/Engine/Promise, and so is the corpus that a run of it
# has made.
# Usage: Scripts/fuzz.sh run SECONDS [TARGET...]   fuzz each target that long, one after another
#        Scripts/fuzz.sh night HOURS [TARGET...]   fuzz them in turns until each has a thousand million runs, or that long;
#                                                  the same command goes on, and reports in .build/fuzz-corpus/night.txt
#        Scripts/fuzz.sh replay [TARGET...]        run every committed input once: seeds, and what once broke something
#        Scripts/fuzz.sh coverage [TARGET...]      replay all inputs, and say which lines of the product they reach
#   TARGET                 a folder of Fuzz/Sources; default all that begin with Fuzz
#   CHAPPIE_FUZZ_MINIMISE  for how many seconds a finding is made smaller, default 15; 0 leaves it as it is
#   CHAPPIE_FUZZ_FLAGS     further options of libFuzzer for `run`, such as "-seed=1 -use_value_profile=1"
#   CHAPPIE_FUZZ_MODELS_EVERY  while fuzzing, one input in how many is held against the models, default 100
# Every input goes through the code that is fuzzed; the models are a hundred times slower. What is replayed, and the
# corpus that a run has made, is held against the models as a whole.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD
# What is found is written here, the findings aside: nothing but a finding gets into the committed folders.
readonly corpora=$root/.build/fuzz-corpus
readonly work=$root/.build/fuzz
readonly minimise=${CHAPPIE_FUZZ_MINIMISE:-15}
read -r -a further_flags <<<"${CHAPPIE_FUZZ_FLAGS:-}"
readonly models_every=${CHAPPIE_FUZZ_MODELS_EVERY:-100}
# While fuzzing, as FuzzEngine has them: a short quarantine, so that few new pages have to be cleared, and short stacks.
readonly quick=quarantine_size_mb=16:malloc_context_size=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}
unset CHAPPIE_FUZZ_MODELS_EVERY
# A night's fuzzing: the runs that are enough for a target, and the seconds of a turn.
readonly enough_runs=${CHAPPIE_FUZZ_NIGHT_RUNS:-1000000000}
readonly turn_seconds=${CHAPPIE_FUZZ_NIGHT_TURN:-300}
export SWIFT_BACKTRACE=enable=no CHAPPIE_FUZZ=1

# Two --sanitize options would reach the compiler in random order, and with the address sanitizer last the coverage is
# lost; the second list adds it. C and C++ take theirs by -Xcc. The system's gold warns about the sanitizer's symbols.
readonly sanitizers=(--sanitize fuzzer -Xswiftc "-sanitize=fuzzer,address" -Xcc "-fsanitize=fuzzer,address")
readonly linker=(-Xswiftc -use-ld=lld)
readonly fuzzing=(--scratch-path .build/fuzz-targets --configuration release "${sanitizers[@]}" "${linker[@]}")
# Every input once is over in seconds, and without optimisation the build takes half the time (41 s of two processors,
# and 81 s with it).
readonly replaying=(--scratch-path .build/fuzz-targets --configuration debug "${sanitizers[@]}" "${linker[@]}")
readonly measuring=(
    --configuration release --scratch-path "$work/coverage-build" "${sanitizers[@]}" "${linker[@]}"
    -Xswiftc -profile-generate -Xswiftc -profile-coverage-mapping -Xcc -fprofile-instr-generate -Xcc -fcoverage-mapping
)

fail() {
    printf 'fuzz.sh: %s\n' "$*" >&2
    exit 1
}

# The longest input, the seconds that one may take, and the MiB that the process and one allocation may have.
limits_of() {
    case $1 in
        FuzzEventStream) echo 768 5 1024 64 ;;
        FuzzResponseEvents) echo 2048 5 1024 64 ;;
        FuzzDialects) echo 4096 5 1024 64 ;;
        FuzzReplayLedger) echo 512 5 1024 64 ;;
        FuzzInflater) echo 1024 10 1024 64 ;;
        FuzzHTTPFields) echo 1024 5 1024 64 ;;
        FuzzHTTPMessages) echo 768 5 1024 64 ;;
        FuzzProxyGreeting) echo 1024 5 1024 64 ;;
        FuzzRelay) echo 768 5 1024 64 ;;
        FuzzEngine) echo 2048 20 2048 256 ;;
        *) echo 1024 10 1024 64 ;;
    esac
}

# The sources that a target is about, for its coverage.
sources_of() {
    case $1 in
        FuzzEventStream) echo Sources/Protocols/ServerSentEvents ;;
        FuzzResponseEvents) echo Sources/C/CSimdjson Sources/Protocols/ResponseEvents/{Events,JSON/JSONScanner.swift} ;;
        FuzzDialects)
            echo Sources/Protocols/ResponseEvents/Dialects/{Chat{CompletionsDecoder,Reasoning,Elements,CallMembers},MessagesDecoder,ChunkMembers,DeltaFrame,TranslatedEvents}.swift
            ;;
        FuzzReplayLedger) echo Sources/Engine/StreamSession/{Replay,Order/SlotExtents.swift} ;;
        FuzzInflater) echo Sources/Protocols/Deflate/{ContentDecoder,Inflater,MessageInflater}.swift ;;
        FuzzHTTPFields) echo Sources/Protocols/{HTTPProtocol/Fields,ResponseEvents/Errors} ;;
        FuzzHTTPMessages) echo Sources/Protocols/HTTPProtocol ;;
        FuzzProxyGreeting) echo Sources/Engine/LibwebsocketsTransport/Connecting/Proxies ;;
        FuzzRelay)
            echo Sources/{Protocols/{HTTPProtocol/Requests/RequestReader,WebSocketProtocol/Frames/ClientFrameReader},Clients/ChappieRelay/Redis/RESPParser}.swift
            ;;
        FuzzEngine) echo Sources/{Engine/{ChappieTransport,LibwebsocketsTransport},Protocols/WebSocketProtocol} ;;
        *) fail "says nothing of what $1 is about" ;;
    esac
}

# Fills `inputs` with the committed folders of a target.
find_inputs() {
    inputs=()
    local folder
    for folder in "Fuzz/Regressions/$1" "Fuzz/Corpus/$1"; do
        if [[ -d $folder ]]; then inputs+=("$folder"); fi
    done
    ((${#inputs[@]} > 0)) || fail "$1 has no committed inputs"
}

# Builds all targets, or only the one that is asked for, and sets `executables`.
build() { # OPTION...
    local product=()
    if ((${#targets[@]} == 1)); then product=(--product "${targets[0]}"); fi
    mkdir -p "$work"
    if ! swift build "$@" "${product[@]}" >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        fail "the targets do not build"
    fi
    if grep -E 'warning: ' "$work/build.log" | sort -u >&2 && [[ -n ${CHAPPIE_WARNINGS_AS_ERRORS:-} ]]; then
        fail "warnings are errors here"
    fi
    executables=$(swift build "$@" --show-bin-path)
}

# A word for what went wrong, from libFuzzer's output.
kind_of() { # LOG
    local kind
    kind=$(sed -nE 's/^SUMMARY: (AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer): ([A-Za-z0-9-]+).*/\2/p; s/^SUMMARY: libFuzzer: (.*)/\1/p' "$1" | head -n 1)
    if grep -q "^broken: " "$1"; then kind=broken; fi
    case $kind in
        "deadly signal") echo trap ;;
        "") echo failure ;;
        *) tr ' A-Z' '-a-z' <<<"$kind" ;;
    esac
}

# Makes the input that broke a target smaller, and a regression of it.
keep_finding() { # TARGET ARTIFACT LOG
    local target=$1 artifact=$2 log=$3 name smallest=$work/$1-smallest
    case $minimise:$(basename "$artifact") in
        0:*) ;;
        *:crash-*)
            rm -f "$smallest"
            "$executables/$target" -minimize_crash=1 -max_total_time="$minimise" -exact_artifact_path="$smallest" "$artifact" \
                >"$work/$target-minimise.log" 2>&1 || true
            # The smaller one counts when it breaks the same thing.
            if [[ -s $smallest ]] && ! "$executables/$target" "$smallest" >"$work/$target-smallest.log" 2>&1 &&
                [[ $(kind_of "$work/$target-smallest.log") == "$(kind_of "$log")" ]]; then
                artifact=$smallest
            fi
            ;;
    esac
    name=$(kind_of "$log")-$(sha1sum "$artifact" | head -c 8)
    mkdir -p "Fuzz/Regressions/$target"
    cp "$artifact" "Fuzz/Regressions/$target/$name"
    printf '%s: found Fuzz/Regressions/%s/%s (%d bytes)\n' "$target" "$target" "$name" "$(stat -c %s "$artifact")" >&2
    grep -E '^broken: |^SUMMARY: |Fatal error: ' "$log" | sed 's/^/    /' | cut -c 1-600 >&2 || true
    printf '    the whole output: %s\n' "${log#"$root/"}" >&2
}

fuzz() { # TARGET SECONDS
    local target=$1 seconds=$2 log=$work/$1.log status=0 inputs dictionary=() length timeout memory allocation artifact
    local limits
    read -r length timeout memory allocation <<<"$(limits_of "$target")"
    find_inputs "$target"
    if [[ -f Fuzz/Dictionaries/$target.dict ]]; then dictionary=("-dict=Fuzz/Dictionaries/$target.dict"); fi
    mkdir -p "$corpora/$target"
    rm -rf "$work/found"
    mkdir -p "$work/found"
    limits=(-timeout="$timeout" -rss_limit_mb="$memory" -malloc_limit_mb="$allocation" -artifact_prefix="$work/found/")
    # New inputs go to the first folder; the others are only read.
    local start=$EPOCHREALTIME
    CHAPPIE_FUZZ_MODELS_EVERY=$models_every ASAN_OPTIONS=$quick "$executables/$target" -max_total_time="$seconds" -max_len="$length" \
        "${limits[@]}" "${dictionary[@]}" -print_final_stats=1 "${further_flags[@]}" "$corpora/$target" "${inputs[@]}" \
        >"$log" 2>&1 || status=$?
    grep -q '^INFO: Loaded 1 modules' "$log" || fail "$target has no coverage: see $log"
    report "$target" "$(awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { printf "%.1f", end - start }')" "$log"
    if ((status == 0)) && [[ $target != FuzzEngine ]]; then
        # The inputs that reach something new, against the models.
        log=$work/$target-models.log
        "$executables/$target" -runs=0 "${limits[@]}" "$corpora/$target" >"$log" 2>&1 || status=$?
    fi
    ((status != 0)) || return 0
    for artifact in "$work"/found/*; do
        if [[ -f $artifact && $artifact != */slow-unit-* ]]; then keep_finding "$target" "$artifact" "$log"; fi
    done
    return 1
}

# Runs inputs of FuzzEngine once, and lets the oracle judge what was sent and received.
judge() { # TARGET FOLDER...
    local target=$1 records=$work/$1-records.jsonl log=$work/$1-judged.log length timeout memory allocation
    shift
    [[ $target == FuzzEngine ]] || return 0
    read -r length timeout memory allocation <<<"$(limits_of "$target")"
    rm -f "$records"
    CHAPPIE_FUZZ_RECORDS=$records "$executables/$target" -runs=0 -timeout="$timeout" -rss_limit_mb="$memory" \
        -malloc_limit_mb="$allocation" -artifact_prefix="$work/" "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        fail "$target: an input broke it"
    }
    PYTHONDONTWRITEBYTECODE=1 python3 Tests/Engine/Promise/run.py --jobs 2 --records "$records" | sed "s/^/$target: /" ||
        fail "$target: the promise is broken: Tests/Engine/Promise/run.py --records ${records#"$root/"} --only NAME"
}

# One line of figures from libFuzzer's output.
report() { # TARGET SECONDS LOG
    awk -v target="$1" -v seconds="$2" '
        /cov: [0-9]+ ft: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1)
                             if ($i == "corp:") corpus = $(i + 1) } }
        /inline 8-bit counters/ { split($0, part, "[(]"); split(part[2], word, " "); edges = word[1] }
        /^stat::number_of_executed_units:/ { runs = $2 }
        END { printf "%-20s %8s %10d %8d %7d of %-6d %8d  %s\n",
                     target, seconds, runs, (seconds + 0 > 0) ? runs / seconds : 0, cov, edges, ft, corpus }
    ' "$3"
}

run() { # SECONDS TARGET...
    local seconds=$1 target broken=()
    shift
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "'$seconds' is no number of seconds"
    build "${fuzzing[@]}"
    printf '%-20s %8s %10s %8s %17s %8s  %s\n' target seconds runs runs/s edges features corpus
    for target in "$@"; do
        fuzz "$target" "$seconds" || broken+=("$target")
        # An input that breaks the target is none of the corpus.
        judge "$target" "$corpora/$target"
    done
    ((${#broken[@]} == 0)) || fail "broken: ${broken[*]}"
}

# A number of a target's row in the night's state: seconds 2, runs 3, findings 4.
of_night() { # TARGET COLUMN
    awk -v target="$1" -v column="$2" '$1 == target { value = $column } END { print value + 0 }' "$corpora/night.tsv"
}

night() { # HOURS TARGET...
    local target end seconds runs findings state=$corpora/night.tsv broken=()
    [[ $1 =~ ^[0-9]+([.][0-9]+)?$ ]] || fail "'$1' is no number of hours"
    end=$(awk -v now="$EPOCHSECONDS" -v hours="$1" 'BEGIN { printf "%d", now + hours * 3600 }')
    shift
    build "${fuzzing[@]}"
    mkdir -p "$corpora"
    touch "$state"
    # A target that is broken waits for the next night: it would find the same again.
    while ((EPOCHSECONDS < end)); do
        local open=0
        for target in "$@"; do
            [[ " ${broken[*]} " != *" $target "* ]] || continue
            if (($(of_night "$target" 3) >= enough_runs)) || ((EPOCHSECONDS >= end)); then continue; fi
            open=1
            seconds=$((end - EPOCHSECONDS < turn_seconds ? end - EPOCHSECONDS : turn_seconds))
            findings=$(of_night "$target" 4)
            fuzz "$target" "$seconds" || {
                broken+=("$target")
                findings=$((findings + 1))
            }
            judge "$target" "$corpora/$target"
            runs=$(awk '/^stat::number_of_executed_units:/ { print $2 }' "$work/$target.log")
            seconds=$(($(of_night "$target" 2) + seconds))
            runs=$(($(of_night "$target" 3) + ${runs:-0}))
            # The old row goes with the new one's coming, so that an interruption leaves one of the two.
            { awk -v target="$target" '$1 != target' "$state" && printf '%s %d %d %d\n' "$target" "$seconds" "$runs" "$findings"; } \
                >"$state.new"
            mv "$state.new" "$state"
        done
        ((open == 1)) || break
    done
    night_report "$@"
    ((${#broken[@]} == 0)) || fail "broken: ${broken[*]}"
}

# What all nights together have run.
night_report() { # TARGET...
    local target
    {
        printf '%-20s %9s %13s %8s %7s %8s  %s\n' target seconds runs runs/s enough corpus findings
        for target in "$@"; do
            awk -v target="$target" -v enough="$enough_runs" \
                -v corpus="$(find "$corpora/$target" -type f 2>/dev/null | wc -l)" '
                $1 == target { seconds = $2; runs = $3; findings = $4 }
                END { printf "%-20s %9d %13d %8d %6.1f%% %8d  %d\n", target, seconds, runs,
                             (seconds > 0) ? runs / seconds : 0, 100 * runs / enough, corpus, findings }
            ' "$corpora/night.tsv"
        done
    } | tee "$corpora/night.txt"
}

replay() { # TARGET...
    local target inputs log=$work/replay.log length timeout memory allocation
    build "${replaying[@]}"
    for target in "$@"; do
        find_inputs "$target"
        read -r length timeout memory allocation <<<"$(limits_of "$target")"
        # No new inputs are made, so nothing is written into the folders.
        "$executables/$target" -runs=0 -timeout="$timeout" -rss_limit_mb="$memory" -malloc_limit_mb="$allocation" \
            -artifact_prefix="$work/" "${inputs[@]}" >"$log" 2>&1 || {
            tail -n 40 "$log" >&2
            fail "$target: an input broke it"
        }
        grep -q '^INFO: Loaded 1 modules' "$log" || fail "$target has no coverage: see $log"
        printf '%s: %d inputs replayed\n' "$target" "$(find "${inputs[@]}" -type f | wc -l)"
        judge "$target" "${inputs[@]}"
    done
}

# The tools of the compiler's own version: profiles are not portable.
tool() {
    local name=$1 beside
    shift
    beside=$(dirname "$(readlink -f "$(command -v swift)")")/$name
    if [[ -x $beside ]]; then "$beside" "$@"; else "$name" "$@"; fi
}

coverage() { # TARGET...
    local target inputs sources profile
    build "${measuring[@]}"
    for target in "$@"; do
        find_inputs "$target"
        if [[ -d $corpora/$target ]]; then inputs+=("$corpora/$target"); fi
        profile=$work/$target.profraw
        LLVM_PROFILE_FILE=$profile "$executables/$target" -runs=0 -artifact_prefix="$work/" "${inputs[@]}" \
            >"$work/$target-coverage.log" 2>&1 || fail "$target: an input broke it, see $work/$target-coverage.log"
        tool llvm-profdata merge -o "$work/$target.profdata" "$profile"
        read -r -a sources <<<"$(sources_of "$target")"
        sources=("${sources[@]/#Sources/$root/Sources}")
        tool llvm-cov show -instr-profile="$work/$target.profdata" "$executables/$target" "${sources[@]}" \
            >"$work/$target-coverage.txt"
        printf '%s: %d inputs; line by line in %s\n' "$target" "$(find "${inputs[@]}" -type f | wc -l)" \
            ".build/fuzz/$target-coverage.txt"
        tool llvm-cov export -summary-only -instr-profile="$work/$target.profdata" "$executables/$target" \
            "${sources[@]}" | summarise
    done
}

# Lines reached of each file, from llvm-cov's JSON.
summarise() {
    python3 -c '
import json, sys
covered = count = 0
for file in json.load(sys.stdin)["data"][0]["files"]:
    lines = file["summary"]["lines"]
    covered, count = covered + lines["covered"], count + lines["count"]
    name = file["filename"].split("/Sources/")[-1]
    print("  %6.1f %%  %5d of %5d lines  %s" % (lines["percent"], lines["covered"], lines["count"], name))
print("  %6.1f %%  %5d of %5d lines  together" % (100 * covered / max(1, count), covered, count))
'
}

(($# > 0)) || fail "run, night, replay or coverage? (see the first lines of this script)"
command=$1
shift
arguments=()
if [[ $command == run || $command == night ]]; then
    case $command in
        run) arguments=("${1:-60}") ;;
        night) arguments=("${1:-8}") ;;
    esac
    shift || true
fi
targets=("$@")
if (($# == 0)); then for folder in Fuzz/Sources/Fuzz*/; do targets+=("$(basename "$folder")"); done; fi
for target in "${targets[@]}"; do
    [[ -d Fuzz/Sources/$target ]] || fail "there is no target $target"
done
case $command in
    run | night | replay | coverage) "$command" "${arguments[@]}" "${targets[@]}" ;;
    *) fail "unknown command '$command' (run, night, replay or coverage)" ;;
esac
