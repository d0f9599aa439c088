#!/usr/bin/env bash
# Takes one safeguard out of the engine at a time, and expects the simulator to notice; of a walk over a server's words
# that is no longer linear, what counts its instructions (Scripts/budgets.sh growth), and of a needless cache line of
# each stream, what counts misses (Scripts/budgets.sh cold).
# Usage: Scripts/mutations.sh [NAME...]
#        Scripts/mutations.sh check    whether every mutation still finds the text that it replaces
#   NAME                  a mutation of the table; default all of them
#   CHAPPIE_MUTATION_SECONDS   how long a mutant may live in the simulator, default 60
#   CHAPPIE_SIMULATOR_FLAGS    further arguments of turn-simulator
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD
readonly seconds=${CHAPPIE_MUTATION_SECONDS:-60}
read -r -a flags <<<"${CHAPPIE_SIMULATOR_FLAGS:-}"
export SWIFT_BACKTRACE=enable=no

work=$(mktemp -d "${TMPDIR:-/tmp}/chappie-mutations.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Each mutation is one or more edits: a file, the text that must stand in it exactly once, and what replaces it.
# A line that begins with ">>> " begins an edit, "---" stands between the texts, and "<<<" ends it.
edits_of() {
    case $1 in
        comparison) # What a replay repeats is not compared with what was delivered.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayChannel.swift
            guard self.continues(with: replayed.extracting(matched..<matched + count), count: count) else { return nil }
---
<<<
EDITS
            ;;
        stale-attempt) # What belongs to an attempt that is over counts all the same.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Turn/TurnStateMachine.swift
        self.requireOpened(attempt)
        return false
---
        self.requireOpened(attempt)
        return true
<<<
EDITS
            ;;
        send-once) # Both connections of a race may send.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Turn/HedgeRace.swift
        guard self.holder == nil else { return false }
---
<<<
EDITS
            ;;
        remainder) # What remains of a replayed delta begins a byte too early.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: matched) : .tooMuch
---
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: max(0, matched - 1)) : .tooMuch
<<<
EDITS
            ;;
        tool-calls) # A finished call that a replay repeats is handed over again.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
            if self.calls.isCaughtUp { self.channelCaughtUp() }
            return .swallow
---
            if self.calls.isCaughtUp { self.channelCaughtUp() }
            return .deliver(from: 0)
<<<
EDITS
            ;;
        catching-up) # Something new is delivered before everything has come again.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
        guard matched < bytes.count else { return .swallow }
        guard self.phase == .following else { return self.diverge(at: before, of: kind) }
---
        guard matched < bytes.count else { return .swallow }
<<<
EDITS
            ;;
        uncut-restart) # An answer that replaces another one has the rest of that one.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
        self.channels.forEach { $0 = $0.cutAtCursor() }
---
<<<
EDITS
            ;;
        short-replay) # A response that is complete too early is taken for whole.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
        guard self.phase == .following else {
            self.phase = .diverged
            return .diverged
        }
        return .whole
---
        return .whole
<<<
EDITS
            ;;
        sticky-cancel) # A connection that was given up is not closed.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Turn/Driver/TurnDriver+Actions.swift
        if !attempt.closesByItself { attempt.connection.cancel() }
---
<<<
EDITS
            ;;
        other-response) # The rest of a response may be another one's.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        if self.isOther(responseID: responseID) { return .violation(.otherResponse) }
---
<<<
EDITS
            ;;
        unnumbered-gap) # Any event without a number accounts for a number that is missing.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/SequenceTracker.swift
        guard !isGap, self.unnumberedUseNumbers || wasAsked else { return false }
---
        guard !isGap, self.unnumberedUseNumbers || wasAsked || !isGap else { return false }
<<<
EDITS
            ;;
        repeated-number) # An event that comes again under its number is delivered again.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/SequenceTracker.swift
        case .duplicate: .drop
---
        case .duplicate: .deliver
<<<
>>> Sources/Engine/ChappieTransport/Events/Reader/EventReader+Judgement.swift
        if self.machine.delivery.isRepeated(event.sequenceNumber, fingerprint: fingerprint) {
            self.repeated(event)
            return .dropped
        }
---
<<<
EDITS
            ;;
        closing-rest) # What closing events have beyond the deltas is not delivered.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Events/Reader/EventReader+Closing.swift
        guard case .rest(let offset) = closing else { return self.follow(closing, at: slot) }
        self.received(text.dropping(first: offset), in: slot, attempt: attempt)
        return self.end == nil
---
        return self.follow(closing, at: slot)
<<<
>>> Sources/Engine/ChappieTransport/Events/Reader/EventReader+Closing.swift
        guard case .rest(let offset) = closing else { return self.follow(closing, at: parts[0].slot) }
