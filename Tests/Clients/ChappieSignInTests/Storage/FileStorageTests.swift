import Foundation
import Testing

@testable import ChappieSignIn

/// Files of credentials: their content, their permissions, and the files that are refused.
@Suite struct FileStorageTests {
    private let directory = StorageDirectory()

    // MARK: Keeping

    @Test func storedCredentialIsReadBack() throws {
        var full = ChappieStoredCredential.sample()
        full.refreshFailure = "refresh_token_expired"
        var plain = full
        plain.endpoints = .init(
            token: try #require(URL(string: "https://issuer.example/t?x=1")), revocation: nil, bodyCoding: .json)
        full.endpoints = .init(
            token: try #require(URL(string: "https://issuer.example/t")),
            revocation: URL(string: "https://issuer.example/r"), bodyCoding: .form)
        let bare = ChappieStoredCredential(
            accessToken: "\"ä\\\n\u{0}", refreshToken: nil, clientID: "c", issuer: "i",
            refreshedAt: Date(timeIntervalSince1970: 1_764_000_000.25))
        for credential in [full, plain, bare] {
            try self.directory.storage.store(credential, of: "default")
            #expect(try self.directory.storage.credential(of: "default") == credential)
        }
    }

    @Test func invalidDatesAreClampedWhenStored() throws {
        var credential = ChappieStoredCredential.sample()
        for (date, read) in [(Double.nan, 0.0), (-1, 0), (.infinity, 253_402_300_799), (1e300, 253_402_300_799)] {
            credential.expiresAt = Date(timeIntervalSince1970: date)
            try self.directory.storage.store(credential, of: "a")
            #expect(try self.directory.storage.credential(of: "a")?.expiresAt == Date(timeIntervalSince1970: read))
        }
    }

    @Test func onlyTheOwnerCanReadStoredFiles() async throws {
        let storage = self.directory.storage
        try await storage.withLock(of: "default", timeout: .zero) { try storage.store(.sample(), of: "default") }
        #expect(self.directory.names == ["default.json", "default.lock"])
        #expect(self.directory.mode() == 0o700)
        #expect(self.directory.mode(of: "..") == 0o700)
        #expect(self.directory.mode(of: "default.json") == 0o600)
        #expect(self.directory.mode(of: "default.lock") == 0o600)
    }

    @Test func eachAccountHasItsOwnCredentialFile() throws {
        let storage = self.directory.storage
        #expect(try storage.accounts() == [])
        for name in ["b", "a.b", "a", "A", "x_-1"] { try storage.store(.sample(name), of: name) }
        try self.directory.write([], to: "not an account.json")
        try self.directory.write([], to: ".a.json")
        try self.directory.write([], to: "notes.txt")
        #expect(try storage.accounts() == ["A", "a", "a.b", "b", "x_-1"])
        for name in ["b", "a.b", "a", "A", "x_-1"] {
            #expect(try storage.credential(of: name) == .sample(name))
        }
        try storage.removeCredential(of: "a")
        #expect(try storage.accounts() == ["A", "a.b", "b", "x_-1"])
    }

    @Test func missingAccountIsNil() throws {
        let storage = self.directory.storage
        #expect(try storage.credential(of: "a") == nil)
        try storage.removeCredential(of: "a")
        #expect(!FileManager.default.fileExists(atPath: self.directory.path))
        try storage.store(.sample(), of: "b")
        #expect(try storage.credential(of: "a") == nil)
        try storage.removeCredential(of: "a")
        try storage.removeCredential(of: "b")
        try storage.removeCredential(of: "b")
        #expect(self.directory.names == [])
    }

    @Test func temporaryFilesOfDeadProcessesAreRemoved() throws {
        let storage = self.directory.storage
        let other = ".a.b.0123456789abcdef.tmp"
        for name in [".a.0123456789abcdef.tmp", ".a.fedcba9876543210.tmp", other] {
            try self.directory.write([1], to: name)
        }
        try storage.store(.sample(), of: "a")
        #expect(self.directory.names == [other, "a.json"])
        try self.directory.write([1], to: ".a.0123456789abcdef.tmp")
        try storage.removeCredential(of: "a")
        #expect(self.directory.names == [other])
    }

    // MARK: Where

    @Test(arguments: [
        (["CHAPPIE_HOME": "/h", "XDG_CONFIG_HOME": "/x", "HOME": "/p"], "/h/credentials"),
        (["XDG_CONFIG_HOME": "/x", "HOME": "/p"], "/x/chappie/credentials"),
        (["CHAPPIE_HOME": "", "XDG_CONFIG_HOME": "", "HOME": "/p"], "/p/.config/chappie/credentials"),
        (["XDG_CONFIG_HOME": "relative", "HOME": "/p"], "/p/.config/chappie/credentials"),
        (["CHAPPIE_HOME": "/h/"], "/h//credentials"),
    ])
    func directoryFollowsTheFirstSetVariable(environment: [String: String], path: String) {
        let storage = ChappieFileCredentialStorage(
            directory: nil, calls: .system, clock: .system, environment: environment)
        #expect(storage.directory == path)
    }

    @Test func givenDirectoryIsUsedWithoutTrailingSlashes() {
        #expect(ChappieFileCredentialStorage(directory: "/a/b//").directory == "/a/b")
        #expect(ChappieFileCredentialStorage(directory: "/").directory == "/")
    }

    @Test func aDirectoryThatCannotBeMadeIsAnError() throws {
        try self.directory.write([], to: "file")
        for (path, code) in [("\(self.directory.path)/file/below", ENOTDIR), ("", ENOENT)] {
            let error = #expect(throws: ChappieCredentialStorageError.self) {
                try ChappieFileCredentialStorage(directory: path).store(.sample(), of: "a")
            }
            let expected: [ChappieCredentialStorageError] = [
                .systemCallFailed(operation: "mkdir", path: path, code: code), .notAFile(path: path),
            ]
            #expect(error.map { expected.contains($0) } == true, "\(String(describing: error))")
        }
    }

