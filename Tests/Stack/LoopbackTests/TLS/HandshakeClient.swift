import CTLSHandshake
import CTestServerTLS
import Dispatch
import Foundation
import Testing

/// A client of the transport's settings, one handshake at a time.
/// - Safety: OpenSSL's state is touched by one queue.
final class HandshakeClient: @unchecked Sendable {
    private let client: OpaquePointer
    private let queue = DispatchQueue(label: "client")

    /// Trusts the identities' authorities.
    init(of identities: ServerIdentity...) throws {
        let authorities = try TemporaryDirectory()
        let path = try authorities.write(identities.map(\.caPEM).joined(), to: "ca.pem")
        self.client = try #require(cth_client_create(path))
    }

    deinit { cth_client_free(self.client) }

    /// Performs one handshake over a socket pair; returns the client's verdict, and the name that the server received.
    ///
    /// A client that reads gets the tickets that a server of TLS 1.3 gives away; one that ends says goodbye.
    func handshake(
        with identity: ServerIdentity, host: String, port: UInt16 = 443, reads: Bool = true, ends: Bool = false
    ) async throws -> (client: cth_outcome, serverName: String?) {
        var sockets: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &sockets) == 0)
        defer { sockets.forEach { close($0) } }
        let (near, far) = (sockets[0], sockets[1])
        async let serverName = DispatchQueue(label: "server").blocking {
            defer { shutdown(far, CInt(SHUT_RDWR)) }
            return identity.accept(far)
        }
        let outcome = await self.queue.blocking {
            defer { shutdown(near, CInt(SHUT_RDWR)) }
            return cth_handshake(self.client, host, port, near, reads, ends)
        }
        return (outcome, await serverName)
    }
}

/// A test server's certificate, without the server.
/// - Safety: no property changes after `init`, and OpenSSL's context may be used by several threads.
final class ServerIdentity: @unchecked Sendable {
    private let identity: OpaquePointer

    /// `version` is the only one that is spoken, such as 0x0303 for TLS 1.2; 0 is 1.2 and 1.3.
    init?(names: String, commonName: String, version: CInt = 0) {
        let identity = names.withCString { names in
            commonName.withCString { commonName in
                var options = ctts_identity_options()
                options.names = names
                options.common_name = commonName
                options.version = version
                return ctts_identity_create(&options)
            }
        }
        guard let identity else { return nil }
        self.identity = identity
    }

    deinit { ctts_identity_free(self.identity) }

    var caPEM: String { String(cString: ctts_identity_ca_pem(self.identity)) }

    /// Performs a handshake and sends a byte; the name that the client sent, when it was complete.
    func accept(_ socket: CInt) -> String? {
        guard let connection = ctts_accept(self.identity, socket) else { return nil }
        defer { ctts_connection_free(connection) }
        ctts_write(connection, [0], 1)
        return ctts_server_name(connection).map { String(cString: $0) }
    }
}
