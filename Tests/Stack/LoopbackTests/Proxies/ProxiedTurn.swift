import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// One turn through a proxy to a server of its own, as both ends saw it.
struct ProxiedTurn: Sendable {
    let outcome: StreamOutcome
    let log: [ChappieTestServer.RequestRecord]
    /// The server's host and port, as a proxy is asked for them.
    let authority: String

    /// Runs one; `proxyCertificate` is trusted beside the server's authority.
    static func run(
        through proxy: String, over wire: Wire, isSecure: Bool = false, proxyCertificate: String = "",
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> Self {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        if isSecure { configuration.tls = .init() }
        return try await withServer(configuration) { server in
            let authorities = (server.caPEM ?? "") + proxyCertificate
            let file = try AuthorityFile(authorities.isEmpty ? nil : authorities)
            defer { file.remove() }
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.alone
                    $0.tls.trust = file.trust
                    $0.proxy = .url(proxy)
                    change(&$0)
                }
            ).outcome()
            return Self(outcome: outcome, log: server.log, authority: "127.0.0.1:\(server.port)")
        }
    }

    /// The whole answer came, in one exchange over this transport, whose fields are those of a direct connection.
    func expectWhole(over wire: Wire, sourceLocation: SourceLocation = #_sourceLocation) {
        self.outcome.expectWhole(sourceLocation: sourceLocation)
        #expect(
            self.log.map(\.transport) == [wire == .webSocket ? .webSocket : .http], sourceLocation: sourceLocation)
        #expect(self.log.first?.value(of: "host") == self.authority, sourceLocation: sourceLocation)
        #expect(self.log.first?.value(of: "proxy-authorization") == nil, sourceLocation: sourceLocation)
    }
}
