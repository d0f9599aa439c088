/// Where credentials are kept, one for each account.
///
/// An account's name is 1 to 64 of `A–Z a–z 0–9 _ . -`, and does not begin with a full stop. Its methods are called
/// from any task, and may block for as long as a file system takes. What they throw is passed on to whoever asked for
/// the credential.
public protocol ChappieCredentialStorage: Sendable {
    /// The names of the accounts that have a credential, sorted.
    func accounts() throws -> [String]

    /// The credential of an account; nil when there is none.
    func credential(of account: String) throws -> ChappieStoredCredential?

    /// Keeps a credential in the place of the one before; when it returns, a crash of the machine loses neither.
    ///
    /// Called with the account's lock held.
    func store(_ credential: ChappieStoredCredential, of account: String) throws

    /// Forgets an account; nothing happens when there is none.
    ///
    /// Called with the account's lock held.
    func removeCredential(of account: String) throws

    /// Runs something while nobody else, in this process or in another one, holds the account's lock.
    ///
    /// The lock of a process that ends, in whatever way, is free. Throws `ChappieCredentialStorageError.locked` when
    /// another one holds it for longer than the timeout, and `CancellationError`.
    func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value
}

/// Why credentials cannot be read or kept.
public enum ChappieCredentialStorageError: Error, Sendable, Equatable {
    /// Others than the owner may read or write it; what, and its permissions in octal.
    case insecurePermissions(path: String, mode: String)
    /// It belongs to another user.
    case foreignOwner(path: String)
    /// It is a symbolic link, or not a file, or has several names.
    case notAFile(path: String)
    /// It cannot be understood: it is damaged.
    case unreadable(path: String)
    /// Another version of this package wrote it, in a form that this one does not know.
    case unknownVersion(path: String, version: Int)
    /// It is for another account than its name says.
    case otherAccount(path: String)
    /// An account cannot be called like that.
    case invalidAccountName
    /// The system refused; what was tried, and its `errno`.
    case systemCallFailed(operation: String, path: String, code: Int32)
    /// Another process holds the credential for too long.
    case locked(path: String)
}
