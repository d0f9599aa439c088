#!/usr/bin/env bash
# Plants one bug at a time in what is fuzzed, and expects its fuzz target to find it.
# Usage: Scripts/fuzz-planted.sh [NAME...]
#   NAME                     a bug of the table, or a target, which means all of its bugs; default all
#   CHAPPIE_PLANTED_SECONDS  how long a target may look for a bug, default 120
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly seconds=${CHAPPIE_PLANTED_SECONDS:-120}

work=$(mktemp -d "${TMPDIR:-/tmp}/chappie-planted.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The target that must find a bug, and the bug's name.
readonly all=(
    FuzzEventStream/split-terminator
    FuzzEventStream/retry-overflow
    FuzzEventStream/type-beside-the-limit
    FuzzEventStream/last-of-sixteen
    FuzzResponseEvents/half-surrogate
    FuzzDialects/last-call-alone
    FuzzDialects/second-choice
    FuzzDialects/frame-of-another-block
    FuzzReplayLedger/remainder
    FuzzReplayLedger/shorter-closing
    FuzzReplayLedger/late-twice
    FuzzInflater/limit-before-error
    FuzzInflater/window-after-final-block
    FuzzInflater/stage-left-full
    FuzzInflater/message-fills-memory
    FuzzHTTPFields/days-of-november
    FuzzHTTPFields/rounded-down
    FuzzHTTPMessages/room-of-the-last-line
    FuzzHTTPMessages/unchecked-terminator
    FuzzProxyGreeting/empty-name
    FuzzProxyGreeting/login-skipped
    FuzzProxyGreeting/one-byte-of-the-tunnel
    FuzzEngine/stale-length
)

# Each bug is one or more edits: a file, the text that must stand in it exactly once, and what replaces it.
# A line that begins with ">>> " begins an edit, "---" stands between the texts, and "<<<" ends it.
edits_of() {
    case $1 in
        FuzzEventStream/split-terminator) # After a CR at a chunk's end, the next byte is taken for its LF.
            cat <<'EDITS'
>>> Sources/Protocols/ServerSentEvents/Parser/EventStreamParser+Lines.swift
            self.skipsLineFeed = false
            return chunk[0] == .lineFeed ? 1 : 0
---
            self.skipsLineFeed = false
            return 1
<<<
EDITS
            ;;
        FuzzEventStream/retry-overflow) # A reconnection time that no integer holds becomes another one.
            cat <<'EDITS'
>>> Sources/Protocols/ServerSentEvents/Parser/EventStreamParser+Fields.swift
            guard (0...9).contains(digit), !product.overflow, !sum.overflow else {
---
            guard (0...9).contains(digit) else {
<<<
EDITS
            ;;
        FuzzEventStream/type-beside-the-limit) # Of an event that lies whole in a chunk, the type is not counted.
            cat <<'EDITS'
>>> Sources/Protocols/ServerSentEvents/Parser/PendingEvent.swift
        max(0, type.count) &+ max(0, data.count) <= self.smallerLimit
---
        max(0, data.count) <= self.smallerLimit
<<<
EDITS
            ;;
        FuzzEventStream/last-of-sixteen) # A terminator in the last of sixteen bytes is overlooked.
            cat <<'EDITS'
>>> Sources/C/CLineTerminatorScan/include/CLineTerminatorScan.h
    return (uint64_t)(uint32_t)_mm_movemask_epi8(hits);
---
    return (uint64_t)((uint32_t)_mm_movemask_epi8(hits) & 0x7FFF);
<<<
EDITS
            ;;
        FuzzResponseEvents/half-surrogate) # Anything may be the second half of a surrogate pair.
            cat <<'EDITS'
>>> Sources/C/CSimdjson/Unescape.cpp
    if (second < 0xDC00 || second > 0xDFFF) { return replacement_character; }
---
<<<
EDITS
            ;;
        FuzzDialects/last-call-alone) # Of the calls of a message, only the last one's arguments must be whole.
            cat <<'EDITS'
>>> Sources/Protocols/ResponseEvents/Dialects/MessagesDecoder.swift
        let isCut = self.blocks.contains { $0.kind == .call && Self.isCut($0.content) }
---
        let isCut = self.blocks.last { $0.kind == .call }.map { Self.isCut($0.content) } ?? false
<<<
EDITS
            ;;
        FuzzDialects/second-choice) # The second choice of a chat completion is read too.
            cat <<'EDITS'
>>> Sources/Protocols/ResponseEvents/Dialects/ChunkMembers.swift
        return self.member("index", of: choice).map { self.integer(at: $0) == 0 } ?? true
---
        return self.member("index", of: choice).map { (self.integer(at: $0) ?? 2) <= 1 } ?? true
