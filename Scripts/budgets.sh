#!/usr/bin/env bash
# Counts instructions and allocations of an event, and holds them against the budgets in Benchmarks/budgets.tsv.
# Usage: Scripts/budgets.sh [accept]
#
# Each row of the file names a program of the Benchmarks package and a workload. The program is run under callgrind
# twice, with few and with many passes over the workload; what both runs do once cancels out. A figure that is above its
# budget fails: for instructions by more than 3 %, for allocations by anything at all. `accept` writes what was counted
# into the file. A workload that ends with @ and a pattern is counted inside the functions of that name alone, with all
# that they call.
#
# Counts depend on no clock and hardly on the machine: callgrind shows programs a processor of its own choice, without
# AVX-512, so that libraries choose the same code on any that has AVX2. Another compiler or another library counts anew.
# What the allocator does for a block depends on the block's neighbours, which any change elsewhere moves: while it is
# counted, freed blocks stay in the thread's cache, and an allocation costs the same whatever lies around it. How many
# there are is a budget of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly budgets=Benchmarks/budgets.tsv
readonly tolerance_percent=3
readonly work=Benchmarks/.build/budgets

fail() {
    printf 'budgets: %s\n' "$*" >&2
    exit 1
}

mode=${1:-check}
[[ $mode == check || $mode == accept ]] || fail "usage: Scripts/budgets.sh [accept]"
if [[ $(uname -sm) != "Linux x86_64" ]]; then
    echo "budgets: skipped, they are counted on x86-64 Linux"
    exit 0
fi

# name, program, workload, passes of the short and of the long run, instructions and allocations
rows() {
    grep -v '^#' "$budgets" | grep -v '^[[:space:]]*$'
}

build() {
    local product folder
    for product in $(rows | cut -f 2 | sort -u); do
        swift build --quiet --configuration release --package-path Benchmarks --product "$product"
    done
    folder=$(swift build --configuration release --package-path Benchmarks --show-bin-path)
    rm -rf "$work"
    mkdir -p "$work"
    # valgrind cannot read the debug information that Swift writes.
    for product in $(rows | cut -f 2 | sort -u); do
        strip --strip-debug -o "$work/$product" "$folder/$product"
    done
}

# One run; its output and its profile are named after the row and the run.
run() {
    local file=$work/$1 program=$2 workload=${3% @*} passes=$4 only=()
    if [[ $3 == *" @"* ]]; then only=(--toggle-collect="${3#* @}"); fi
    # shellcheck disable=SC2086 # a workload is one or more arguments
    GLIBC_TUNABLES=glibc.malloc.tcache_count=4096 SWIFT_DETERMINISTIC_HASHING=1 \
        valgrind --tool=callgrind --callgrind-out-file="$file.profile" "${only[@]}" \
        "$work/$program" --iterations "$passes" $workload >"$file.output" 2>"$file.log" || {
        cat "$file.output" "$file.log" >&2
        exit 1
    }
}

count_everything() {
    local number=0 jobs=() job name program workload short long
    while IFS=$'\t' read -r name program workload short long _; do
        number=$((number + 1))
        (run "$number.short" "$program" "$workload" "$short") &
        jobs+=($!)
        (run "$number.long" "$program" "$workload" "$long") &
        jobs+=($!)
        # Two at a time: more would take turns on the cores of a small machine.
        for job in "${jobs[@]}"; do wait "$job" || fail "$name: $program $workload could not be run"; done
        jobs=()
    done < <(rows)
}

# How many events a run was about: the program prints what a pass consists of.
events_of() {
    sed -nE 's/.*"passes":([0-9]+),"eventsPerPass":([0-9]+).*/\1 \2/p' "$work/$1.output" | awk '{ print $1 * $2 }'
}

instructions_of() {
    awk '$1 == "summary:" || $1 == "totals:" { total = $2 } END { print total }' "$work/$1.profile"
}

# Calls of the allocator's functions, apart from those of one another: the counter that the programs link stands before
# those of the C library. The profile gives a function's name where its number comes first.
allocations_of() {
    awk '
        function allocates(name) {
            sub(/\047[0-9]+$/, "", name)
            return name ~ /^(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign)$/
        }
        match($0, /^c?fn=\([0-9]+\)/) {
            key = substr($0, RSTART, RLENGTH); sub(/^c?fn=/, "", key)
            if (length($0) > RLENGTH) names[key] = substr($0, RLENGTH + 2)
            if ($0 ~ /^cfn=/) callee = names[key]; else caller = names[key]
        }
        /^calls=/ && allocates(callee) && !allocates(caller) { split($0, parts, /[= ]/); total += parts[2] }
        END { print total + 0 }
    ' "$work/$1.profile"
}

# Prints the rows of the budget file with what was counted in place of the budgets.
counted_rows() {
    local number=0 name program workload short long events
    while IFS=$'\t' read -r name program workload short long _; do
        number=$((number + 1))
        events=$(($(events_of "$number.long") - $(events_of "$number.short")))
        ((events > 0)) || fail "$name: the long run has no more events than the short one"
        awk -v events="$events" -v OFS='\t' \
            -v row="$name"$'\t'"$program"$'\t'"$workload"$'\t'"$short"$'\t'"$long" \
            -v instructions=$(($(instructions_of "$number.long") - $(instructions_of "$number.short"))) \
            -v allocations=$(($(allocations_of "$number.long") - $(allocations_of "$number.short"))) \
            'BEGIN { printf "%s\t%.0f\t%.3f\n", row, instructions / events, allocations / events }'
    done < <(rows)
}

compare() {
    paste <(rows) "$work/counted.tsv" | awk -F '\t' -v tolerance="$tolerance_percent" '
        function line(what, before, now, limit, format,    change, verdict, row) {
            change = before > 0 ? sprintf("%+.1f %%", (now - before) / before * 100) : now > 0 ? "more" : "same"
            verdict = now > limit ? "  ABOVE THE BUDGET" : ""
            row = "%-42s %9" format " %9" format "  %9s%s\n"
            printf row, $1 ", " what, before, now, change, verdict
            if (now > limit) {
                row = "%sbudgets: %s: %" format " %s an event, and %" format " are budgeted\n"
                failures = sprintf(row, failures, $1, now, what, before)
            }
        }
        BEGIN { printf "%-42s %9s %9s  %9s\n", "an event", "previous", "new", "change" }
        {
            line("instructions", $6, $13, $6 * (1 + tolerance / 100), ".0f")
            line("allocations", $7, $14, $7, ".3f")
        }
        END {
            if (failures == "") exit 0
            printf "%s%s\n", failures, "budgets: if that is what it must cost: make budgets-accept, and commit the file"
            exit 1
        }
    '
}

SECONDS=0
build
built=$SECONDS
count_everything
counted_rows >"$work/counted.tsv"
if [[ $mode == accept ]]; then
    compare || true
    awk -F '\t' 'NR == FNR { counted[$1] = $0; next } /^#/ || !($1 in counted) { print; next } { print counted[$1] }' \
        "$work/counted.tsv" "$budgets" >"$work/budgets.tsv"
    cp "$work/budgets.tsv" "$budgets"
    echo "budgets: accepted"
else
    compare
fi
echo "budgets: built in $built s, counted in $((SECONDS - built)) s"
