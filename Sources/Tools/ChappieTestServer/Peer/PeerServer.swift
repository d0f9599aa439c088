// A server without a script: its user answers each request.
//
// Owned by its creator. Its threads end in `stop()`.

/// A server on 127.0.0.1 whose user answers each request in a closure: with the messages of a WebSocket, with an event
/// stream, or with a status code.
///
/// It is for tests of the clients that know no API, where the answers of `ChappieTestServer` do not fit.
package final class PeerServer: Sendable {
    private let acceptor: Acceptor
    private let identity: TLSIdentity?

    /// The TCP port.
    package let port: Int

    /// Binds, listens and starts to serve.
    ///
    /// - Parameters:
    ///   - tls: the TLS options, with a generated certificate; nil without TLS.
    ///   - pingInterval: the interval of pings on a WebSocket while the closure waits for a message; nil is never.
    ///   - answer: answers a request, on the connection's thread; the connection ends with it. It rethrows what the
    ///     peer throws, and throws nothing else.
    /// - Throws: `ChappieTestServer.StartError`.
    package init(
        tls: ChappieTestServer.TLSOptions?, pingInterval: Duration? = nil,
        answer: @escaping @Sendable (ServedPeer) throws -> Void
    ) throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.tls = tls
        configuration.messageCompression = .deflate(.init())
        configuration.pingInterval = pingInterval
        configuration.maximumRecordCount = 1_000
        let parts = try ServerParts(configuration)
        self.identity = parts.identity
        self.acceptor = try Acceptor(
            port: 0,
            service: .init(begin: { parts.log.beginConnection() }) { stream, _, connection in
                Self.serve(stream, connection, parts, answer)
            })
        self.port = self.acceptor.port
    }

    deinit { self.stop() }

    /// The CA that signed the certificate, as PEM text; nil without TLS.
    package var caPEM: String? { self.identity?.caPEM }

    /// Closes the listener and all connections, and returns when every thread has ended.
    package func stop() { self.acceptor.stop() }

    /// Serves one request, and ends the connection.
    private static func serve(
        _ stream: ByteStream, _ connection: Int, _ parts: ServerParts, _ answer: (ServedPeer) throws -> Void
    ) {
        var end = ConnectionEnd.finished
        do {
            if let identity = parts.identity { try stream.startTLS(identity) }
            try answer(try ServedPeer(stream, connection: connection, parts: parts))
        } catch {
            end = error as? ConnectionEnd ?? .peerGone
        }
        stream.end(end)
    }
}
