import Foundation
import Testing

@testable import ChappieSignIn

/// The authorization request that a browser opens.
@Suite struct BrowserAuthorizationRequestTests {
    private static func request(_ server: ChappieAuthorizationServer) -> AuthorizationRequest {
        AuthorizationRequest(server: server, clientID: "client 1", originator: "chappie", port: 1_455)
    }

    private static func key() throws -> ProofKey {
        try ProofKey(SecureRandom { [UInt8](repeating: 0xFB, count: $0) })
    }

    private static func standard(_ authorization: String?) throws -> ChappieAuthorizationServer {
        let issuer = try #require(URL(string: "https://issuer.example"))
        return ChappieAuthorizationServer(
            issuer: issuer, authorization: try authorization.map { try #require(URL(string: $0)) },
            token: issuer.appending(path: "token"), scope: "openid a+b")
    }

    @Test func openAIRequestHasTheExpectedParametersInOrder() throws {
        let key = try Self.key()
        let url = try Self.request(.openAI).url(key)
        #expect(
            url.absoluteString
                == "https://auth.openai.com/oauth/authorize?response_type=code&client_id=client%201"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback"
                + "&scope=openid%20profile%20email%20offline_access%20api.connectors.read%20api.connectors.invoke"
                + "&code_challenge=\(key.challenge)&code_challenge_method=S256"
                + "&id_token_add_organizations=true&codex_cli_simplified_flow=true"
                + "&state=\(key.state)&originator=chappie")
        #expect(!url.absoluteString.contains(key.verifier))
    }

    @Test func standardServerReceivesOnlyStandardParameters() throws {
        let key = try Self.key()
        let url = try Self.request(Self.standard("https://issuer.example/authorize")).url(key)
        #expect(
            url.absoluteString
                == "https://issuer.example/authorize?response_type=code&client_id=client%201"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback&scope=openid%20a%2Bb"
                + "&code_challenge=\(key.challenge)&code_challenge_method=S256&state=\(key.state)")
    }

    @Test func itsOwnParametersAreAdded() throws {
        var server = try Self.standard("https://issuer.example/authorize")
        server.authorizationParameters = [ChappieEndpoint.Field(name: "prompt", value: "a&b")]
        let text = try Self.request(server).url(Self.key()).absoluteString
        #expect(text.contains("&code_challenge_method=S256&prompt=a%26b&state="))
        #expect(!text.contains("originator"))
    }

    /// RFC 6749 section 3.1.
    @Test func aQueryThatTheEndpointHasStays() throws {
        let text = try Self.request(Self.standard("https://issuer.example/a?tenant=1#x")).url(Self.key()).absoluteString
        #expect(text.hasPrefix("https://issuer.example/a?tenant=1&response_type=code&"))
        #expect(!text.contains("#"))
    }

    @Test(arguments: [nil, "http://issuer.example/authorize", "file:///tmp/x"])
    func anEndpointThatIsMissingOrUnencryptedIsAClearError(endpoint: String?) throws {
        let error = try #require(
            #expect(throws: ChappieAuthError.self) {
                try Self.request(Self.standard(endpoint)).url(Self.key())
            })
        guard case .unknown = error else {
            Issue.record("another error: \(error)")
            return
        }
    }
}
