// The reports of a connection, with their times.

import StreamTransport

/// One thing that a simulated connection reports at its time.
struct TimelineItem {
    enum Event {
        case ready
        case pong
        case opened(ResponseHead)
        case payload(Payload)
        case ended(TransportEnd)
    }

    struct Payload {
        let kind: InboundPayload.Kind
        let bytes: ArraySlice<UInt8>
        /// The amount of the answer that is sent up to it; nil for an item outside an answer.
        var size: ContentSize?
        var isCompletion = false
        /// The content that is refuted once it has arrived.
        var refutation: Refutation?
    }

    var at: Duration
    let event: Event
    /// The engine's hints about the next delay.
    var hints: [DelayRules.Hint]?
}

/// A connection that fails, or is refused, or is established, and when.
enum ConnectOutcome {
    case established
    case refused(status: Int, RefusalBody)
    case failed(TransportFailure)
    /// No byte is ever received.
    case silent
}

/// The answer of a server that refuses.
struct RefusalBody {
    var fields: [HTTPField] = []
    var bytes: [UInt8] = []
    var end: TransportEnd? = .complete
    var hints: [DelayRules.Hint] = []
}
