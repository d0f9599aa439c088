import ChappieTransport

/// Compares the events of a repeated request with those that the stream's journal has, and withholds what is there.
///
/// The deltas of a kind are compared as one text, so that it does not matter how they are cut. A value; it performs no
/// I/O.
struct TakeoverComparison: Sendable {
    /// The treatment of an event.
    enum Verdict: Equatable {
        /// The events are new, and are appended.
        case deliver([ChappieStreamEvent])
        /// The response is another one than the journal has.
        case diverged
    }

    private struct Text {
        var bytes: [UInt8] = []
        var verified = 0
        var isComplete: Bool { self.verified == self.bytes.count }

        /// Compares the next bytes, and keeps those that are new.
        ///
        /// - Returns: the number of bytes that were there; nil when they differ.
        mutating func take(_ next: [UInt8]) -> Int? {
            let common = min(self.bytes.count - self.verified, next.count)
            for offset in 0..<common where self.bytes[self.verified + offset] != next[offset] { return nil }
            self.bytes += next[common...]
            self.verified += next.count
            return common
        }
    }

    private var text = Text()
    private var reasoning = Text()
    private var refusal = Text()
    /// The raw events of each type that are still to be repeated.
    private var rawCounts: [String: Int] = [:]
    private var journaledRawCounts: [String: Int] = [:]
    /// The events of the repeated request so far, while they are compared.
    private var repeated: [ChappieStreamEvent] = []
    private let restarts: Bool
    private var hasDelivered = false

    /// The text that readers have, which a restart replaces.
    private var deliveredText: String { String(decoding: self.text.bytes, as: UTF8.self) }

    /// Creates a comparison.
    ///
    /// - Parameters:
    ///   - events: those of the journal, in order; only what is behind the last restart counts.
    ///   - restarts: indicates whether another response begins anew for the readers, in place of an error.
    init(_ events: [ChappieStreamEvent], restarts: Bool) {
        self.restarts = restarts
        for event in events {
            switch event {
            case .textDelta(let text): self.text.bytes += text.utf8
            case .reasoningDelta(let text): self.reasoning.bytes += text.utf8
            case .refusalDelta(let text): self.refusal.bytes += text.utf8
            case .raw(let type, _): self.rawCounts[type, default: 0] += 1
            case .restarted: (self.text, self.reasoning, self.refusal) = (Text(), Text(), Text())
            default: break
            }
        }
        self.journaledRawCounts = self.rawCounts
    }

    /// Indicates whether all that the journal has was repeated.
    var isComplete: Bool { self.text.isComplete && self.reasoning.isComplete && self.refusal.isComplete }

    /// Takes the next event of the repeated request.
    mutating func received(_ event: ChappieStreamEvent) -> Verdict {
        if !self.isComplete { self.repeated.append(event) }
        switch event {
        case .textDelta(let text): return self.compare(text, \.text) { .textDelta($0) }
        case .reasoningDelta(let text): return self.compare(text, \.reasoning) { .reasoningDelta($0) }
        case .refusalDelta(let text): return self.compare(text, \.refusal) { .refusalDelta($0) }
        case .raw(let type, _):
            guard let count = self.rawCounts[type], count > 0 else { return self.deliver(event) }
            self.rawCounts[type] = count - 1
            return .deliver([])
        case .restarted:
            // The repeated request was itself answered differently: what it had repeated counts no longer.
            if self.hasDelivered {
                defer { self.forget() }
                return .deliver([.restarted(deliveredText: self.deliveredText)])
            }
            self.text.verified = 0
            self.reasoning.verified = 0
            self.refusal.verified = 0
            self.rawCounts = self.journaledRawCounts
            self.repeated = []
            return .deliver([])
        case .completed: return self.isComplete ? self.deliver(event) : self.diverged()
        default: return self.deliver(event)
        }
    }

    private mutating func deliver(_ event: ChappieStreamEvent) -> Verdict {
        switch event {
        // They are not journaled, so readers get nothing by them.
        case .diagnostic, .usageLimits: break
        default: self.hasDelivered = true
        }
        return .deliver([event])
    }

    private mutating func compare(
        _ delta: String, _ kind: WritableKeyPath<Self, Text>, _ event: (String) -> ChappieStreamEvent
    ) -> Verdict {
        let bytes = Array(delta.utf8)
        guard let common = self[keyPath: kind].take(bytes) else { return self.diverged() }
        guard common < bytes.count else { return .deliver([]) }
        return self.deliver(common == 0 ? event(delta) : event(String(decoding: bytes[common...], as: UTF8.self)))
    }

    private mutating func diverged() -> Verdict {
        guard self.restarts else { return .diverged }
        let events = [.restarted(deliveredText: self.deliveredText)] + self.repeated
        self.forget()
        self.hasDelivered = true
        return .deliver(events)
    }

    /// Leaves nothing to compare.
    private mutating func forget() {
        (self.text, self.reasoning, self.refusal) = (Text(), Text(), Text())
        self.rawCounts = [:]
        self.repeated = []
    }
}