<<<
EDITS
            ;;
        FuzzDialects/frame-of-another-block) # A delta belongs to the block of the one before, whatever began since.
            cat <<'EDITS'
>>> Sources/Protocols/ResponseEvents/Dialects/MessagesDecoder.swift
        self.frame.forget()
        // Gateways send it behind
---
        // Gateways send it behind
<<<
EDITS
            ;;
        FuzzReplayLedger/shorter-closing) # A closing text may leave out the end of what was delivered.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ClosingComparison.swift
        self.passOver(in: [])
        return self.place == self.delivered.endIndex
---
        self.passOver(in: [])
        return true
<<<
EDITS
            ;;
        FuzzReplayLedger/late-twice) # Deltas may repeat the rest of a closing text any number of times.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger+Closing.swift
        self.supplied[slot] = end..<rest.upperBound
---
<<<
EDITS
            ;;
        FuzzReplayLedger/remainder) # What remains of a replayed delta begins a byte too early.
            cat <<'EDITS'
>>> Sources/Engine/StreamSession/Replay/ReplayLedger.swift
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: matched) : .tooMuch
---
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: max(0, matched - 1)) : .tooMuch
<<<
EDITS
            ;;
        FuzzInflater/limit-before-error) # An error hides that the limit was passed.
            cat <<'EDITS'
>>> Sources/Protocols/Deflate/MessageInflater.swift
                try self.count(output, since: countBefore)
                throw error
---
                throw error
<<<
EDITS
            ;;
        FuzzInflater/window-after-final-block) # A final block inside a message empties the window.
            cat <<'EDITS'
>>> Sources/Protocols/Deflate/MessageInflater.swift
                self.inflater.resetKeepingWindow()
---
                self.inflater.reset()
<<<
EDITS
            ;;
        FuzzInflater/stage-left-full) # Output that had no room is forgotten when the input is used up.
            cat <<'EDITS'
>>> Sources/Protocols/Deflate/ContentDecoder.swift
        return position == input.count && !self.hasPendingOutput
---
        return position == input.count
<<<
EDITS
            ;;
        FuzzInflater/message-fills-memory) # zlib is called once more when a message has filled the memory exactly.
            cat <<'EDITS'
>>> Sources/Protocols/Deflate/Inflater.swift
            let mayHaveOutput = isOutputUsedUp && !self.isAfterBlock
---
            let mayHaveOutput = isOutputUsedUp
<<<
EDITS
            ;;
        FuzzHTTPFields/days-of-november) # November has 31 days.
            cat <<'EDITS'
>>> Sources/Protocols/HTTPProtocol/Fields/HTTPDate.swift
        case 4, 6, 9, 11: 30
---
        case 4, 6, 9: 30
<<<
EDITS
            ;;
        FuzzHTTPFields/rounded-down) # A part of a millisecond is not waited for.
            cat <<'EDITS'
>>> Sources/Protocols/HTTPProtocol/Fields/RetryDelay.swift
        return Double(whole) < milliseconds ? min(whole + 1, self.maximum) : whole
---
        return whole
<<<
EDITS
            ;;
        FuzzHTTPMessages/room-of-the-last-line) # A field line before a status line counts for the limit of that one.
            cat <<'EDITS'
>>> Sources/Protocols/HTTPProtocol/ResponseHeadReader.swift
        self.lineRoom = Int.max
---
<<<
EDITS
            ;;
        FuzzHTTPMessages/unchecked-terminator) # Of a chunk that lies whole in the buffer, the line end is not looked at.
            cat <<'EDITS'
>>> Sources/Protocols/HTTPProtocol/Bodies/ChunkReader.swift
                    unsafe UInt16(littleEndian: base.loadUnaligned(fromByteOffset: end, as: UInt16.self))
                        == Self.lineEnd
                else { break }
---
                    unsafe base.load(fromByteOffset: end, as: UInt8.self) >= 0
                else { break }
<<<
EDITS
            ;;
        FuzzProxyGreeting/empty-name) # A name of no bytes is followed by a byte less.
            cat <<'EDITS'
>>> Sources/Engine/LibwebsocketsTransport/Connecting/Proxies/SOCKSHandshake.swift
        case .nameByteCount: self.state = .addressAndPort(byteCount: Int(byte) + Self.portByteCount)
---
        case .nameByteCount: self.state = .addressAndPort(byteCount: max(Int(byte), 1) + Self.portByteCount - 1)
<<<
EDITS
            ;;
        FuzzProxyGreeting/login-skipped) # A refused login is taken for an accepted one.
            cat <<'EDITS'
