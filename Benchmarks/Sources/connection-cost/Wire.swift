// What a response goes over.

/// A way from the server to the client, and how many responses are on it at once.
struct Wire: Sendable, Equatable {
    /// The protocol, and whether it is compressed.
    enum Form: String, CaseIterable, Sendable {
        /// A message an event.
        case webSocket = "websocket"
        /// The same with permessage-deflate.
        case webSocketDeflate = "websocket-deflate"
        /// A chunk an event.
        case eventStream = "sse"
        /// The same with a body that is gzip.
        case eventStreamGzip = "sse-gzip"

        /// Whether it is the body of an answer, and no WebSocket.
        var isEventStream: Bool { self == .eventStream || self == .eventStreamGzip }
        /// Whether messages or body are compressed.
        var isCompressed: Bool { self == .webSocketDeflate || self == .eventStreamGzip }
    }

    /// The protocol, and whether it is compressed.
    let form: Form
    /// Whether TLS is below it.
    var isSecure = false
    /// How many responses there are at once.
    var streamCount = 1

    /// All that are measured end to end: those that other programs are measured over too.
    static let all = [
        Self(form: .webSocket), Self(form: .webSocket, isSecure: true), Self(form: .webSocket, streamCount: 100),
        Self(form: .webSocketDeflate), Self(form: .eventStream), Self(form: .eventStream, isSecure: true),
        Self(form: .eventStream, streamCount: 100), Self(form: .eventStreamGzip),
    ]

    /// The workload's name in the results.
    var name: String { "\(self.form.rawValue)-\(self.isSecure ? "tls" : "plain")-\(self.streamCount)" }
}
