// Fixtures of the keeper's tests: a storage, a clock, and a server with answers of the test.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieSignIn
@testable import ChappieTransport

/// A keeper of one credential, whose server, storage and clock the test controls.
final class KeeperFixture: Sendable {
    /// The behaviour of a server.
    enum Answer: Sendable {
        case status(Int, String)
        case failure(ChappieAuthError)
    }

    let storage: any ChappieCredentialStorage
    let clock = StorageClock()
    let keeper: CredentialKeeper
    private let asked: LockedValue<[[String: String]]>

    /// The posted parameters, in order, with the coding and the URL under names of their own.
    var requests: [[String: String]] { self.asked.withLock { $0 } }

    /// Creates a keeper; `answer` receives the request's number, from 1.
    ///
    /// `keeperClock` takes the place of the fixture's, whose sleeps end at once, so that a time limit may pass before an
    /// answer comes.
    init(
        storage: any ChappieCredentialStorage = ChappieMemoryCredentialStorage(), keeperClock: ClientClock? = nil,
        answer: @escaping @Sendable (Int) async -> Answer = { .rotation($0) },
        changing change: (inout ChappieSignInConfiguration) -> Void = { _ in }
    ) throws {
        let issuer = try #require(URL(string: "https://issuer.example"))
        var configuration = ChappieSignInConfiguration(clientID: "client", server: .openAI(issuer: issuer))
        change(&configuration)
        let asked = LockedValue<[[String: String]]>([])
        self.asked = asked
        self.storage = storage
        let clock = keeperClock ?? self.clock.clock
        self.keeper = CredentialKeeper(configuration: configuration, storage: storage, clock: clock) {
            body, url throws(ChappieAuthError) in
            let number = asked.withLock { asked in
                asked.append(Self.record(body, url))
                return asked.count
            }
            switch await answer(number) {
            case .status(let code, let text):
                return FetchedDocument(statusCode: code, fields: [], body: Array(text.utf8))
            case .failure(let error): throw error
            }
        }
    }

    private static func record(_ body: AuthorizationClient.Body, _ url: URL) -> [String: String] {
        let (coding, parameters) =
            switch body {
            case .form(let parameters): ("form", parameters)
            case .json(let parameters): ("json", parameters)
            }
        let own = Dictionary(parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        return own.merging(["coding": coding, "url": url.absoluteString]) { $1 }
    }

    /// The stored credential.
    var stored: ChappieStoredCredential? { try? self.storage.credential(of: "default") }

    /// Signs a user in.
    @discardableResult
    func signIn(_ credential: ChappieStoredCredential = .sample("0", expiresAt: 10_000)) throws
        -> ChappieStoredCredential
    {
        try self.storage.store(credential, of: "default")
        return credential
    }

    /// The access token for a request that begins.
    func token() async throws -> String { try await self.keeper.credential(for: .connecting).bearerToken }

    /// The access token after one was rejected.
    func token(rejecting token: String, accountID: String? = "acc_1") async throws -> String {
        let rejected = ChappieCredential(bearerToken: token, accountID: accountID)
        return try await self.keeper.credential(for: .rejected(rejected)).bearerToken
    }
}

extension KeeperFixture.Answer {
    /// The n-th tokens, which last for an hour.
    static func rotation(_ number: Int) -> Self {
        .status(
            200,
            #"{"access_token":"access-\#(number)","refresh_token":"refresh-\#(number)","id_token":"identity-\#(number)","#
                + #""expires_in":3600}"#)
    }

    /// A refusal with a code, as OpenAI's server writes it.
    static func refusal(_ code: String, status: Int = 401) -> Self {
        .status(status, #"{"error":{"code":"\#(code)","message":"words"}}"#)
    }

    static let unreachable = Self.failure(.networkFailure("The server cannot be reached."))
}

/// Returns an unsigned token with these claims.
func unsignedToken(accountID: String? = nil, expiresAt: Int? = nil, number: Int = 0) -> String {
    var claims: [String: ChappieJSONValue] = ["jti": .string("\(number)")]
    claims["https://api.openai.com/auth"] = accountID.map { ["chatgpt_account_id": .string($0)] }
    claims["exp"] = expiresAt.map { .number(Double($0)) }
    let payload = Data(ChappieJSONValue.object(claims).jsonText.utf8).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    return "e30.\(payload).sig"
}

/// Stores credentials in memory, and can fail to write them.
final class FailingStorage: ChappieCredentialStorage {
    private let inner = ChappieMemoryCredentialStorage()
    private let failures = LockedValue<[Bool]>([])
    /// The error of a failing store.
    static let error = ChappieCredentialStorageError.systemCallFailed(operation: "write", path: "/p", code: ENOSPC)

    /// The next stores that fail.
    func fail(_ failures: [Bool]) { self.failures.withLock { $0 = failures } }

    func accounts() throws -> [String] { try self.inner.accounts() }

    func credential(of account: String) throws -> ChappieStoredCredential? { try self.inner.credential(of: account) }

    func store(_ credential: ChappieStoredCredential, of account: String) throws {
        let fails = self.failures.withLock { $0.isEmpty ? false : $0.removeFirst() }
        if fails { throw Self.error }
        try self.inner.store(credential, of: account)
    }

    func removeCredential(of account: String) throws { try self.inner.removeCredential(of: account) }

    func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value { try await self.inner.withLock(of: account, timeout: timeout, body) }
}
