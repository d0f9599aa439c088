import PlatformFoundation
import StreamTransport

/// The names of a request for its caller and in a distributed trace: the same from its first attempt to its last.
///
/// A value without an owner.
struct RequestIdentity: Sendable, Equatable {
    /// The caller's name for the request.
    let requestID: String
    /// The trace that it belongs to.
    let traceContext: ChappieTraceContext?

    /// Creates an identity; an invalid name, or none, is replaced by a random one.
    init(requestID: String? = nil, traceContext: ChappieTraceContext? = nil) {
        self.requestID = requestID.flatMap { Self.isSendable($0) ? $0 : nil } ?? UUID().uuidString.lowercased()
        self.traceContext = traceContext
    }

    /// Returns whether a name is printable ASCII of at most 128 bytes; a space is printable, but is not allowed at the
    /// ends of a field's value (RFC 9110 section 5.5).
    private static func isSendable(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...128).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
            && bytes.first != 0x20 && bytes.last != 0x20
    }

    /// The fields of a request or an upgrade.
    var fields: [HTTPField] {
        var fields = [HTTPField(Self.fieldName, self.requestID)]
        guard let traceContext = self.traceContext else { return fields }
        fields.append(HTTPField("traceparent", traceContext.traceparent))
        if let state = traceContext.tracestate { fields.append(HTTPField("tracestate", state)) }
        return fields
    }

    /// The members of `client_metadata` in a WebSocket's message: one upgrade serves many requests, so its fields
    /// cannot identify them.
    var metadata: [String: String] {
        var members = [Self.fieldName: self.requestID]
        members["ws_request_header_traceparent"] = self.traceContext?.traceparent
        members["ws_request_header_tracestate"] = self.traceContext?.tracestate
        return members
    }

    private static let fieldName = "x-client-request-id"
}