---
        if case .rest = closing { return true }
        guard case .rest(let offset) = closing else { return self.follow(closing, at: parts[0].slot) }
<<<
EDITS
            ;;
        closing-contradiction) # Closing events may say something else than the deltas.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Events/Reader/EventReader+Closing.swift
            self.fail(.contradictoryEvents(isNamedOtherwise ? .otherResponse : word, at: slot))
---
            _ = (isNamedOtherwise, word)
            return true
<<<
EDITS
            ;;
        late-before-created) # Output before a response is created on a kept connection is its own.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        case .beginning where self.previousResponseID != nil || self.earlier.createsResponses:
            // This server announces its responses, so the event is a late one of the previous response.
            return .foreign

---
<<<
EDITS
            ;;
        late-after-created) # Output of an earlier response's items on a kept connection is the next one's.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        if self.earlier.namesItems && isUnknown || self.earlier.announcesItems && isUnannounced {
---
        if self.phase == .ended, self.earlier.namesItems && isUnknown || self.earlier.announcesItems && isUnannounced {
<<<
EDITS
            ;;
        shared-indices) # Finished items are given back that cannot be told apart.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        self.areIndicesShared ? 0 : self.done.leadingCount
---
        self.done.leadingCount
<<<
EDITS
            ;;
        call-at-end) # A call that only the end of the response has is not handed over.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Events/Reader/EventReader+Closing.swift
        for call in calls {
            self.receivedUnfinished(call.call, at: call.outputIndex, attempt: attempt) {
                String(decoding: call.json, as: UTF8.self)
            }
            guard self.end == nil else { return false }
        }
---
<<<
EDITS
            ;;
        progress) # Events that say nothing of the response are progress.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Turn/Driver/TurnDriver+Events.swift
        guard isProgress else { return self.checkProgress() }
---
<<<
EDITS
            ;;
        output-ceiling) # A turn may have any amount of output.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
    package init(byteCountLimit: Int = .max) { self.channels.forEach { $0.byteCountLimit = byteCountLimit } }
---
    package init(byteCountLimit: Int = .max) {}
<<<
EDITS
            ;;
        restarted-response) # A response may begin once more behind its output.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
            guard !self.hasOutput, self.added.isEmpty else { return .violation(.responseRestarted) }
---
<<<
EDITS
            ;;
        continued-item) # An item that is done may have more output.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        return mayBeAnother ? self.tolerate(.itemContinued) : .violation(.itemContinued)
---
        return mayBeAnother ? self.tolerate(.itemContinued) : self.tolerate(.itemContinued)
<<<
EDITS
            ;;
        late-end) # The end of the response before on a kept connection ends the next one.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Order/ResponseOrder.swift
        guard self.phase != .ended, !self.isPrevious(responseID) else { return .foreign }
---
        guard self.phase != .ended else { return .foreign }
<<<
EDITS
            ;;
        budgets-at-hand) # Budgets are not looked at while there is something to read.
            cat <<'EDITS'
>>> Sources/Engine/ChappieTransport/Turn/Driver/TurnDriver+Receive.swift
        self.reader.meter.restartSlice()
        self.checkProgress()
---
        self.reader.meter.restartSlice()
<<<
EDITS
            ;;
        null-members) # Members that are null are taken out of an item one by one.
            cat <<'EDITS'
>>> Sources/Protocols/ResponseEvents/Requests/InputItem.swift
        self.removeMembers { $0.json.elementsEqual("null".utf8) }
---
        var names: [String] = []
        self.removeMembers { member in
            if member.json.elementsEqual("null".utf8) { names.append(member.name) }
            return false
        }
        for name in names { self[name] = nil }
<<<
EDITS
            ;;
        needless-line) # An event touches one more cache line of its stream, which no other access shares.
            cat <<'EDITS'
>>> Sources/Engine/LibwebsocketsTransport/Connection/ServiceConnection.swift
    let service: Service

    // The properties that each read
---
    let service: Service
    private let needless = {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 24)
        words.initialize(repeating: 0, count: 24)
        return words
    }()

    // The properties that each read
<<<
>>> Sources/Engine/LibwebsocketsTransport/Connection/ServiceConnection.swift
            self.receivedFrames(UnsafeRawBufferPointer(bytes), of: &arrival, reserve: &reserve)
---
            self.needless[8] &+= 1
            self.receivedFrames(UnsafeRawBufferPointer(bytes), of: &arrival, reserve: &reserve)
<<<
EDITS
            ;;
        *)
            echo "no mutation is called $1" >&2
            return 1
            ;;
    esac
}

