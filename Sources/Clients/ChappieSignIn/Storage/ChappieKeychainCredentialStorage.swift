// Untested: it is for Apple's systems, and is not built elsewhere.
#if canImport(Security)
    import Foundation
    import Security

    /// Stores credentials in the system's keychain, one item for each account, on this device only.
    ///
    /// The items' service is the program's choice. The accounts' locks are files, because the keychain has none
    /// (`ChappieFileCredentialStorage`): programs that share a service share their directory. It may be used from any
    /// task.
    public struct ChappieKeychainCredentialStorage: ChappieCredentialStorage {
        /// The service under which the items are found.
        public let service: String
        private let locks: ChappieFileCredentialStorage

        /// Creates a storage in the keychain, with its locks in a directory; see
        /// `ChappieFileCredentialStorage.init(directory:)`.
        public init(service: String = "chappie", lockDirectory: String? = nil) {
            self.service = service
            self.locks = ChappieFileCredentialStorage(directory: lockDirectory)
        }

        /// Returns the names of the accounts, sorted.
        ///
        /// Throws `ChappieCredentialStorageError.systemCallFailed` with the keychain's status.
        public func accounts() throws -> [String] {
            var query = self.query(account: nil)
            query[kSecMatchLimit] = kSecMatchLimitAll
            query[kSecReturnAttributes] = true
            var found: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return [] }
            try self.check(status, operation: "SecItemCopyMatching")
            let items = found as? [[CFString: Any]] ?? []
            return items.compactMap { $0[kSecAttrAccount] as? String }.sorted()
        }

        /// Returns the credential of an account; nil when there is none.
        ///
        /// Throws `ChappieCredentialStorageError`.
        public func credential(of account: String) throws -> ChappieStoredCredential? {
            try self.check(account: account)
            var query = self.query(account: account)
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            try self.check(status, operation: "SecItemCopyMatching")
            guard let data = found as? Data else { throw ChappieCredentialStorageError.unreadable(path: self.service) }
            return try ChappieStoredCredential(fileContents: Array(data), account: account, path: self.service)
        }

        /// Stores a credential.
        ///
        /// Throws `ChappieCredentialStorageError`.
        public func store(_ credential: ChappieStoredCredential, of account: String) throws {
            try self.check(account: account)
            let query = self.query(account: account)
            let value: [CFString: Any] = [
                kSecValueData: Data(credential.fileContents(account: account)),
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            let status = SecItemUpdate(query as CFDictionary, value as CFDictionary)
            guard status == errSecItemNotFound else { return try self.check(status, operation: "SecItemUpdate") }
            let item = query.merging(value) { $1 }
            try self.check(unsafe SecItemAdd(item as CFDictionary, nil), operation: "SecItemAdd")
        }

        /// Removes an account.
        ///
        /// Throws `ChappieCredentialStorageError`.
        public func removeCredential(of account: String) throws {
            try self.check(account: account)
            let status = SecItemDelete(self.query(account: account) as CFDictionary)
            guard status != errSecItemNotFound else { return }
            try self.check(status, operation: "SecItemDelete")
        }

        /// Runs `body` while no other caller holds the account's lock.
        ///
        /// Throws the errors of `ChappieFileCredentialStorage.withLock(of:timeout:_:)`.
        public func withLock<Value: Sendable>(
            of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
        ) async throws -> Value { try await self.locks.withLock(of: account, timeout: timeout, body) }

        private func query(account: String?) -> [CFString: Any] {
            var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: self.service]
            if let account { query[kSecAttrAccount] = account }
            return query
        }

        private func check(_ status: OSStatus, operation: String) throws(ChappieCredentialStorageError) {
            guard status == errSecSuccess else {
                throw .systemCallFailed(operation: operation, path: self.service, code: status)
            }
        }
    }
#endif
