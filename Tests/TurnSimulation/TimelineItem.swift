// What a connection is going to report, and when.

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
        /// How much of the answer is said with it; nil for what is no part of an answer.
        var size: ContentSize?
        var isCompletion = false
        /// What cannot be believed any more once it has come.
        var refutation: Refutation?
    }

    var at: Duration
    let event: Event
    /// What the engine learns about the next delay.
    var hints: [DelayRules.Hint]?
}

/// A connection that fails, or is refused, or is established, and when.
enum ConnectOutcome {
    case established
    case refused(status: Int, RefusalBody)
    case failed(TransportFailure)
    /// Nothing is ever heard.
    case silent
}

/// The answer of a server that refuses.
struct RefusalBody {
    var fields: [HTTPField] = []
    var bytes: [UInt8] = []
    var end: TransportEnd? = .complete
    var hints: [DelayRules.Hint] = []
}
