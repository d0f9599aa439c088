/// Remembers the output that was delivered to a consumer, and verifies that a repeated response begins with it.
///
/// It belongs to the turn's state machine, and with it to the stream's one consumer. It performs no I/O.
///
/// # The rule
///
/// The delivered output consists of channels: text, refusals, reasoning (with its summaries), streamed tool input, and
/// finished tool calls. A consumer concatenates a channel, so a channel's order is guaranteed as well.
///
/// 1. In a replay, each channel must begin with exactly what was delivered in it: the same bytes, in the same items, in
///    the same order. How the bytes are cut into deltas does not matter, nor how parts are counted: some servers count
///    them by the deltas. Tool calls must be equal one by one.
/// 2. New output is delivered only after **every** channel has been repeated in full. A response that continues in one
///    channel before it has repeated another might never repeat it, and the consumer would then hold pieces of two
///    responses. Such a response diverges, even if it might have caught up later.
/// 3. A response that completes before every channel has been repeated in full diverges.
///
/// So after any call the delivered output is, in every channel, a prefix of one response without a gap. Channels may
/// interleave differently in two attempts, as long as rule 2 holds. Slots of one channel may interleave (item 0
/// continues while item 1 has begun) if they do so in the same way again. A server that answers twice with the same
/// events, cut anywhere, never diverges: output behind the cut comes after all output before the cut.
///
/// # Scalars
///
/// A remainder always begins on a scalar boundary. Every delta is whole UTF-8, so the delivered output ends on a
/// boundary; the replay's bytes up to there are equal, so they end on one too; and in UTF-8 the byte after a whole
/// scalar begins another. Grapheme clusters are not considered: a combining mark may begin a remainder, as it may begin
/// a delta.
///
/// # Settled items
///
/// Finished items of a broken attempt may be given back to the server, in the input of the next one. They are then no
/// part of the output that the next attempt produces: `beginReplay(settling:)` expects the others only, and the next
/// attempt's output index 0 stands for the first item that is not settled. Delivered output of settled items stays
/// delivered. It must have come in full in the broken attempt, because the model continues from that attempt's items;
/// and it must precede all other output in each channel, because a channel is one sequence.
///
/// # Restarts
///
/// Where the consumer wants it, an answer that diverges is delivered in place of the earlier one, from its first byte:
/// `restart` keeps what it has repeated so far, and all that follows is new.
///
/// # Resumed responses
///
/// A response that is resumed at a position repeats nothing. The ledger gets no call for it: it continues, verifying or
/// not, as if the connection had never broken.
///
/// # Successors
///
/// A response may be ended early for another one that continues it. Then the delivered output is not repeated, and the
/// request must not be sent again: `beginSuccessor` treats all further output as new.
///
/// # Closing events
///
/// A response states its content twice: in deltas, and in the events that close a part, an item and the response. The
/// output of the current attempt must be a prefix of the closing text; the rest of the closing text is output like a
/// delta's, in a replay too. It must be in place: behind all output of its channel. A delta that comes behind the closing
/// text of its slot repeats that rest, or contradicts the text (`late`). One behind the end of its own item waits for the
/// list at the end of the response (`withhold`).
///
/// Content decides, and the indices of parts help: a text that is not what its slot has so far closes what its item has
/// so far, or what of it no text has closed yet. It is a new part's text only if the item has nothing like it. At the
/// end of an item, all its texts of a kind are compared with all output of the item.
///
/// # Raw events
///
/// Events of the wire that are passed on unparsed are counted by their type, and by their item where the caller
/// provides it. A replay's first n are withheld when n were delivered. Identifiers, numbers and cuts differ between
/// attempts, so no other part of them can be compared, and they never cause a divergence. When items are settled, only
/// the counts of the other items are kept: an event without a known item describes another response then, whose indices
/// begin at 0 again, and withholding a new event would be worse than repeating an old one.
///
/// # Cost
///
/// A delta that is compared or recorded costs a comparison of slots and one `memcmp` or `memcpy`: no hashing, and no
/// allocation except for growth. A closing text costs a `memcmp`. The memory is described at `ReplayChannel` and
/// `ReplayRunLog`.
package struct ReplayLedger: Sendable {
    /// The treatment of output that has arrived.
    package enum Admission: Equatable, Sendable {
        /// Deliver the bytes from this offset to the end, at least one.
        case deliver(from: Int)
        /// All of it was delivered before.
        case swallow
        /// It contradicts the delivered output.
        case diverged
        /// It exceeds the limit on a response's output, and none of it was recorded.
        case tooMuch
    }

    /// The result of comparing a closing text with the slot's output.
    package enum Closing: Equatable, Sendable {
        /// All of it has come.
        case whole
        /// All of it has come, except for changes that servers make at the end: citations, trailing white space.
        case rewritten
        /// The bytes from this offset on have not come, and are output like any other.
        case rest(from: Int)
        /// Different output has come.
        case differs
        /// A part of it has not come, but output of a later position has.
        case outOfPlace
    }

    /// The relation of a delta to the text that has closed its slot before.
    package enum Late: Equatable, Sendable {
        /// No text has closed the slot: the delta is output like any other.
        case isNew
        /// The closing text has brought it, and no other delta has repeated it.
        case delivered
        /// It comes behind the end of its own item: the list at the end of the response decides.
        case withheld
        /// The same, and it exceeds the limit on a response's output.
        case tooMuch
        /// The closing text, which is the whole text of the slot, does not have it.
        case contradiction
    }

    /// The relation of reasoning to what its item has in the other member.
    enum OtherReasoning: Equatable, Sendable {
        /// The item has it.
        case repeated
        /// The item has the bytes before the offset, and the others continue the place.
        case rest(from: Int, of: ReplaySlot)
        /// It is different.
        case differs
    }

    /// The result of a response's completion.
    package enum Completion: Equatable, Sendable {
        /// It has all of the delivered output.
        case whole
        /// It ended before that, or had diverged.
        case diverged
    }

    /// The closing texts of an item and kind.
    struct ClosingTexts: Sendable {
        /// The slots that they belong to when they name others.
        var aliases: [ReplaySlot: ReplaySlot] = [:]
        /// The output that they have closed; nil before one has.
        var closed: ClosedText?
        /// Output at the same index that no text had closed when another item was begun there.
        var before: Range<Int>?
        /// The output at the same index of items that have had no end when others were begun there, in their order.
        var withoutEnd: [Range<Int>] = []
        /// Indicates whether they came with the end of the item.
        var areOfEnd = false
    }

    /// The output of an item that texts have closed.
    struct ClosedText: Sendable {
        /// The output that a text has closed last.
        var last: Range<Int>
        /// The end of the output that texts have closed.
        var end = 0
        /// The output that texts have closed whose slots had other output or none; nil when there is none.
        var acrossSlots: Range<Int>?
    }

    /// Output that waits for the list at the end of the response.
    struct Withheld: Sendable {
        /// Its slot in the attempt.
        let slot: ReplaySlot
        /// The end of its channel when it came.
        let position: Int
        var bytes: [UInt8] = []
    }

    private enum Phase: Equatable {
        /// All delivered output has come in this attempt: further output is new.
        case following
        /// The number of channels that are not caught up; at least 1.
        case verifying(channelCount: Int)
        case diverged
    }

    private var phase: Phase = .following
    var channels = ReplayChannels()
    private var calls = ToolCallChannel()
    private var rawEvents = RawEventCounts()
    /// The slots that a closing text has closed in the current attempt, by the index of their item.
    var closed: [Int: Set<ReplaySlot>] = [:]
    /// The part of the channel that a closing text has brought and that no delta has repeated since, by the slot.
    var supplied: [ReplaySlot: Range<Int>] = [:]
    /// The closing texts in the current attempt, by the item that they name (`ReplaySlot.item`).
    var closingTexts: [ReplaySlot: ClosingTexts] = [:]
    /// The output behind the end of its own item in the current attempt, which is not delivered; nil when there is none.
    var withheld: Withheld?
    /// Indicates whether no delta is known to be missing: then a full stop may replace a longer text.
    package var isCounted = true
    /// The number of items before the attempt's output index 0.
    private(set) var settledItemCount = 0

    /// The number of bytes of replayed output that were compared and withheld, over all attempts; of a tool call, its
    /// content.
    package private(set) var verifiedByteCount = 0

    /// Creates the ledger of a turn without output, which keeps at most `byteCountLimit` bytes of each kind of output.
    package init(byteCountLimit: Int = .max) { self.channels.forEach { $0.byteCountLimit = byteCountLimit } }

    /// Indicates whether all delivered output has come in this attempt.
    package var isCaughtUp: Bool { self.phase == .following }

    /// Indicates whether output was delivered; raw events do not count.
    package var hasDelivered: Bool {
        !self.channels.areEmpty || !self.calls.isEmpty
    }

    /// The delivered text: the concatenation of every text delta.
    package var deliveredText: String {
        unsafe self.channels.text.withBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The size of what is remembered beside the delivered bytes and the calls, in bytes.
    package var runByteCount: Int { self.channels.all.reduce(0) { $0 + $1.runByteCount } }

    /// Begins another attempt: all delivered output that is not settled is expected again.
    ///
    /// A divergence is permanent.
    package mutating func beginReplay() {
        self.rawEvents.rewind()
        self.forgetClosings()
        guard self.phase != .diverged else { return }
        self.channels.forEach { $0.rewind() }
        self.calls.rewind()
        let pending = self.channels.all.count { !$0.isCaughtUp } + (self.calls.isCaughtUp ? 0 : 1)
        self.phase = pending == 0 ? .following : .verifying(channelCount: pending)
    }

    /// Returns whether the first items of the broken attempt need not be repeated, if the server is given them as
    /// input.
    ///
    /// Their delivered output must have come in full in that attempt, and precede all other output in each channel.
    package func canSettle(itemCount: Int) -> Bool {
        guard self.phase != .diverged, let items = self.items(itemCount) else { return false }
        return self.calls.canSettle(items) && self.channels.all.allSatisfy { $0.canSettle(items) }
    }

    /// Begins another attempt, which is given the first items of the broken one and does not repeat them.
    ///
    /// Its output index 0 is then the first of the others. The items are added to those that are settled already.
    ///
    /// - Returns: false when that is not possible; the ledger is unchanged then, and all output must be repeated.
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

    /// Begins a response that continues this one, which was ended early: it repeats nothing.
    ///
    /// Its output index 0 stands for a position behind all possible positions of this response.
    ///
    /// - Returns: false when a replay has not caught up with the delivered output: then no response will repeat the
    ///   rest.
    package mutating func beginSuccessor() -> Bool {
        guard self.phase == .following else {
            self.phase = .diverged
            return false
        }
        self.rawEvents.settle(0..<Int.max)
        self.channels.forEach { $0.beginSuccessor() }
        self.forgetClosings()
        self.settledItemCount += ResponseOrder.maximumIndex + 1
        return true
    }

    private mutating func forgetClosings() {
        self.closed.removeAll()
        self.supplied.removeAll()
        self.closingTexts.removeAll()
        self.withheld = nil
    }

    private func items(_ count: Int) -> Range<Int>? {
        let (end, hasOverflown) = self.settledItemCount.addingReportingOverflow(count)
        guard count >= 0, !hasOverflown else { return nil }
        return self.settledItemCount..<end
    }

    /// Decides about a delta, which must be whole UTF-8, and records the part that is to be delivered.
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
    /// Calls are equal when the bytes of their content and their output indices are. The content has no identifier of
    /// the call, as a server gives a new one to a repeated request.
    ///
    /// Each is another call, with the content and the output index of an earlier one too: the caller passes no call a
    /// second time in one attempt.
    package mutating func admitToolCall(_ content: [UInt8], at outputIndex: Int) -> Admission {
        let (outputIndex, hasOverflown) = outputIndex.addingReportingOverflow(self.settledItemCount)
        guard self.phase != .diverged, !hasOverflown else { return self.diverge() }
        let call = ToolCallChannel.Call(content: content, outputIndex: outputIndex)
        switch self.calls.match(call) {
        case .unknown:
            guard self.phase == .following else { return self.diverge() }
            self.calls.append(call)
            return .deliver(from: 0)

        case .expected:
            self.verifiedByteCount += content.count
            if self.calls.isCaughtUp { self.channelCaughtUp() }
            return .swallow

        case .contradiction:
            return self.diverge()
        }
    }

    /// Decides whether an event of the wire is passed on unparsed, and counts it.
    ///
    /// The output index is that of the event's item, where the caller knows it.
    package mutating func admitRaw(type: String, outputIndex: Int? = nil) -> Bool {
        guard self.phase != .diverged else { return false }
        return self.rawEvents.admit(type, outputIndex: outputIndex.map { $0 &+ self.settledItemCount })
    }

    /// Decides about a response that reports its completion.
    package mutating func finish() -> Completion {
        guard self.phase == .following else {
            self.phase = .diverged
            return .diverged
        }
        return .whole
    }

    private mutating func verify(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Admission {
        let kind = slot.kind
        let before = self.channels[kind].cursor
        guard !self.channels[kind].isCaughtUp, let matched = self.channels[kind].verify(bytes, in: slot) else {
            return self.diverge(at: before, of: kind)
        }
        self.verifiedByteCount += matched
        if self.channels[kind].isCaughtUp { self.channelCaughtUp() }
        guard matched < bytes.count else { return .swallow }
        guard self.phase == .following else { return self.diverge(at: before, of: kind) }
        let rest = bytes.extracting(matched..<bytes.count)
        return self.channels[kind].append(rest, to: slot) ? .deliver(from: matched) : .tooMuch
    }

    private mutating func channelCaughtUp() {
        guard case .verifying(let channelCount) = self.phase else { return }
        self.phase = channelCount == 1 ? .following : .verifying(channelCount: channelCount - 1)
    }

    private mutating func diverge(at cursor: Int? = nil, of kind: ReplaySlot.Kind = .text) -> Admission {
        self.phase = .diverged
        if let cursor { self.channels[kind].stop(at: cursor) }
        return .diverged
    }

    /// Forgets the output that the current attempt has not repeated, after it has diverged: what remains is the beginning
    /// of another answer, whose output is new from there on.
    ///
    /// - Returns: false when that is not possible, because finished calls were delivered, on which the program has acted.
    package mutating func restart() -> Bool {
        guard self.phase == .diverged, self.calls.isEmpty else { return false }
        self.channels.forEach { $0 = $0.cutAtCursor() }
        self.rawEvents.restart()
        self.phase = .following
        return true
    }

    /// The delivered output, in the order of the kinds: reasoning with its summaries, streamed input of tools, text,
    /// refusals.
    package var deliveredOutput: [(kind: ReplaySlot.Kind, text: String)] {
        let kinds: [ReplaySlot.Kind] = [.reasoningText, .toolCall, .text, .refusal]
        return kinds.compactMap { kind in
            let text = unsafe self.channels[kind].withBytes { unsafe String(decoding: $0, as: UTF8.self) }
            return text.isEmpty ? nil : (kind, text)
        }
    }
}
