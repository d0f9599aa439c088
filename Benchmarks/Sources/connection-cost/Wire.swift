// The transport of a response.

/// The transport between server and client, and the number of simultaneous responses.
struct Wire: Sendable {
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
        /// A chunk an event, of Chat Completions; the others are of the Responses API.
        case chatEventStream = "chat"

        /// Whether it is the body of an HTTP response.
        var isEventStream: Bool { self != .webSocket && self != .webSocketDeflate }
        /// Whether messages or body are compressed.
        var isCompressed: Bool { self == .webSocketDeflate || self == .eventStreamGzip }
    }

    /// The protocol, and whether it is compressed.
    let form: Form
    /// Whether it is over TLS.
    var isSecure = false
    /// The number of simultaneous responses.
    var streamCount = 1

    /// All wires that are measured end to end, which peers are measured over too.
    static let all = [
        Self(form: .webSocket), Self(form: .webSocket, isSecure: true), Self(form: .webSocket, streamCount: 100),
        Self(form: .webSocketDeflate), Self(form: .eventStream), Self(form: .eventStream, isSecure: true),
        Self(form: .eventStream, streamCount: 100), Self(form: .eventStreamGzip), Self(form: .chatEventStream),
    ]

    /// The workload's name in the results.
    var name: String { "\(self.form.rawValue)-\(self.isSecure ? "tls" : "plain")-\(self.streamCount)" }
}
