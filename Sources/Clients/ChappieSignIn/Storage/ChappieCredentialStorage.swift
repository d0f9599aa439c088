/// A storage of credentials, one for each account.
///
/// An account's name is 1 to 64 of `A–Z a–z 0–9 _ . -`, and does not begin with a full stop. The methods are called
/// from any task, and may block for as long as a file system takes. Their errors are passed on to the caller that needs
/// the credential.
public protocol ChappieCredentialStorage: Sendable {
    /// Returns the names of the accounts that have a credential, sorted.
    func accounts() throws -> [String]

    /// Returns the credential of an account; nil when there is none.
    func credential(of account: String) throws -> ChappieStoredCredential?

    /// Stores a credential in the place of the previous one; when it returns, a crash of the machine does not lose it.
    ///
    /// Called with the account's lock held.
    func store(_ credential: ChappieStoredCredential, of account: String) throws

    /// Checks that a credential of an account can be stored, as far as that can be known before a user signs in.
    ///
    /// Called with the account's lock held. By default the stored credential, if there is one, is stored again.
    func checkStoring(of account: String) throws

    /// Removes an account; without effect when there is none.
    ///
    /// Called with the account's lock held.
    func removeCredential(of account: String) throws

    /// Runs `body` while no other caller, in this process or in another one, holds the account's lock.
    ///
    /// The lock of a process that ends, in whatever way, is released. Throws `ChappieCredentialStorageError.locked`
    /// when another caller holds it for longer than the timeout, and `CancellationError`.
    func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value
}

extension ChappieCredentialStorage {
    /// Stores the credential of the account again, if there is one.
    public func checkStoring(of account: String) throws {
        guard let credential = try self.credential(of: account) else { return }
        try self.store(credential, of: account)
    }

    /// Refuses invalid account names, such as those that could name another file.
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
