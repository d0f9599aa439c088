import EventSource
import Foundation
import WebSocketClient

/// The configurations of the clients' connections.
struct ChurnClients: Sendable {
    /// The message to which the server answers with events.
    static let message = #"{"type":"response.create","model":"m","input":"hi"}"#

    private let plain: URL
    private let secure: URL
    private let closed: URL
    private let authority: String
    private let threadCount: Int

    /// Takes the places of the servers; nothing listens at `closedPort` of 127.0.0.3.
    init(servers: ChurnServers, closedPort: UInt16, threadCount: Int) throws {
        guard let closed = URL(string: "http://127.0.0.3:\(closedPort)/") else { throw CocoaError(.fileReadUnknown) }
        self.plain = servers.plain
        self.secure = servers.secure
        self.closed = closed
        self.authority = servers.authority
        self.threadCount = threadCount
    }

    /// Returns the configuration of a WebSocket; nil for the path is that of the API.
    func webSocket(isSecure: Bool = false, path: String? = nil) -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration(url: self.url(isSecure: isSecure, path: path))
        configuration.tls.trust = .file(path: self.authority)
        configuration.proxy = .none
        configuration.serviceThreadCount = self.threadCount
        return configuration
    }

    /// Returns an event source whose request is a POST, which may be repeated or not.
    func eventSource(isSecure: Bool = false, path: String? = nil, isRepeated: Bool = false) -> EventSource {
        var request = EventSourceRequest(url: self.url(isSecure: isSecure, path: path))
        request.method = "POST"
        request.fields = [(name: "Content-Type", value: "application/json")]
        request.body = Array(#"{"model":"m","stream":true,"input":"hi"}"#.utf8)
        var configuration = self.configuration
        configuration.reconnection.resending = isRepeated ? .always : .never
        return EventSource(request, configuration: configuration)
    }

    /// Returns an event source that tries twice to reach a port without a listener.
    func unreachable() -> EventSource {
        var configuration = self.configuration
        configuration.reconnection.maximumAttempts = 1
        return EventSource(url: self.closed, configuration: configuration)
    }

    private var configuration: EventSourceConfiguration {
        var configuration = EventSourceConfiguration()
        configuration.reconnection.reconnectionTime = .zero
        configuration.reconnection.backoff = .zero
        configuration.tls.trust = .file(path: self.authority)
        configuration.proxy = .none
        configuration.serviceThreadCount = self.threadCount
        return configuration
    }

    private func url(isSecure: Bool, path: String?) -> URL {
        let base = isSecure ? self.secure : self.plain
        return base.appending(path: path ?? "responses")
    }
}