>>> Sources/Engine/LibwebsocketsTransport/Connecting/Proxies/SOCKSHandshake.swift
            guard byte == 0 else { return .failed(.socksAuthenticationRefused(.credentialRefused)) }
---
<<<
EDITS
            ;;
        FuzzProxyGreeting/one-byte-of-the-tunnel) # What follows an answer in the same piece is read as well.
            cat <<'EDITS'
>>> Sources/Engine/LibwebsocketsTransport/Connecting/Proxies/ProxyGreeting.swift
            self.handshake = .tunnel(handshake)
---
            self.handshake = .tunnel(handshake)
            if self.outcome != .incomplete { position = bytes.count }
<<<
EDITS
            ;;
        FuzzEngine/stale-length) # The second long frame has the length of both.
            cat <<'EDITS'
>>> Sources/Protocols/WebSocketProtocol/Frames/FrameReader.swift
        self.lengthForm = byte
        self.length = 0
---
        self.lengthForm = byte
<<<
EDITS
            ;;
        *)
            echo "no bug is called $1" >&2
            return 1
            ;;
    esac
}

# Applies the edits of standard input to the tree in the current folder.
apply_edits() {
    python3 -c '
import re, sys
edits = re.findall(r"^>>> ([^\n]+)\n(.*?\n)---\n(.*?)<<<\n", sys.stdin.read(), re.M | re.S)
if not edits: sys.exit("there are no edits")
for path, anchor, replacement in edits:
    text = open(path).read()
    # The last line of an anchor may be the beginning of a line.
    anchor, replacement = anchor.rstrip("\n"), replacement.rstrip("\n")
    if text.count(anchor) != 1: sys.exit(f"{path}: the text stands there {text.count(anchor)} times, not once:\n{anchor}")
    open(path, "w").write(text.replace(anchor, replacement))
'
}

# A fresh copy of the tree, with the same times, so that only what differs is built again.
copy_tree() {
    mkdir -p "$work/tree/Fuzz"
    rm -rf "$work"/tree/{Sources,Tests,Scripts,.build/fuzz-corpus} "$work"/tree/Fuzz/{Sources,Corpus,Dictionaries,Regressions}
    mkdir "$work/tree/Tests"
    # One fuzz target links to what tests compare with, another writes records that an oracle judges.
    cp -a --parents Tests/Protocols/ServerSentEventsTests Tests/Engine/{PromiseRecord,Promise} "$work/tree/"
    cp -a Package.swift Sources Scripts "$work/tree/"
    cp -a Fuzz/{Sources,Corpus,Dictionaries} "$work/tree/Fuzz/"
}

selected=()
for name in "${all[@]}"; do
    if (($# == 0)); then selected+=("$name"); fi
    for wanted in "$@"; do
        if [[ $name == "$wanted" || ${name%%/*} == "$wanted" ]]; then selected+=("$name"); fi
    done
done
((${#selected[@]} > 0)) || {
    printf 'no bug is called %s; there are\n' "$*" >&2
    printf '    %s\n' "${all[@]}" >&2
    exit 1
}

# Every bug applies before anything is built.
copy_tree
for name in "${selected[@]}"; do
    edits=$(edits_of "$name")
    (cd "$work/tree" && apply_edits <<<"$edits")
    copy_tree
done
# Without a bug every input passes. Regressions are left out, because they may hold what is to be found.
mapfile -t targets < <(printf '%s\n' "${selected[@]%%/*}" | sort -u)
"$work/tree/Scripts/fuzz.sh" replay "${targets[@]}"

survivors=()
for name in "${selected[@]}"; do
    target=${name%%/*}
    copy_tree
    edits=$(edits_of "$name")
    (cd "$work/tree" && apply_edits <<<"$edits")
    status=0
    CHAPPIE_FUZZ_MINIMISE=0 "$work/tree/Scripts/fuzz.sh" run "$seconds" "$target" >"$work/run.log" 2>&1 || status=$?
    if ((status != 0)) && [[ -d $work/tree/Fuzz/Regressions/$target ]]; then
        printf '%s: found after %s s and %s runs\n' "$name" \
            "$(awk -v target="$target" '$1 == target { print $2; exit }' "$work/run.log")" \
            "$(awk -v target="$target" '$1 == target { print $3; exit }' "$work/run.log")"
        grep -E '^    ' "$work/run.log" | grep -v 'the whole output' | cut -c 1-200 || true
    else
        printf '%s: SURVIVES %s s\n' "$name" "$seconds"
        cat "$work/run.log"
        survivors+=("$name")
    fi
done

if ((${#survivors[@]} > 0)); then
    printf 'not found: %s\n' "${survivors[*]}" >&2
    exit 1
fi
