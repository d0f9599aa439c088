// What a response goes over.
import CStreamScript
import Foundation

/// A way from the server to the client, and how many responses are on it at once.
struct Wire: Sendable, Equatable {
    /// The protocol, and whether it is compressed.
    enum Form: String, CaseIterable, Sendable {
        case webSocket = "websocket"
        case webSocketDeflate = "websocket-deflate"
        case eventStream = "sse"
        case eventStreamGzip = "sse-gzip"

        var isEventStream: Bool { self == .eventStream || self == .eventStreamGzip }
        var isCompressed: Bool { self == .webSocketDeflate || self == .eventStreamGzip }
    }

    let form: Form
    var isSecure = false
    var streamCount = 1

    /// All that are measured end to end.
    static let all = Form.allCases.flatMap { form in
        [false, true].flatMap { isSecure in
            [1, 100].map { Self(form: form, isSecure: isSecure, streamCount: $0) }
        }
    }

    /// The workload's name in the results.
    var name: String { "\(self.form.rawValue)-\(self.isSecure ? "tls" : "plain")-\(self.streamCount)" }

    /// What one response consists of when each has so many deltas: its pieces, frames or chunks, and their bytes.
    ///
    /// Of a compressed body only the pieces are known.
    func pieces(messageCount: Int) -> (count: Int, byteCount: Int) {
        let created = strlen(css_created()), completed = strlen(css_completed())
        var byteCount = messageCount * Int(CSS_MESSAGE_SIZE) + Int(created + completed)
        if self.form.isEventStream {
            // "event: ", "data: " and three line ends.
            let overhead = 7 + 6 + 3
            let edges = Int(strlen(css_created_type()) + strlen(css_completed_type())) + 2 * overhead
            byteCount += messageCount * (Int(strlen(css_delta_type())) + overhead) + edges
        }
        // The trailer of gzip has a chunk of its own.
        return (messageCount + 2 + (self.form == .eventStreamGzip ? 1 : 0), byteCount)
    }
}
