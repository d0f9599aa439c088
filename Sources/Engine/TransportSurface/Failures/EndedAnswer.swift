// Answers that ended normally without being complete. The functions are pure.
package import StreamSession
package import StreamTransport

/// The fixed words for `details.detail` of an answer that ended without being cut.
package enum EndedAnswer: String {
    /// It had no event at all.
    case withoutEvent = "no-event"
    /// It had events, and the server ended it normally: only the terminal event is known to be missing.
    case inOrder = "ended-in-order"
    /// It ended with an event whose empty line is missing (WHATWG HTML section 9.2.6), which was discarded.
    case insideEvent = "unfinished-event"

    /// Returns whether the end of an answer's body is known by its framing, so that a body that ended is whole.
    package static func hasKnownEnd(_ head: ResponseHead?) -> Bool {
        (head?.value(of: "content-length") ?? head?.value(of: "transfer-encoding")) != nil
    }

    /// Returns whether an answer that had events ended normally, as far as that is known: its body ended between two
    /// events, and had the announced length or was chunked, or its WebSocket was closed with 1000.
    ///
    /// A body that ends with its connection may have been cut (RFC 9112 section 6.3), so it does not count. A chunked
    /// body without its last chunk is a failure of the transport, and is not passed here.
    package static func isInOrder(
        _ failure: AttemptFailure, head: ResponseHead?, endsBetweenEvents: @autoclosure () -> Bool
    )
        -> Bool
    {
        switch failure {
        case .closed(let code, _): code == 1000
        case .endedEarly: Self.hasKnownEnd(head) && endsBetweenEvents()
        default: false
        }
    }
}

extension EndedAnswer {
    /// The advice about an answer that ended normally.
    static let advice =
        "The delivered text may be all of it, or cut: on the way, or at the limit of output tokens. If this server ends "
        + "all its answers so, set recovery to never: it is then asked once."
}
