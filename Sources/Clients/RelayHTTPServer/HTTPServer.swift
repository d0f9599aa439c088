// A server: what a program starts and stops.
// Its connections belong to the service thread.

import CLibwebsocketsShim
import LibwebsocketsTransport
import PlatformC
import StreamTransport

/// An HTTP/1.1 and WebSocket server.
///
/// All servers of a process share one service thread, which starts with the first and sleeps while it is idle.
package final class HTTPServer: Sendable {
    /// Answers a request, by its exchange, at once or later and on any thread.
    ///
    /// It is called on the service thread and must return soon: no connection is served meanwhile.
    package typealias Handler = @Sendable (HTTPServerRequest, HTTPExchange) -> Void

    /// The reason for which a server cannot start.
    package enum Failure: Error, Equatable, Sendable {
        /// An address that is not numeric.
        case invalidAddress(String)
        /// The system does not let the server listen; the `errno`, such as `EADDRINUSE` or `EACCES`.
        case cannotListen(errno: CInt)
        /// The certificate or its key cannot be read, or they do not belong together.
        case invalidCertificate
        /// The system has no memory, no thread, or no descriptors.
        case resourcesExhausted
    }

    /// The port on which the server listens.
    package let port: UInt16
    private let core: HTTPServerCore
    private let thread: ServerThread

    private init(port: UInt16, core: HTTPServerCore, thread: ServerThread) {
        self.port = port
        self.core = core
        self.thread = thread
    }

    /// Listens; connections are accepted when it returns, until `stop(within:)`.
    package static func start(
        _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(), handler: @escaping Handler
    ) async throws(Failure) -> HTTPServer {
        let tlsContext = try configuration.tls.map(Self.makeTLSContext)
        var port: UInt16 = 0
        let descriptor = clws_listen(configuration.address, configuration.port, Self.backlog, &port)
        guard descriptor >= 0 else {
            if let context = tlsContext { clws_tls_context_free(context.pointer) }
            throw descriptor == -EINVAL
                ? .invalidAddress(configuration.address) : .cannotListen(errno: -descriptor)
        }
        let thread = ServerThread.shared()
        let core = HTTPServerCore(configuration: configuration, handler: handler, tlsContext: tlsContext)
        let isListening = await withCheckedContinuation { continuation in
            let command = ServerCommand.listen(core, descriptor: descriptor, continuation)
            if !thread.post(command) { continuation.resume(returning: false) }
        }
        guard isListening else {
            clws_socket_close(descriptor, false)
            throw .resourcesExhausted
        }
        return HTTPServer(port: port, core: core, thread: thread)
    }

    /// The connections that the system accepts before the service thread does.
    private static let backlog: CInt = 1_024

    private static func makeTLSContext(
        _ files: HTTPServerConfiguration.TLSFiles
    ) throws(Failure) -> HTTPServerCore.TLSContext {
        var fault = clws_tls_context_fault.none
        if let context = clws_tls_context_create_for_server(files.certificateChain, files.privateKey, &fault) {
            return HTTPServerCore.TLSContext(pointer: context)
        }
        throw fault == .certificate ? .invalidCertificate : .resourcesExhausted
    }

    /// Stops accepting connections, lets running exchanges end within the grace period, and closes what is left: a
    /// WebSocket with code 1001, any other connection at once.
    ///
    /// It returns when no connection is left. Further calls wait as well.
    package func stop(within gracePeriod: Duration) async {
        await withCheckedContinuation { continuation in
            if !self.thread.post(.stop(self.core, by: .now + gracePeriod, continuation)) { continuation.resume() }
        }
    }

    /// The number of connections, those included that are being closed.
    package var connectionCount: Int { self.core.connectionCount.withLock { $0 } }
}

/// The state that the connections of one server share.
final class HTTPServerCore: Sendable {
    /// The shim's TLS context.
    /// - Safety: it is only given to the shim on the service thread once it has been made.
    struct TLSContext: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    let configuration: HTTPServerConfiguration
    let handler: HTTPServer.Handler
    let tlsContext: TLSContext?
    /// The number of connections, for readers on any thread; the service thread changes it.
    let connectionCount = LockedValue(0)

    init(
        configuration: HTTPServerConfiguration, handler: @escaping HTTPServer.Handler, tlsContext: TLSContext?
    ) {
        self.configuration = configuration
        self.handler = handler
        self.tlsContext = tlsContext
    }

    // The last connection, which refers to the core, is gone: the context has no connections.
    deinit { if let context = self.tlsContext { clws_tls_context_free(context.pointer) } }
}
