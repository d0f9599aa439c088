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

extension ChappieCredentialStorage {
    /// Refuses what an account cannot be called: whatever could be another file, among others.
    package func check(account: String) throws(ChappieCredentialStorageError) {
        let bytes = account.utf8
        let isValid =
            (1...64).contains(bytes.count) && bytes.first != UInt8(ascii: ".")
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        guard isValid else { throw .invalidAccountName }
    }
}
