import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// Tokens are sent only to their servers, and written only to the storage.
@Suite(.timeLimit(.minutes(10))) struct RefreshCanaryTests {
    private static let faults: [ChappieTestServer.SignIn.Answer?] = [
        nil, .refusal(statusCode: 401, body: #"{"error":{"code":"refresh_token_reused"}}"#), .dropped, .truncated,
        .garbage(byteCount: 100), .without(member: "access_token"),
    ]

    @Test(arguments: Wire.allCases, Self.faults)
    func linesErrorsAndReportsContainNoToken(
        over wire: Wire, fault: ChappieTestServer.SignIn.Answer?
    ) async throws {
        let change = { (configuration: inout ChappieTestServer.Configuration) in
            // One failure: what follows it is told by the next try.
            configuration.signIn.faults = fault.map { [.init(.refresh, $0, requests: 1...1)] } ?? []
        }
        try await RefreshFixture.run(change) { fixture in
            fixture.server.expireAccessTokens()
            let watched = WatchedTurns()
            let session = try fixture.session()
            let configuration = try fixture.configuration(over: wire) { configuration in
                watched.listen(to: &configuration)
                configuration.credential = { try await session.credential(for: $0) }
            }
            let client = Chappie.client(configuration: configuration)
            let outcome = await client.outcome()
            let canaries = try fixture.secrets()
            if let error = outcome.error { canaries.expectNone(in: error) }
            if let report = outcome.report {
                canaries.expectNone(in: report)
                canaries.expectNone(in: String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
            }
            canaries.expectNone(in: watched)
            canaries.expectNone(in: session)
            canaries.expectNone(in: client, isDeep: false)
            canaries.expectNone(in: try fixture.stored as Any)
            canaries.expectNone(in: try session.account() as Any)
            canaries.expectNone(in: fixture.storage, isDeep: false)
        }
    }
}

extension WatchedTurns {
    /// Listens to the turns of a client.
    func listen(to configuration: inout ChappieConfiguration) {
        var engine = ChappieTransportConfiguration(baseURL: configuration.endpoint.baseURL)
        self.listen(to: &engine)
        configuration.log = engine.log
        configuration.metrics = engine.metrics
    }
}
