extension ReplaySlot.Kind {
    /// Returns whether a consumer concatenates the two kinds.
    package func isConcatenated(with other: Self) -> Bool {
        switch self {
        case .text, .refusal, .toolCall: other == self
        case .reasoningSummary, .reasoningText: other == .reasoningSummary || other == .reasoningText
        }
    }
}

/// The channels of bytes that a consumer concatenates, each beside the others.
///
/// They are a part of `ReplayLedger` and belong to its owner. They are stored in place, and not in an array: every
/// delta goes through here.
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

    /// The same as the channel's own, without the subscript's accessor around it.
    @inline(__always)
    mutating func append(_ new: Span<UInt8>, to slot: ReplaySlot) -> Bool {
        switch slot.kind {
        case .text: self.text.append(new, to: slot)
        case .refusal: self.refusal.append(new, to: slot)
        case .reasoningSummary, .reasoningText: self.reasoning.append(new, to: slot)
        case .toolCall: self.toolInput.append(new, to: slot)
        }
    }

    /// The same as the channel's own, without the subscript's accessor around it.
    @inline(__always)
    mutating func verifyInside(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Bool {
        switch slot.kind {
        case .text: self.text.verifyInside(replayed, in: slot)
        case .refusal: self.refusal.verifyInside(replayed, in: slot)
        case .reasoningSummary, .reasoningText: self.reasoning.verifyInside(replayed, in: slot)
        case .toolCall: self.toolInput.verifyInside(replayed, in: slot)
        }
    }

    /// Indicates whether nothing was delivered in any of them.
    ///
    /// It is asked for at every step of a turn, so no array is made for it.
    var areEmpty: Bool {
        self.text.byteCount == 0 && self.reasoning.byteCount == 0 && self.refusal.byteCount == 0
            && self.toolInput.byteCount == 0
    }

    /// Every channel.
    var all: [ReplayChannel] { [self.text, self.refusal, self.reasoning, self.toolInput] }

    /// Changes every channel.
    mutating func forEach(_ body: (inout ReplayChannel) -> Void) {
        body(&self.text)
        body(&self.refusal)
        body(&self.reasoning)
        body(&self.toolInput)
    }
}