readonly all=(comparison stale-attempt send-once remainder tool-calls catching-up uncut-restart short-replay sticky-cancel
    other-response unnumbered-gap repeated-number closing-rest closing-contradiction late-before-created
    late-after-created late-end shared-indices call-at-end progress output-ceiling restarted-response continued-item
    budgets-at-hand null-members needless-line)

# The walks that notice a mutation; nothing where the simulator does.
walks_of() {
    case $1 in
        null-members) echo "null" ;;
    esac
}

# The rows of cold budgets that notice a mutation; nothing where something else does.
rows_of() {
    case $1 in
        needless-line) echo "400 streams" ;;
    esac
}

# Applies the edits of standard input to the tree in the current folder, or with "check" finds out whether they fit.
apply_edits() { # [check]
    python3 -c '
import re, sys
edits = re.findall(r"^>>> ([^\n]+)\n(.*?\n)---\n(.*?)<<<\n", sys.stdin.read(), re.M | re.S)
if not edits: sys.exit("there are no edits")
for path, anchor, replacement in edits:
    text = open(path).read()
    # The last line of an anchor may be the beginning of a line.
    anchor, replacement = anchor.rstrip("\n"), replacement.rstrip("\n")
    if text.count(anchor) != 1: sys.exit(f"{path}: the text stands there {text.count(anchor)} times, not once:\n{anchor}")
    if sys.argv[1:] != ["check"]: open(path, "w").write(text.replace(anchor, replacement))
' "$@"
}

# A fresh copy of the tree, with the same times, so that only what differs is built again.
copy_tree() {
    mkdir -p "$work/tree/Benchmarks"
    rm -rf "$work"/tree/{Sources,Tests,Scripts} "$work"/tree/Benchmarks/{Sources,Runner}
    cp -a "$root"/{Sources,Tests,Scripts,Package.swift} "$work/tree/"
    cp -a "$root"/Benchmarks/{Sources,Runner,budgets.tsv,cold-budgets.tsv} "$work/tree/Benchmarks/"
}

build() {
    if ! swift build --package-path "$work/tree" --scratch-path "$work/build" -c release --product turn-simulator \
        >"$work/build.log" 2>&1; then
        tail -n 40 "$work/build.log" >&2
        return 1
    fi
}

simulate() { # TURNS SECONDS
    timeout "$2" "$work/build/release/turn-simulator" --turns "$1" --seed 1 --jobs 2 --quiet "${flags[@]}" \
        >"$work/run.log" 2>&1
}

# Whether a walk over a server's words costs more than twice as much with twice as many of them.
notices_growth() { # WALK
    if "$work/tree/Scripts/budgets.sh" growth "$1" >"$work/run.log" 2>&1; then return 1; fi
    grep -q 'NOT LINEAR\|a walk is not linear' "$work/run.log"
}

# Whether an event at many streams misses the last level of the caches more often.
notices_miss() { # ROW
    if "$work/tree/Scripts/budgets.sh" cold "$1" >"$work/run.log" 2>&1; then return 1; fi
    grep -q 'misses, last level .*ABOVE THE BUDGET' "$work/run.log"
}

# Whether the simulator breaks its promise.
notices_violation() {
    local status=0
    simulate 1000000000 "$seconds" || status=$?
    ((status == 1)) && grep -q '^replay: ' "$work/run.log"
}

if [[ ${1-} == check ]]; then
    for name in "${all[@]}"; do
        apply_edits check <<<"$(edits_of "$name")" || {
            echo "the mutation $name does not fit" >&2
            exit 1
        }
    done
    exit
fi
if (($# > 0)); then selected=("$@"); else selected=("${all[@]}"); fi

copy_tree
build
echo "without a mutation: 20,000 turns"
if ! simulate 20000 600; then
    cat "$work/run.log" >&2
    echo "the promise is broken without a mutation" >&2
    exit 1
fi

survivors=()
for name in "${selected[@]}"; do
    copy_tree
    edits=$(edits_of "$name")
    (cd "$work/tree" && apply_edits <<<"$edits")
    walks=$(walks_of "$name")
    rows=$(rows_of "$name")
    judge=(notices_growth "$walks")
    if [[ -n $rows ]]; then
        judge=(notices_miss "$rows")
    elif [[ -z $walks ]]; then
        build
        judge=(notices_violation)
    fi
    start=$SECONDS
    if "${judge[@]}"; then
        printf '%s: found after %d s\n' "$name" $((SECONDS - start))
    else
        printf '%s: SURVIVES %d s\n' "$name" $((SECONDS - start))
        survivors+=("$name")
    fi
    sed 's/^/    /' "$work/run.log"
done

if ((${#survivors[@]} > 0)); then
    printf 'not noticed: %s\n' "${survivors[*]}" >&2
    exit 1
fi
