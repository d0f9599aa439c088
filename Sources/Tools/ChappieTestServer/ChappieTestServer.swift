// The server's public interface: start, address, log, stop.
//
// Owned by its creator. Its accept thread and its connection threads end in `stop()`.
import PlatformC
public import PlatformFoundation

/// A server of the Responses API on 127.0.0.1 that answers from a script, over a WebSocket or as an event stream, with
/// configurable faults.
///
/// ```swift
/// var configuration = ChappieTestServer.Configuration()
/// configuration.faults = [.init(.cut(afterByte: 700), attempts: 1...1)]
/// let server = try ChappieTestServer(configuration: configuration)
/// defer { server.stop() }
/// // … point a client at server.baseURL …
/// _ = await server.reached(.finishedAttempts(2))
/// ```
///
/// Both transports are on one port: `GET …/responses` with `Upgrade: websocket` and `POST …/responses`, below `/v1`
/// and below `/backend-api/codex`. A response with `background`, `stream` and `store` goes on without its connection,
/// and `GET /v1/responses/{id}?stream=true&starting_after=N` streams the rest of it. `POST /v1/chat/completions`
/// and `POST /v1/messages` are answered from the same script in their own events, or whole without `stream`; faults count
/// the script's events there too, some of which have no event of their own, and recorded events are sent as they are. `GET …/models` lists
/// the model `scripted`, and `GET /health` is answered 200 without a credential, as gateways expect it of an inference
/// server. It uses blocking sockets, a thread for each connection, and a protocol layer of its own, so that it shares
/// no code with the clients that it tests.
public final class ChappieTestServer: Sendable {
    /// The reason for which a server or a fault proxy did not start.
    package enum StartError: Error, Hashable, Sendable {
        /// No socket could be bound and listened on; the value is `errno`.
        case cannotListen(code: Int32)
        /// Keys or certificates could not be made.
        case noCertificate
        /// The system has no thread left.
        case noThread
    }

    private let acceptor: Acceptor
    let parts: ServerParts

    /// The TCP port.
    public let port: Int

    /// Binds, listens and starts to serve; throws when a socket, a thread or a certificate cannot be had.
    public init(configuration: Configuration = Configuration()) throws {
        let parts = try ServerParts(configuration)
        self.parts = parts
        self.acceptor = try Acceptor(
            port: configuration.port,
            service: .init(begin: { parts.log.beginConnection() }) { stream, _, connection in
                ConnectionThread(parts: parts, stream: stream, connection: connection).run()
            })
        self.port = self.acceptor.port
    }

    deinit { self.stop() }

    /// The base URL for clients, such as `http://127.0.0.1:8080/v1`.
    public var baseURL: String { "\(self.origin)/v1" }

    /// The base URL for clients, as a URL.
    public var url: URL {
        guard let url = URL(string: self.baseURL) else { preconditionFailure("a port makes no invalid URL") }
        return url
    }

    /// The address of the server itself, such as `http://127.0.0.1:8080`, which is the issuer for clients.
    public var origin: String { "\(self.parts.identity == nil ? "http" : "https")://127.0.0.1:\(self.port)" }

    /// The CA that signed the certificate, as PEM text; nil without TLS.
    public var caPEM: String? { self.parts.identity?.caPEM }

    /// The server's certificate, as PEM text; nil without TLS.
    package var certificatePEM: String? { self.parts.identity?.certificatePEM }

    /// A client's certificate of the same CA and its key, as PEM texts; nil when none is required.
    package var clientCertificate: (certificatePEM: String, keyPEM: String)? { self.parts.identity?.client }

    /// The records of the newest 10,000 attempts.
    public var log: [RequestRecord] { self.parts.log.records }

    /// The number of TCP connections that the server has accepted.
    public var connectionCount: Int { self.parts.log.connectionCount }

    /// Removes the records.
    ///
    /// The counts of attempts and milestones continue.
    public func clearLog() { self.parts.log.removeRecords() }

    /// Closes the listener and all connections, and returns when every thread has ended.
    ///
    /// May be called again.
    public func stop() {
        self.acceptor.stop()
        self.parts.log.milestones.stop()
    }

    /// Suspends until a milestone is reached; returns false when the server stops or the task is cancelled first.
    @discardableResult
    public func reached(_ milestone: Milestone) async -> Bool { await self.parts.log.milestones.wait(for: milestone) }

    /// Blocks until a milestone is reached; returns false when the server stops first.
    ///
    /// It is for threads of a test; tasks use `reached(_:)`.
    @discardableResult
    package func waitBlocking(for milestone: Milestone) -> Bool {
        self.parts.log.milestones.waitBlocking(for: milestone)
    }
}
