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
/// # Raw events
///
/// Events of the wire that are passed on unparsed are counted by their type, and a replay's first n of a type are
/// withheld when n were delivered. Identifiers, numbers and cuts differ between attempts, so nothing else of them can
/// be compared, and they never cause a divergence.
package struct ReplayLedger: Sendable {
    /// What to do with output that has arrived.
    package enum Admission: Equatable, Sendable {
        /// Deliver the bytes from this offset to the end, which are never none.
        case deliver(from: Int)
        /// All of it was delivered before.
        case swallow
        /// It contradicts what was delivered.
        case diverged
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
    private var channels = [ReplayChannel](repeating: ReplayChannel(), count: ReplaySlot.Kind.channelCount)
    private var calls = ToolCallChannel()
    private var rawEvents = RawEventCounts()

    /// How many bytes of replayed output were compared and withheld, over all attempts; of a tool call, its arguments.
    package private(set) var verifiedByteCount = 0

    /// Nothing is delivered yet.
    package init() {}

    /// True when everything that was delivered has come in this attempt.
    package var isCaughtUp: Bool { self.phase == .following }

    /// True when output was delivered; raw events are none.
    package var hasDelivered: Bool {
        self.channels.contains { !$0.bytes.isEmpty } || !self.calls.isEmpty
    }

    /// The text that was delivered: every text delta, one behind the other.
    package var deliveredText: String {
        String(decoding: self.channels[ReplaySlot.Kind.text.channelIndex].bytes, as: UTF8.self)
    }

    /// Begins another attempt: everything that was delivered is expected again.
    ///
    /// A divergence stays one.
    package mutating func beginReplay() {
        self.rawEvents.rewind()
        guard self.phase != .diverged else { return }
        for index in self.channels.indices { self.channels[index].rewind() }
        self.calls.rewind()
        let pending = self.channels.count { !$0.isCaughtUp } + (self.calls.isCaughtUp ? 0 : 1)
        self.phase = pending == 0 ? .following : .verifying(channelCount: pending)
    }

    /// Decides about a delta, which must be whole UTF-8, and records what is to be delivered.
    package mutating func admit(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Admission {
        switch self.phase {
        case .following:
            guard !bytes.isEmpty else { return .swallow }
            self.channels[slot.kind.channelIndex].append(bytes, to: slot)
            return .deliver(from: 0)

        case .verifying:
            guard !bytes.isEmpty else { return .swallow }
            return self.verify(bytes, in: slot)

        case .diverged:
            return .diverged
        }
    }

    /// Decides about a finished tool call, and records it when it is to be delivered.
    ///
    /// A call that comes twice in one attempt is delivered once. Another call in its place contradicts it.
    package mutating func admitToolCall(_ call: ReplayedToolCall) -> Admission {
        guard self.phase != .diverged else { return .diverged }
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
    package mutating func admitRaw(type: String) -> Bool {
        guard self.phase != .diverged else { return false }
        return self.rawEvents.admit(type)
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
        let index = slot.kind.channelIndex
        guard !self.channels[index].isCaughtUp, let matched = self.channels[index].verify(bytes, in: slot) else {
            return self.diverge()
        }
        self.verifiedByteCount += matched
        if self.channels[index].isCaughtUp { self.channelCaughtUp() }
        guard matched < bytes.count else { return .swallow }
        guard self.phase == .following else { return self.diverge() }
        self.channels[index].append(bytes.extracting(matched..<bytes.count), to: slot)
        return .deliver(from: matched)
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

extension ReplaySlot.Kind {
    /// How many channels of bytes there are.
    static let channelCount = 4

    /// The channel: kinds that a consumer concatenates share one.
    var channelIndex: Int {
        switch self {
        case .text: 0
        case .refusal: 1
        case .reasoningSummary, .reasoningText: 2
        case .toolCall: 3
        }
    }
}
