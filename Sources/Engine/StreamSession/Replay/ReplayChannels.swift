extension ReplaySlot.Kind {
    /// Returns whether a consumer concatenates the two kinds.
    package func isConcatenated(with other: Self) -> Bool {
        switch self {
        case .text, .refusal, .toolCall: other == self
        case .reasoningSummary, .reasoningText: other == .reasoningSummary || other == .reasoningText
        }
    }
}

/// The byte channels that a consumer concatenates, each independently of the others.
///
/// They are a part of `ReplayLedger` and belong to its owner. They are stored in place rather than in an array, because
/// every delta passes here.
struct ReplayChannels: Sendable {
    var text = ReplayChannel()
    private var refusal = ReplayChannel()
    /// Reasoning and its summaries.
    private var reasoning = ReplayChannel()
    private var toolInput = ReplayChannel()

    /// The channel of a kind: kinds that a consumer concatenates share one.
    subscript(kind: ReplaySlot.Kind) -> ReplayChannel {
        _read {
            switch kind {
            case .text: yield self.text
            case .refusal: yield self.refusal
            case .reasoningSummary, .reasoningText: yield self.reasoning
            case .toolCall: yield self.toolInput
            }
        }
        _modify {
            switch kind {
            case .text: yield &self.text
            case .refusal: yield &self.refusal
            case .reasoningSummary, .reasoningText: yield &self.reasoning
            case .toolCall: yield &self.toolInput
            }
        }
    }

    /// Calls the channel's method of the same name without the subscript's accessor.
    @inline(__always)
    mutating func append(_ new: Span<UInt8>, to slot: ReplaySlot) -> Bool {
        switch slot.kind {
        case .text: self.text.append(new, to: slot)
        case .refusal: self.refusal.append(new, to: slot)
        case .reasoningSummary, .reasoningText: self.reasoning.append(new, to: slot)
        case .toolCall: self.toolInput.append(new, to: slot)
        }
    }

    /// Calls the channel's method of the same name without the subscript's accessor.
    @inline(__always)
    mutating func verifyInside(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Bool {
        switch slot.kind {
        case .text: self.text.verifyInside(replayed, in: slot)
        case .refusal: self.refusal.verifyInside(replayed, in: slot)
        case .reasoningSummary, .reasoningText: self.reasoning.verifyInside(replayed, in: slot)
        case .toolCall: self.toolInput.verifyInside(replayed, in: slot)
        }
    }

    /// Indicates whether no channel has delivered output.
    ///
    /// It is asked for at every step of a turn, so no array is made for it.
    var areEmpty: Bool {
        self.text.byteCount == 0 && self.reasoning.byteCount == 0 && self.refusal.byteCount == 0
            && self.toolInput.byteCount == 0
    }

    /// All channels.
    var all: [ReplayChannel] { [self.text, self.refusal, self.reasoning, self.toolInput] }

    /// Changes every channel.
    mutating func forEach(_ body: (inout ReplayChannel) -> Void) {
        body(&self.text)
        body(&self.refusal)
        body(&self.reasoning)
        body(&self.toolInput)
    }
}
