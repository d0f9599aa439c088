// The probe server: the far end of an examination of a path.
//
// Owned by its creator. Its threads end in `stop()`.

/// A server that a person runs beyond a path, so that an examination can measure what an API does not answer.
///
/// It returns the messages of WebSockets, sends event streams at a known pace, answers after a silence, and tells what
/// it has seen of a request. It opens no connection and sends nothing to anyone but the peer of a connection, at most
/// `ProbeLimits` of it.
package final class ProbeServer: Sendable {
    /// The configuration of a probe server.
    package struct Configuration: Sendable {
        /// The numeric address to listen on.
        ///
        /// Default 127.0.0.1.
        package var address = "127.0.0.1"
        /// The TCP port; 0 takes any free one.
        package var port: UInt16 = 0
        /// The TLS options, with a generated certificate; nil without TLS.
        package var tls: ChappieTestServer.TLSOptions?
        /// Receives a line for each request, without addresses and values of fields.
        package var logLine: (@Sendable (String) -> Void)?

        /// Creates the defaults: plain HTTP on loopback.
        package init() {}
    }

    private let acceptor: Acceptor
    private let identity: TLSIdentity?
    private let address: String

    /// The TCP port.
    package let port: Int

    /// Binds, listens and starts to serve; throws `ChappieTestServer.StartError`.
    package init(configuration: Configuration = Configuration()) throws {
        // A server without a script, whose WebSockets have compression.
        var served = ChappieTestServer.Configuration()
        served.tls = configuration.tls
        served.messageCompression = .deflate(.init())
        served.maximumMessageByteCount = ProbeLimits.messageByteCount
        served.maximumRecordCount = 1
        let parts = try ServerParts(served)
        parts.identity?.noteHellos()
        self.identity = parts.identity
        self.address = configuration.address
        let logLine = configuration.logLine
        self.acceptor = try Acceptor(
            address: configuration.address, port: configuration.port, limits: ProbeLimits.connections,
            service: .init(begin: { 0 }) { stream, handle, _ in
                ProbeThread(parts: parts, stream: stream, handle: handle, logLine: logLine).run()
            })
        self.port = self.acceptor.port
    }

    deinit { self.stop() }

    /// Returns whether a text is a numeric address that can be listened on.
    package static func isAddress(_ text: String) -> Bool { ListeningSocket.isAddress(text) }

    /// The base URL for clients, such as `http://127.0.0.1:8080/v1`.
    package var baseURL: String {
        let host = self.address.utf8.contains(UInt8(ascii: ":")) ? "[\(self.address)]" : self.address
        return "\(self.identity == nil ? "http" : "https")://\(host):\(self.port)/v1"
    }

    /// The CA that signed the certificate, as PEM text; nil without TLS.
    package var caPEM: String? { self.identity?.caPEM }

    /// Closes the listener and all connections, and returns when every thread has ended.
    package func stop() { self.acceptor.stop() }
}
