/// Remembers what the consumer of a response was given, and verifies that a repeated response begins with it.
///
/// It belongs to the turn's state machine, and with it to the stream's one consumer. It performs no I/O.
///
/// # The rule
///
/// What was delivered falls into channels: text, refusals, reasoning (with its summaries), streamed tool input, and
/// finished tool calls. A consumer concatenates a channel, so a channel's order is a part of what it was promised.
///
/// 1. In a replay, each channel must begin with exactly what was delivered in it: the same bytes, in the same slots, in
///    the same order. How the bytes are cut into deltas does not matter. Tool calls must be equal one by one.
/// 2. Nothing new is delivered before **every** channel has come again whole. A response that goes on in one place
///    while it has not yet repeated what was delivered in another might never repeat it, and the consumer would then
///    hold pieces of two responses. Such a response diverges, even if it might have caught up later.
/// 3. A response that is complete before every channel has come again whole diverges.
///
/// So after any call the delivered output is, in every channel, a prefix of one response without a gap. Channels may
/// interleave differently in two attempts, as long as rule 2 holds. Slots of one channel may interleave (item 0 goes on
/// while item 1 has begun) if they do so in the same way again. A server that answers twice with the same events, cut
/// anywhere, never diverges: whatever comes past the cut comes after everything before the cut.
///
/// # Scalars
///
/// A remainder always begins on a scalar boundary. Every delta is whole UTF-8, so what was delivered ends on a
/// boundary; the replay's bytes up to there are equal, so they end on one too; and in UTF-8 the byte after a whole
/// scalar begins another. Grapheme clusters are not looked at: a combining mark may begin a remainder, as it may begin
/// a delta.
///
/// # Settled items
///
/// Finished items of a broken attempt may be given back to the server, in the input of the next one. They are then no
/// part of the output that the next attempt produces: `beginReplay(settling:)` expects the others only, and the next
/// attempt's output index 0 stands for the first item that is not settled. What was delivered of settled items stays
/// delivered. It must have come whole in the broken attempt, because it is that attempt's items that the model goes on
/// from; and it must stand before everything else in each channel, because a channel is one sequence.
///
/// # Resumed responses
///
/// A response that is fetched again from a position on repeats nothing. The ledger is told nothing: it goes on as if
/// the connection had never broken, verifying or not.
///
/// # Successors
///
/// A response may be ended early for another one that goes on from it. Nothing of what was delivered comes again then,
/// and nothing may be sent again: `beginSuccessor` makes everything that comes new.
///
/// # Closing events
///
/// A response says its content twice: in deltas, and in the events that close a part, an item and the response. What
/// has come in the attempt that runs must be the beginning of what these say; what they have beyond it is output like a
/// delta's, in a replay too. It must be in place: behind everything that has come of its channel.
///
/// # Raw events
///
/// Events of the wire that are passed on unparsed are counted by their type, and by their item where the caller says
/// which. A replay's first n are withheld when n were delivered. Identifiers, numbers and cuts differ between attempts,
/// so nothing else of them can be compared, and they never cause a divergence. When items are settled, only the counts
/// of the other items are kept: what belongs to no item that is known describes another response then, whose indices
/// begin at 0 again, and to withhold what is new would be worse than to repeat that.
///
/// # Cost
///
/// A delta that is compared or recorded costs a comparison of slots and one `memcmp` or `memcpy`: no hashing, and no
/// allocation but for growth. A closing text costs a `memcmp`. `ReplayChannel` says what is remembered, `ReplayRunLog`
/// what that takes.
package struct ReplayLedger: Sendable {
    /// What to do with output that has arrived.
    package enum Admission: Equatable, Sendable {
        /// Deliver the bytes from this offset to the end, which are never none.
        case deliver(from: Int)
        /// All of it was delivered before.
        case swallow
        /// It contradicts what was delivered.
        case diverged
        /// It is more than is kept of a response, and nothing of it was taken.
        case tooMuch
    }

    /// The result of comparing a closing text with the slot's output.
    package enum Closing: Equatable, Sendable {
        /// All of it has come.
        case whole
        /// All of it has come, but for what servers change in the end: citations, white space behind it.
        case rewritten
        /// The bytes from this offset on have not come, and are output like any other.
        case rest(from: Int)
        /// Something else has come.
        case differs
        /// More than has come, but output of a later place has come already.
        case outOfPlace
    }

    /// What a complete response was.
    package enum Completion: Equatable, Sendable {
        /// It has everything that was delivered.
        case whole
        /// It ended short of that, or had diverged.
        case diverged
    }

    private enum Phase: Equatable {
        /// Everything that was delivered has come in this attempt: what arrives is new.
        case following
        /// So many channels are not caught up; never none.
        case verifying(channelCount: Int)
        case diverged
    }

    private var phase: Phase = .following
    var channels = ReplayChannels()
    private var calls = ToolCallChannel()
    private var rawEvents = RawEventCounts()
    /// The slots that a closing text has closed in the attempt that runs, by the index of their item.
    var closed: [Int: Set<ReplaySlot>] = [:]
    /// The slots that closing texts belong to which name others, by the index of the item that they name.
    var aliases: [Int: [ReplaySlot: ReplaySlot]] = [:]
    /// How many items came before the attempt's output index 0.
    private(set) var settledItemCount = 0

    /// How many bytes of replayed output were compared and withheld, over all attempts; of a tool call, its arguments.
    package private(set) var verifiedByteCount = 0

    /// A ledger of a turn without output, which keeps at most `byteCountLimit` bytes of each kind of output.
    package init(byteCountLimit: Int = .max) { self.channels.forEach { $0.byteCountLimit = byteCountLimit } }

    /// Indicates whether everything that was delivered has come in this attempt.
    package var isCaughtUp: Bool { self.phase == .following }

    /// Indicates whether output was delivered; raw events are none.
    package var hasDelivered: Bool {
        !self.channels.areEmpty || !self.calls.isEmpty
    }

    /// The text that was delivered: every text delta, one behind the other.
    package var deliveredText: String {
        unsafe self.channels.text.withBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// What is remembered beside the delivered bytes and the calls, in bytes.
    package var runByteCount: Int { self.channels.all.reduce(0) { $0 + $1.runByteCount } }

    /// Begins another attempt: everything that was delivered and is not settled is expected again.
    ///
    /// A divergence stays one.
    package mutating func beginReplay() {
        self.rawEvents.rewind()
        self.closed.removeAll()
        self.aliases.removeAll()
        guard self.phase != .diverged else { return }
        self.channels.forEach { $0.rewind() }
        self.calls.rewind()
        let pending = self.channels.all.count { !$0.isCaughtUp } + (self.calls.isCaughtUp ? 0 : 1)
        self.phase = pending == 0 ? .following : .verifying(channelCount: pending)
    }

    /// Returns whether the first items of the attempt that broke need not come again, if the server is given them as
    /// input.
    ///
    /// What was delivered of them must have come whole in that attempt, and before everything else in each channel.
    package func canSettle(itemCount: Int) -> Bool {
        guard self.phase != .diverged, let items = self.items(itemCount) else { return false }
        return self.calls.canSettle(items) && self.channels.all.allSatisfy { $0.canSettle(items) }
    }

    /// Begins another attempt, which is given the first items of the one that broke and does not repeat them.
    ///
    /// Its output index 0 is then the first of the others. This adds to what was settled before.
    ///
    /// - Returns: false when that is not possible; nothing has changed then, and everything must come again.
    package mutating func beginReplay(settling itemCount: Int) -> Bool {
        guard self.canSettle(itemCount: itemCount), let items = self.items(itemCount) else { return false }
        if !items.isEmpty {
            self.channels.forEach { $0.settle(items) }
            self.calls.settle(items)
            self.rawEvents.settle(items)
            self.settledItemCount = items.upperBound
        }
        self.beginReplay()
        return true
    }

    /// Another response follows that goes on from this one, which was ended early: it repeats nothing.
    ///
    /// Its output index 0 stands for a position behind all that a response can have.
    ///
    /// - Returns: false when a replay has not come as far as what was delivered: then nobody will repeat the rest.
    package mutating func beginSuccessor() -> Bool {
        guard self.phase == .following else {
            self.phase = .diverged
            return false
        }
        self.rawEvents.settle(0..<Int.max)
        self.channels.forEach { $0.beginSuccessor() }
        self.closed.removeAll()
        self.aliases.removeAll()
        self.settledItemCount += ResponseOrder.maximumIndex + 1
        return true
    }

    private func items(_ count: Int) -> Range<Int>? {
        let (end, hasOverflown) = self.settledItemCount.addingReportingOverflow(count)
        guard count >= 0, !hasOverflown else { return nil }
        return self.settledItemCount..<end
    }

    /// Decides about a delta, which must be whole UTF-8, and records what is to be delivered.
    @inline(__always)
    package mutating func admit(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Admission {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return self.diverge() }
        if case .verifying = self.phase, self.channels.verifyInside(bytes, in: slot) {
            self.verifiedByteCount += bytes.count
            return .swallow
        }
        switch self.phase {
        case .following:
            guard !bytes.isEmpty else { return .swallow }
            return self.channels.append(bytes, to: slot) ? .deliver(from: 0) : .tooMuch

        case .verifying:
            guard !bytes.isEmpty else { return .swallow }
            return self.verify(bytes, in: slot)

        case .diverged:
            return .diverged
        }
    }

    /// Decides about a finished tool call, and records it when it is to be delivered.
    ///
    /// A call that comes twice in one attempt is delivered once. Another call with the same output index is another
    /// one.
    package mutating func admitToolCall(_ call: ReplayedToolCall) -> Admission {
        guard self.phase != .diverged, let call = call.shifted(by: self.settledItemCount) else { return self.diverge() }
        switch self.calls.match(call) {
        case .unknown:
            guard self.phase == .following else { return self.diverge() }
            self.calls.append(call)
            return .deliver(from: 0)

        case .expected:
            self.verifiedByteCount += call.arguments.utf8.count
            if self.calls.isCaughtUp { self.channelCaughtUp() }
            return .swallow

        case .repeated:
            return .swallow

        case .contradiction:
            return self.diverge()
        }
    }

    /// Decides whether an event of the wire is passed on unparsed, and counts it.
    ///
    /// The output index is that of the item it belongs to, where the caller knows it.
    package mutating func admitRaw(type: String, outputIndex: Int? = nil) -> Bool {
        guard self.phase != .diverged else { return false }
        return self.rawEvents.admit(type, outputIndex: outputIndex.map { $0 &+ self.settledItemCount })
    }

    /// Decides about a response that says it is complete.
    package mutating func finish() -> Completion {
        guard self.phase == .following else {
            self.phase = .diverged
            return .diverged
        }
        return .whole
    }

    private mutating func verify(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Admission {
        let kind = slot.kind
        guard !self.channels[kind].isCaughtUp, let matched = self.channels[kind].verify(bytes, in: slot) else {
            return self.diverge()
        }
        self.verifiedByteCount += matched
        if self.channels[kind].isCaughtUp { self.channelCaughtUp() }
        guard matched < bytes.count else { return .swallow }
        guard self.phase == .following else { return self.diverge() }
        let rest = bytes.extracting(matched..<bytes.count)
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: matched) : .tooMuch
    }

    private mutating func channelCaughtUp() {
        guard case .verifying(let channelCount) = self.phase else { return }
        self.phase = channelCount == 1 ? .following : .verifying(channelCount: channelCount - 1)
    }

    private mutating func diverge() -> Admission {
        self.phase = .diverged
        return .diverged
    }
}
