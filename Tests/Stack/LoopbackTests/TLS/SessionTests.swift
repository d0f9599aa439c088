import CTLSHandshake
import Testing

/// Resumption of sessions.
///
/// A server gives two tickets away in a handshake of TLS 1.3, and one in a handshake that resumes a session.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
    private static let names = "DNS:*.example.test,IP:127.0.0.1"
    private static let identity = ServerIdentity(names: Self.names, commonName: "sessions")

    /// Returns whether each of the handshakes has resumed a session.
    private func resumptions(_ servers: [(host: String, port: UInt16)]) async throws -> [Bool] {
        let identity = try #require(Self.identity)
        let client = try HandshakeClient(of: identity)
        var resumptions: [Bool] = []
        for (host, port) in servers {
            let outcome = try await client.handshake(with: identity, host: host, port: port).client
            #expect(outcome.is_established == 1)
            resumptions.append(outcome.is_resumed == 1)
        }
        return resumptions
    }

    @Test func aSessionBelongsToOneNameAndPort() async throws {
        #expect(
            try await self.resumptions([
                ("a.example.test", 443), ("A.example.test.", 443), ("b.example.test", 443), ("a.example.test", 444),
                ("127.0.0.1", 443), ("a.example.test", 443), ("127.0.0.1", 443), ("b.example.test", 443),
            ]) == [false, true, false, false, false, true, true, true])
    }

    /// The oldest make room: 32 are kept, so those of the last 16 servers.
    @Test func sessionsOfTheLastSixteenServersAreKept() async throws {
        let servers = (0..<20).map { (host: "a.example.test", port: UInt16(1000 + $0)) }
        let resumptions = try await self.resumptions(servers + servers.suffix(16) + servers.prefix(1))
        #expect(resumptions == Array(repeating: false, count: 20) + Array(repeating: true, count: 16) + [false])
    }

    /// A server that issues ever more sessions, and resumes none, does not displace those of others.
    @Test func sessionsOfOneServerDoNotDisplaceThoseOfOthers() async throws {
        let one = try #require(Self.identity)
        let other = try #require(ServerIdentity(names: Self.names, commonName: "others"))
        let client = try HandshakeClient(of: one, other)
        _ = try await client.handshake(with: one, host: "b.example.test")
        for _ in 0..<20 {
            // Two machines behind one name, each with keys of its own for its tickets.
            for identity in [one, other] {
                _ = try await client.handshake(with: identity, host: "a.example.test")
            }
        }
        #expect(try await client.handshake(with: one, host: "b.example.test").client.is_resumed == 1)
    }

    /// An observer of a ticket's second use could link both connections to one client (RFC 8446 appendix C.4).
    @Test(arguments: [(0x0304, [1, 1, 0]), (0x0303, [1, 1, 1])] as [(CInt, [Int32])], [true, false])
    func aTicketOfTLS13IsUsedOnce(example: (version: CInt, resumptions: [Int32]), ends: Bool) async throws {
        let identity = try #require(ServerIdentity(names: Self.names, commonName: "one", version: example.version))
        let client = try HandshakeClient(of: identity)
        _ = try await client.handshake(with: identity, host: "a.example.test")
        var resumptions: [Int32] = []
        for _ in 0..<3 {
            let outcome = try await client.handshake(with: identity, host: "a.example.test", reads: false, ends: ends)
            resumptions.append(outcome.client.is_resumed)
        }
        #expect(resumptions == example.resumptions)
    }
}
