import Foundation
import Testing

@testable import ChappieSignIn
@testable import ChappieTransport

/// The permitted URLs of authorization requests, and the part of an answer that an error keeps.
@Suite struct AuthorizationClientTests {
    @Test(arguments: [
        "https://issuer.example/token", "HTTPS://issuer.example", "http://127.0.0.1:8080/token",
        "http://localhost/token", "http://LOCALHOST:1/", "http://[::1]:8080/token",
    ])
    func encryptedAddressesAndThisMachineAreAllowed(url: String) throws {
        try AuthorizationClient.check(#require(URL(string: url)))
    }

    @Test(arguments: [
        "http://issuer.example/token", "http://127.0.0.1.issuer.example/", "http://localhost.example/",
        "http://10.0.0.1/", "http://0.0.0.0/", "http://127.0.0.1@issuer.example/", "ftp://127.0.0.1/", "file:///tmp/x",
        "ws://127.0.0.1/", "//127.0.0.1/", "token",
    ])
    func unencryptedRemoteURLIsRefusedBeforeSending(url: String) async throws {
        let url = try #require(URL(string: url))
        let client = AuthorizationClient(ChappieConfiguration())
        let error = await #expect(throws: ChappieAuthError.self) {
            try await client.post(.form([(name: "refresh_token", value: "secret")]), to: url)
        }
        guard case .unknown(let words) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(words.contains("https"))
    }

    private static let grants: [(status: Int, needsSignIn: Bool)] = [
        (400, true), (401, true), (403, true), (404, false), (429, false), (500, false), (503, false),
    ]

    @Test(arguments: grants)
    func refusalKeepsItsStatusCodeAndWhetherANewSignInIsRequired(status: Int, needsSignIn: Bool) {
        let answer = FetchedDocument(statusCode: status, fields: [], body: Array("no".utf8))
        let error = #expect(throws: ChappieAuthError.self) { try AuthorizationClient.grant(answer, secrets: []) }
        #expect(error == .tokenExchangeFailed(statusCode: status, body: "no"))
        #expect(error?.requiresReauthentication == needsSignIn)
    }

    @Test func sentSecretsAreRemovedFromErrors() throws {
        let secrets = ["code/with+signs=", "verifier-123456"]
        let body = #"code/with+signs= code%2Fwith%2Bsigns%3D code\/with+signs= verifier-123456 words"#
        let answer = FetchedDocument(statusCode: 400, fields: [], body: Array(body.utf8))
        let error = #expect(throws: ChappieAuthError.self) { try AuthorizationClient.grant(answer, secrets: secrets) }
        #expect(error?.unsafeMessage == "[redacted] [redacted] [redacted] [redacted] words")
    }

    @Test func aSecretThatRepeatsItselfIsTakenOutWhole() {
        #expect(AuthorizationClient.words(Array("x abcabcabc".utf8), without: ["abcabcabc"]) == "x [redacted]")
    }

    /// The transport keeps a limited part of a refusal, wherever that ends.
    @Test func aSecretThatWasCutIsNotRepeatedEither() throws {
        let secret = "verifier-0123456789"
        for count in 6..<secret.count {
            let body = [UInt8](repeating: 0x2E, count: 4_096 - count) + Array(secret.utf8)
            let answer = FetchedDocument(statusCode: 400, fields: [], body: body)
            let error = #expect(throws: ChappieAuthError.self) {
                try AuthorizationClient.grant(answer, secrets: [secret, "another-secret"])
            }
            #expect(error?.unsafeMessage == String(repeating: ".", count: 4_096 - count) + "[redacted]")
        }
    }

    /// A server may make a secret as long as its answers, and then repeat the beginning of it.
    @Test(.timeLimit(.minutes(10))) func redactionOfAMebibyteSecretTakesLinearTime() {
        let secret = String(repeating: "a", count: 1 << 20)
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 4_096)
        #expect(AuthorizationClient.words(text, without: [secret]) == "[redacted]")
        #expect(AuthorizationClient.words(text.dropLast() + [0x2E], without: [secret]).utf8.count == 4_096)
    }

    @Test func anErrorKeepsFourKibibytes() throws {
        let answer = FetchedDocument(statusCode: 400, fields: [], body: [UInt8](repeating: 0x61, count: 100_000))
        let error = #expect(throws: ChappieAuthError.self) { try AuthorizationClient.grant(answer, secrets: []) }
        #expect(error?.unsafeMessage?.count == 4_096)
    }

    @Test func answerWithoutAGrantIsInvalid() {
        let answer = FetchedDocument(statusCode: 200, fields: [], body: Array("<html>".utf8))
        #expect(throws: ChappieAuthError.invalidResponse) { try AuthorizationClient.grant(answer, secrets: []) }
    }

    /// Everything but the unreserved characters, as `application/x-www-form-urlencoded` allows.
    @Test func aFormIsEncoded() {
        #expect(PercentEncoding.encode("a b+c&d=e/f%é~-._") == "a%20b%2Bc%26d%3De%2Ff%25%C3%A9~-._")
    }

    // MARK: Refusals

    @Test(arguments: [
        (#"{"error":"invalid_grant","error_description":"m"}"#, "invalid_grant", "m"),
        (#"{"error":{"code":"refresh_token_reused","message":"m"}}"#, "refresh_token_reused", "m"),
        (#"{"code":"access_denied","message":"m"}"#, "access_denied", "m"),
        (#"{"error":{"message":"m"},"code":"access_denied"}"#, "access_denied", "m"),
        (#"{"error":{"code":null},"code":"access_denied"}"#, "access_denied", nil),
        (#"{"error":{"message":"m"}}"#, nil, "m"), (#"{"error":""}"#, nil, nil), (#"{"error":null}"#, nil, nil),
        (#"{"error":7}"#, nil, nil), ("[]", nil, nil), ("<html>", nil, nil), ("", nil, nil),
    ])
    func theCodeOfARefusalIsInOneOfThreePlaces(body: String, code: String?, message: String?) {
        let refusal = AuthorizationRefusal(body: Array(body.utf8))
        #expect(refusal.code == code && refusal.message == message)
    }

    @Test func messageHasNoControlCharactersAndALimit() {
        let message = "\u{1B}[31mred\r\n\u{7}\u{9B}\u{202E}\u{2028}é" + String(repeating: "x", count: 1_000)
        let refusal = AuthorizationRefusal(code: "c", message: message)
        #expect(refusal.message == "[31mredé" + String(repeating: "x", count: 492))
        #expect(AuthorizationRefusal(code: "c", message: "\n\u{1B}").message == nil)
    }

    @Test(arguments: [
        ("invalid_grant", true), ("a.b-c9", true), ("Words of a server", false), ("", false), ("<b>", false),
        (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false), ("\u{1B}", false),
    ])
    func onlyWordLikeErrorCodesAreShown(code: String, isShown: Bool) {
        #expect((AuthorizationRefusal(code: code, message: nil).shownCode != nil) == isShown)
    }
}
