// Names, defaults and facts of sign-in that programs rely on. This file uses no `@testable` import.
import ChappieSignIn
import Foundation
import Testing

/// Every case of the error, with the facts that a program may rely on.
private let rows: [(error: ChappieAuthError, tag: String, category: ChappieErrorCategory, isRetryable: Bool)] = [
    (.expiredDeviceCode, "auth.expired-device-code", .auth, false),
    (.cancelledSignIn, "auth.cancelled", .auth, false),
    (.networkFailure("The host cannot be reached."), "auth.network", .network, true),
    (.pollingTimeout, "auth.polling-timeout", .auth, false),
    (.callbackTimeout, "auth.callback-timeout", .auth, false),
    (.missingRefreshToken, "auth.missing-refresh-token", .auth, false),
    (.tokenExchangeFailed(statusCode: 400, body: "WORDS"), "auth.token-exchange.400", .auth, false),
    (.tokenExchangeFailed(statusCode: 401, body: "WORDS"), "auth.token-exchange.401", .auth, false),
    (.tokenExchangeFailed(statusCode: 403, body: "WORDS"), "auth.token-exchange.403", .auth, false),
    (.tokenExchangeFailed(statusCode: 404, body: "WORDS"), "auth.token-exchange.404", .validation, false),
    (.tokenExchangeFailed(statusCode: 429, body: "WORDS"), "auth.token-exchange.429", .rateLimit, true),
    (.tokenExchangeFailed(statusCode: 503, body: "WORDS"), "auth.token-exchange.503", .server, true),
    (.authorizationDenied("WORDS"), "auth.denied", .permission, false),
    (.secureRandomFailed(statusCode: 5), "auth.secure-random", .internal, false),
    (.invalidResponse, "auth.invalid-response", .server, false),
    (.unknown("There is no port."), "auth.unknown", .validation, false),
]

/// Fails to compile when a case is added or renamed.
private func name(of error: ChappieAuthError) -> String {
    switch error {
    case .expiredDeviceCode: "expiredDeviceCode"
    case .cancelledSignIn: "cancelledSignIn"
    case .networkFailure(_): "networkFailure"
    case .pollingTimeout: "pollingTimeout"
    case .callbackTimeout: "callbackTimeout"
    case .missingRefreshToken: "missingRefreshToken"
    case .tokenExchangeFailed(statusCode: _, body: _): "tokenExchangeFailed"
    case .authorizationDenied(_): "authorizationDenied"
    case .secureRandomFailed(statusCode: _): "secureRandomFailed"
    case .invalidResponse: "invalidResponse"
    case .unknown(_): "unknown"
    }
}

@Suite struct SignInContractTests {
    @Test func everyCaseHasItsFacts() {
        #expect(Set(rows.map { name(of: $0.error) }).count == 11)
        for row in rows {
            #expect(row.error.tag == row.tag)
            #expect(row.error.category == row.category)
            #expect(row.error.isRetryable == row.isRetryable)
        }
    }

    @Test func onlyANewSignInHelpsAfter400And401And403AndWithoutARefreshToken() {
        let tags = rows.filter(\.error.requiresReauthentication).map(\.tag)
        #expect(
            tags == [
                "auth.missing-refresh-token", "auth.token-exchange.400", "auth.token-exchange.401",
                "auth.token-exchange.403",
            ])
        for statusCode in [200, 301, 402, 404, 405, 407, 408, 409, 429, 500, 502, 503] {
            #expect(!ChappieAuthError.tokenExchangeFailed(statusCode: statusCode, body: "").requiresReauthentication)
        }
    }

    @Test func everyCaseHasASentenceFitForALog() {
        for row in rows {
            let error: any LocalizedError = row.error
            #expect(row.error.localizedDescription == error.errorDescription)
            #expect(row.error.localizedDescription == row.error.safeDescription)
            #expect(row.error.localizedDescription.hasSuffix("."))
            for text in [row.error.localizedDescription, "\(row.error)", String(reflecting: row.error)] {
                #expect(!text.contains("WORDS"))
                #expect(!text.contains("\n"))
            }
            #expect(error.failureReason?.isEmpty == false)
            #expect(error.recoverySuggestion?.isEmpty == false)
            var dumped = ""
            dump(row.error, to: &dumped)
            #expect(!dumped.contains("WORDS"))
        }
    }

    @Test func serverMessageIsAvailableAsUnsafeMessage() {
        #expect(ChappieAuthError.tokenExchangeFailed(statusCode: 400, body: "words").unsafeMessage == "words")
        #expect(ChappieAuthError.authorizationDenied("words").unsafeMessage == "words")
        #expect(ChappieAuthError.invalidResponse.unsafeMessage == nil)
    }

    @Test func signInConfigurationHasDocumentedDefaults() {
        let signIn = ChappieConfiguration().signIn
        #expect(signIn.clientID == nil)
        #expect(signIn.server == .openAI)
        #expect(signIn.account == "default")
        #expect(signIn.originator == "chappie")
        #expect(signIn.callbackPorts == [1_455, 1_457])
        #expect(signIn.callbackTimeout == .seconds(600))
        #expect(signIn.deviceCodeTimeout == .seconds(900))
        #expect(signIn.refreshLead == .seconds(300))
        #expect(signIn.lockTimeout == .seconds(60))
        #expect(ChappieConfiguration().credentialStorage == nil)
    }

    @Test func aSessionNeedsNoArgument() throws {
        var configuration = ChappieConfiguration()
        configuration.credentialStorage = ChappieMemoryCredentialStorage()
        let make: (ChappieConfiguration) -> ChappieAuthSession = { Chappie.authSession(configuration: $0) }
        #expect(try make(configuration).accounts().isEmpty)
        #expect(try make(configuration).account() == nil)
        let session = Chappie.authSession()
        #expect(type(of: session) == ChappieAuthSession.self)
    }

    @Test func noClientIDIsBuiltIn() async throws {
        var configuration = ChappieConfiguration()
        configuration.signIn.clientID = ""
        configuration.credentialStorage = ChappieMemoryCredentialStorage()
        let session = Chappie.authSession(configuration: configuration)
        let error = await #expect(throws: ChappieAuthError.self) { _ = try await session.startDeviceCodeSignIn() }
        #expect(error?.safeDescription.contains("There is no client ID") == true)
    }
}
