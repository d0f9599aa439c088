import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The socket options about the peer of each socket.
@Suite(.timeLimit(.minutes(10))) struct TransportTCPKeepAliveTests {
    /// The system's settings of one socket.
    private struct Settings: Equatable {
        var isKeptAlive: CInt = 0
        var idleSeconds: CInt = 0
        var probeSeconds: CInt = 0
        var probeCount: CInt = 0
        var userTimeoutMilliseconds: CInt = 0

        /// Those of the socket of this process that is connected to a port of the loopback interface; nil without one.
        init?(connectedTo port: UInt16) {
            let descriptor = (0..<4096).first { Self.remotePort(of: $0) == port }
            guard let descriptor else { return nil }
            self.isKeptAlive = Self.option(SO_KEEPALIVE, SOL_SOCKET, of: descriptor)
            self.idleSeconds = Self.option(TCP_KEEPIDLE, of: descriptor)
            self.probeSeconds = Self.option(TCP_KEEPINTVL, of: descriptor)
            self.probeCount = Self.option(TCP_KEEPCNT, of: descriptor)
            self.userTimeoutMilliseconds = Self.option(TCP_USER_TIMEOUT, of: descriptor)
        }

        init(_ values: [CInt]) {
            self.isKeptAlive = 1
            self.idleSeconds = values[0]
            self.probeSeconds = values[1]
            self.probeCount = 2
            self.userTimeoutMilliseconds = values[2]
        }

        private static func remotePort(of descriptor: CInt) -> UInt16? {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutableBytes(of: &address) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { getpeername(descriptor, $0.baseAddress, &length) }
            }
            return code == 0 && address.sin_family == AF_INET ? UInt16(bigEndian: address.sin_port) : nil
        }

        private static func option(_ name: CInt, _ level: CInt = CInt(IPPROTO_TCP), of descriptor: CInt) -> CInt {
            var value: CInt = -1
            var length = socklen_t(MemoryLayout<CInt>.size)
            getsockopt(descriptor, level, name, &value, &length)
            return value
        }
    }

    static let exchanges: [TransportRequest.Exchange] = [
        .get, .post(body: [1]), .webSocket(offersCompression: false),
    ]

    private static func setTimes(_ timeouts: inout TransportTimeouts) {
        timeouts.pingInterval = .seconds(7)
        timeouts.pongTimeout = .seconds(4)
    }

    @Test(arguments: Self.exchanges)
    func peerOfEveryExchangeIsWatchedByTCP(_ exchange: TransportRequest.Exchange) async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(exchange) { Self.setTimes(&$0.timeouts) }
        _ = await peer.read(until: "\r\n\r\n")
        #expect(Settings(connectedTo: server.port) == Settings([7, 2, 11_000]))
        connection.cancel()
    }

    /// Layers below the request may wait for a peer that has gone, too.
    @Test(arguments: ["http", "https", "socks5h"], [false, true])
    func proxyIsWatchedFromTheFirstByteOn(_ scheme: String, isSecure: Bool) async throws {
        let server = try RawServer()
        let endpoint = TransportEndpoint(isSecure: isSecure, host: "origin.invalid", port: 4433, target: "/")
        var request = TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: false))
        Self.setTimes(&request.timeouts)
        let proxies = ProxyPolicy.url("\(scheme)://127.0.0.1:\(server.port)")
        let connection = LibwebsocketsTransport(proxies: proxies).connect(request)
        let peer = try await server.accept()
        _ = await peer.read(count: 3)
        #expect(Settings(connectedTo: server.port) == Settings([7, 2, 11_000]))
        connection.cancel()
    }

    @Test(arguments: Self.exchanges)
    func peerIsNotWatchedWithoutPings(_ exchange: TransportRequest.Exchange) async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(exchange) { $0.timeouts.pingInterval = nil }
        _ = await peer.read(until: "\r\n\r\n")
        let settings = try #require(Settings(connectedTo: server.port))
        #expect(settings.isKeptAlive == 0)
        #expect(settings.userTimeoutMilliseconds == 0)
        connection.cancel()
    }
}
