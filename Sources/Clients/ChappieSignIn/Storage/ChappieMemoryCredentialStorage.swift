import StreamTransport
import TransportSurface

/// Stores credentials for the lifetime of the process.
///
/// Its state is behind a lock; it may be used from any task.
public final class ChappieMemoryCredentialStorage: ChappieCredentialStorage {
    private struct State {
        var credentials: [String: ChappieStoredCredential] = [:]
        var locks: [String: FairLock] = [:]
    }

    private let state = LockedValue(State())
    private let clock: ClientClock

    /// Creates an empty storage.
    public convenience init() { self.init(clock: .system) }

    init(clock: ClientClock) { self.clock = clock }

    /// Returns the names of the accounts, sorted.
    public func accounts() throws -> [String] { self.state.withLock { $0.credentials.keys.sorted() } }

    /// Returns the credential of an account; nil when there is none.
    ///
    /// Throws `ChappieCredentialStorageError.invalidAccountName`.
    public func credential(of account: String) throws -> ChappieStoredCredential? {
        try self.check(account: account)
        return self.state.withLock { $0.credentials[account] }
    }

    /// Stores a credential.
    ///
    /// Throws `ChappieCredentialStorageError.invalidAccountName`.
    public func store(_ credential: ChappieStoredCredential, of account: String) throws {
        try self.check(account: account)
        self.state.withLock { $0.credentials[account] = credential }
    }

    /// Removes an account.
    ///
    /// Throws `ChappieCredentialStorageError.invalidAccountName`.
    public func removeCredential(of account: String) throws {
        try self.check(account: account)
        self.state.withLock { $0.credentials[account] = nil }
    }

    /// Runs `body` while no other caller holds the account's lock; tasks get it in the order in which they asked.
    ///
    /// Throws `ChappieCredentialStorageError.invalidAccountName` and `locked`, `CancellationError` when the task is
    /// cancelled while it waits, and the errors of `body`.
    public func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try self.check(account: account)
        let lock = self.state.withLock { state in
            let lock = state.locks[account] ?? FairLock(clock: self.clock)
            state.locks[account] = lock
            return lock
        }
        try await lock.lock(timeout: timeout, expired: .locked(path: account))
        defer { lock.unlock() }
        return try await body()
    }
}