    @Test func danglingLinkAboveTheDirectoryIsAnError() async throws {
        try self.directory.write([], to: "x")
        symlink("/nonexistent/disk", self.directory.path(of: "link"))
        let storage = ChappieFileCredentialStorage(directory: self.directory.path(of: "link/chappie/credentials"))
        #expect(try storage.credential(of: "a") == nil)
        let error = ChappieCredentialStorageError.systemCallFailed(
            operation: "mkdir", path: storage.directory, code: ENOENT)
        #expect(throws: error) { try storage.store(.sample(), of: "a") }
        await #expect(throws: error) { try await storage.withLock(of: "a", timeout: .zero) {} }
    }

    // MARK: Names

    @Test(arguments: [
        "", ".", "..", ".a", "a/b", "../a", "/etc/passwd", "a b", "ä", "a\u{0}", "a\n", "a\\b", "a:b",
        String(repeating: "a", count: 65),
    ])
    func invalidAccountNameIsRefusedByEveryMethod(name: String) async throws {
        for storage in [self.directory.storage, ChappieMemoryCredentialStorage()] as [any ChappieCredentialStorage] {
            #expect(throws: ChappieCredentialStorageError.invalidAccountName) { try storage.credential(of: name) }
            #expect(throws: ChappieCredentialStorageError.invalidAccountName) { try storage.store(.sample(), of: name) }
            #expect(throws: ChappieCredentialStorageError.invalidAccountName) {
                try storage.removeCredential(of: name)
            }
            await #expect(throws: ChappieCredentialStorageError.invalidAccountName) {
                try await storage.withLock(of: name, timeout: .zero) { Issue.record("It was run.") }
            }
        }
        #expect(!FileManager.default.fileExists(atPath: self.directory.path))
    }

    @Test func longestAccountNameIsAccepted() throws {
        let name = String(repeating: "Z", count: 64)
        try self.directory.storage.store(.sample(), of: name)
        #expect(try self.directory.storage.accounts() == [name])
    }

    // MARK: What is refused

    private func expect(
        _ expected: (String) -> ChappieCredentialStorageError, at name: String = "a.json",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let path = name.isEmpty ? self.directory.path : self.directory.path(of: name)
        let error = #expect(throws: ChappieCredentialStorageError.self, sourceLocation: sourceLocation) {
            try self.directory.storage.credential(of: "a")
        }
        #expect(error == expected(path), sourceLocation: sourceLocation)
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o601, 0o666, 0o610] as [mode_t])
    func fileWithPermissionsForOthersIsRefused(mode: mode_t) throws {
        try self.directory.storage.store(.sample(), of: "a")
        chmod(self.directory.path(of: "a.json"), mode)
        self.expect { .insecurePermissions(path: $0, mode: String(mode, radix: 8)) }
    }

    @Test(arguments: [0o750, 0o701, 0o711, 0o755, 0o777, 0o1777] as [mode_t])
    func directoryWithPermissionsForOthersIsRefused(mode: mode_t) async throws {
        let storage = self.directory.storage
        try storage.store(.sample(), of: "a")
        chmod(self.directory.path, mode)
        self.expect({ .insecurePermissions(path: $0, mode: String(mode, radix: 8)) }, at: "")
        let expected = ChappieCredentialStorageError.insecurePermissions(
            path: self.directory.path, mode: String(mode, radix: 8))
        #expect(throws: expected) { try storage.store(.sample("b"), of: "a") }
        #expect(throws: expected) { try storage.accounts() }
        #expect(throws: expected) { try storage.removeCredential(of: "a") }
        await #expect(throws: expected) { try await storage.withLock(of: "a", timeout: .zero) {} }
        chmod(self.directory.path, 0o700)
        #expect(try storage.credential(of: "a") == .sample())
    }

    @Test func fileOfAnotherOwnerIsRefused() throws {
        // Root owns the one, and may give the other away.
        if geteuid() == 0 {
            try self.directory.storage.store(.sample(), of: "a")
            chown(self.directory.path(of: "a.json"), 65_534, 65_534)
            self.expect { .foreignOwner(path: $0) }
            chown(self.directory.path, 65_534, 65_534)
            self.expect({ .foreignOwner(path: $0) }, at: "")
        } else {
            #expect(throws: ChappieCredentialStorageError.foreignOwner(path: "/usr")) {
                try ChappieFileCredentialStorage(directory: "/usr").credential(of: "a")
            }
        }
    }

    @Test func linksAreRefused() async throws {
        let storage = self.directory.storage
        try storage.store(.sample(), of: "b")
        symlink("b.json", self.directory.path(of: "a.json"))
        self.expect { .notAFile(path: $0) }
        unlink(self.directory.path(of: "a.json"))
        link(self.directory.path(of: "b.json"), self.directory.path(of: "a.json"))
        self.expect { .notAFile(path: $0) }
        symlink("b.json", self.directory.path(of: "a.lock"))
        await #expect(throws: ChappieCredentialStorageError.notAFile(path: self.directory.path(of: "a.lock"))) {
            try await storage.withLock(of: "a", timeout: .zero) {}
        }
        let other = StorageDirectory()
        try other.write([], to: "x")
        symlink(self.directory.path, other.path(of: "link"))
        #expect(throws: ChappieCredentialStorageError.notAFile(path: other.path(of: "link"))) {
            try ChappieFileCredentialStorage(directory: other.path(of: "link")).credential(of: "b")
        }
    }

    @Test func storingReplacesALinkAndKeepsItsTarget() throws {
        let storage = self.directory.storage
        try storage.store(.sample("b"), of: "b")
        symlink("b.json", self.directory.path(of: "a.json"))
        try storage.store(.sample("a"), of: "a")
        #expect(try storage.credential(of: "a") == .sample("a"))
        #expect(try storage.credential(of: "b") == .sample("b"))
    }

    @Test func specialFilesAreRefusedWithoutBlocking() throws {
        try self.directory.write([], to: "x")
        mkfifo(self.directory.path(of: "a.json"), 0o600)
        self.expect { .notAFile(path: $0) }
        unlink(self.directory.path(of: "a.json"))
        mkdir(self.directory.path(of: "a.json"), 0o700)
        self.expect { .notAFile(path: $0) }
        #expect(throws: ChappieCredentialStorageError.notAFile(path: self.directory.path(of: "a.json"))) {
            try self.directory.storage.store(.sample(), of: "a")
        }
        #expect(self.directory.names == ["a.json", "x"])
        #expect(throws: ChappieCredentialStorageError.notAFile(path: self.directory.path(of: "x"))) {
            try ChappieFileCredentialStorage(directory: self.directory.path(of: "x")).credential(of: "a")
        }
    }

    @Test func everyBeginningOfAFileIsDamaged() throws {
        let whole = ChappieStoredCredential.sample().fileContents(account: "a")
        // The line break behind the object is not part of it.
        for count in 0..<whole.count - 1 {
            try self.directory.write(whole.prefix(count), to: "a.json")
            self.expect { .unreadable(path: $0) }
        }
        try self.directory.write(whole.dropLast(), to: "a.json")
        #expect(try self.directory.storage.credential(of: "a") == .sample())
    }

    @Test(arguments: [
        "null", "[]", "{}", "\u{0}", "{\"version\":\"1\"}", "{\"version\":1.5}", "{\"version\":1}",
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":[],"refreshed_at":1}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":""},"refreshed_at":1}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":7},"refreshed_at":1}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t","refresh_token":1}}"#,
        #"{"version":1,"account":"a","issuer":"i","tokens":{"access_token":"t"},"refreshed_at":1}"#,
        #"{"version":1,"account":"a","client_id":"c","tokens":{"access_token":"t"},"refreshed_at":1}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t"},"refreshed_at":-1}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t"},"expires_at":"x"}"#,
        #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t"},"expires_at":1e15}"#,
    ])
    func invalidCredentialFileIsUnreadable(text: String) throws {
        try self.directory.write(text.utf8, to: "a.json")
        self.expect { .unreadable(path: $0) }
    }

    @Test(arguments: [
        "{}", "[]", "1", #"{"token_endpoint":"https://i/t"}"#, #"{"body_coding":"form"}"#,
        #"{"token_endpoint":"","body_coding":"form"}"#, #"{"token_endpoint":"https://i/t","body_coding":"xml"}"#,
        #"{"token_endpoint":"https://i/t","body_coding":"form","revocation_endpoint":1}"#,
    ])
    func endpointsThatMakeNoSenseAreDamaged(endpoints: String) throws {
        let members = #""version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t"}"#
        try self.directory.write(#"{\#(members),"endpoints":null}"#.utf8, to: "a.json")
        #expect(try self.directory.storage.credential(of: "a") != nil)
        try self.directory.write(#"{\#(members),"endpoints":\#(endpoints)}"#.utf8, to: "a.json")
        self.expect { .unreadable(path: $0) }
    }

    @Test func invalidTextInAFileIsDamaged() throws {
        try self.directory.write([0x7B, 0xFF, 0x7D], to: "a.json")
        self.expect { .unreadable(path: $0) }
    }

    @Test func membersThatAreNotKnownArePassedOver() throws {
        let text = #"{"version":1,"account":"a","issuer":"i","client_id":"c","tokens":{"access_token":"t"},"new":{}}"#
        try self.directory.write(text.utf8, to: "a.json")
        let credential = ChappieStoredCredential(
            accessToken: "t", refreshToken: nil, clientID: "c", issuer: "i", refreshedAt: Date(timeIntervalSince1970: 0)
        )
        #expect(try self.directory.storage.credential(of: "a") == credential)
    }

    @Test(arguments: [0, 2, -1, 1_000_000])
    func anotherVersionIsRefused(version: Int) throws {
        try self.directory.write(#"{"version":\#(version)}"#.utf8, to: "a.json")
        self.expect { .unknownVersion(path: $0, version: version) }
    }

    @Test func theFileOfAnotherAccountIsRefused() throws {
        try self.directory.storage.store(.sample(), of: "b")
        rename(self.directory.path(of: "b.json"), self.directory.path(of: "a.json"))
        self.expect { .otherAccount(path: $0) }
    }

    @Test func aFileThatIsTooLargeIsRefused() throws {
        let whole = ChappieStoredCredential.sample().fileContents(account: "a")
        let blanks = [UInt8](repeating: 0x20, count: CredentialDirectory.fileByteLimit - whole.count)
        try self.directory.write(whole + blanks, to: "a.json")
        #expect(try self.directory.storage.credential(of: "a") == .sample())
        try self.directory.write(whole + blanks + [0x20], to: "a.json")
        self.expect { .unreadable(path: $0) }
    }
}
