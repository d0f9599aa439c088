// `ProcessInfo`.
import Foundation
import PlatformFoundation
import StreamTransport
import TransportSurface

/// Stores credentials in files, one for each account, that only their owner can read.
///
/// An account's file is `NAME.json`; beside it is the empty file `NAME.lock`, which is kept. The directory has the mode
/// 0700 and the files 0600; files that others can read or write, that belong to another user, that are links or have
/// several names are refused. A file is replaced atomically, by one that is on the disk: after a crash, at whatever
/// moment, it is the old one or the new one.
///
/// The lock is the system's (`flock`): it excludes other processes and other storages of this process, and is released
/// when its process ends. It is reliable on local file systems. On a network file system it depends on the server and
/// the options of the mount, and some have none: use a separate directory for each machine there.
///
/// A value without state; it may be used from any task.
public struct ChappieFileCredentialStorage: ChappieCredentialStorage {
    /// The pause after the first attempt at a held lock; it doubles.
    private static let firstPause: Duration = .milliseconds(2)
    /// The longest pause between two attempts at a lock.
    private static let longestPause: Duration = .milliseconds(100)
    /// The suffix of an account's file.
    private static let fileSuffix = ".json"

    /// The directory of the files.
    public let directory: String
    private let calls: FileSystemCalls
    private let clock: ClientClock

    /// Creates a storage in a directory, which is created when it is needed.
    ///
    /// Nil uses the environment's: `CHAPPIE_HOME`, or `chappie` below `XDG_CONFIG_HOME`, or `~/.config/chappie`; with
    /// `credentials` below it.
    public init(directory: String? = nil) { self.init(directory: directory, calls: .system) }

    /// Creates a storage whose system calls are performed by `calls`.
    package init(directory: String?, calls: FileSystemCalls) {
        self.init(directory: directory, calls: calls, clock: .system)
    }

    /// Creates a storage with all of its dependencies.
    init(
        directory: String?, calls: FileSystemCalls, clock: ClientClock,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        var path = directory ?? Self.directory(in: environment)
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.directory = path
        self.calls = calls
        self.clock = clock
    }

    private static func directory(in environment: [String: String]) -> String {
        Self.home(in: environment) + "/credentials"
    }

    /// Returns the directory of a user's files of this package, the credentials among them.
    package static func home(in environment: [String: String]) -> String {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let home = value("CHAPPIE_HOME") { return home }
        // The XDG Base Directory Specification ignores paths that are not absolute.
        if let base = value("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/chappie" }
        return (value("HOME") ?? URL.homeDirectory.path) + "/.config/chappie"
    }

    // MARK: Credentials

    /// Returns the names of the accounts, sorted.
    ///
    /// Throws `ChappieCredentialStorageError`.
    public func accounts() throws -> [String] {
        try self.withDirectory { directory in
            try directory.names()
                .filter { $0.hasSuffix(Self.fileSuffix) }.map { String($0.dropLast(Self.fileSuffix.count)) }
                .filter { (try? self.check(account: $0)) != nil }.sorted()
        } ?? []
    }

    /// Returns the credential of an account; nil when there is none.
    ///
    /// Throws `ChappieCredentialStorageError`.
    public func credential(of account: String) throws -> ChappieStoredCredential? {
        try self.check(account: account)
        let name = account + Self.fileSuffix
        guard let contents = try self.withDirectory({ try $0.contents(of: name) }) ?? nil else { return nil }
        return try ChappieStoredCredential(
            fileContents: contents, account: account, path: "\(self.directory)/\(name)")
    }

    /// Stores a credential; after an error the stored one is the previous one or the new one, whole.
    ///
    /// Throws `ChappieCredentialStorageError`.
    public func store(_ credential: ChappieStoredCredential, of account: String) throws {
        try self.writing(of: account) { directory, temporaryName in
            try directory.replace(
                account + Self.fileSuffix, with: credential.fileContents(account: account),
                temporaryName: temporaryName)
        }
    }

    /// Checks that the directory can be made, is its owner's alone and takes a file, by a temporary one of 32 KiB.
    ///
    /// Throws `ChappieCredentialStorageError`.
    public func checkStoring(of account: String) throws {
        try self.writing(of: account) { directory, temporaryName in
            try directory.checkReplacing(
                account + Self.fileSuffix, byteCount: Self.checkedByteCount, temporaryName: temporaryName)
        }
    }

    /// The size of the file of a check: tokens are a few KiB long.
    private static let checkedByteCount = 32 << 10

    private func writing(
        of account: String, _ body: (CredentialDirectory, _ temporaryName: String) throws -> Void
    ) throws {
        try self.check(account: account)
        let directory = try CredentialDirectory.made(self.directory, calls: self.calls)
        defer { directory.close() }
        try directory.remove(try self.abandonedNames(of: account, in: directory))
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        try body(
            directory,
            Self.temporaryPrefix(account) + String(repeating: "0", count: 16 - number.count) + number
                + Self.temporarySuffix)
    }

    /// Removes an account; its lock file is kept.
    ///
    /// Throws `ChappieCredentialStorageError`.
    public func removeCredential(of account: String) throws {
        try self.check(account: account)
        _ = try self.withDirectory { directory in
            try directory.remove([account + Self.fileSuffix] + self.abandonedNames(of: account, in: directory))
        }
    }

    private func withDirectory<Value>(_ body: (CredentialDirectory) throws -> Value) throws -> Value? {
        guard let directory = try CredentialDirectory(self.directory, calls: self.calls) else { return nil }
        defer { directory.close() }
        return try body(directory)
    }

    /// Returns files of processes that ended while writing: under the account's lock, no process writes them.
    private func abandonedNames(of account: String, in directory: CredentialDirectory) throws -> [String] {
        let prefix = Self.temporaryPrefix(account)
        return try directory.names().filter { name in
            // The length distinguishes `a` from `a.b`.
            name.hasPrefix(prefix) && name.hasSuffix(Self.temporarySuffix)
                && name.utf8.count == prefix.utf8.count + 16 + Self.temporarySuffix.utf8.count
        }
    }

    private static let temporarySuffix = ".tmp"

    /// Returns the prefix of temporary files; no account's name begins with a full stop.
    private static func temporaryPrefix(_ account: String) -> String { ".\(account)." }

    // MARK: The lock

    /// Runs `body` while no other caller holds the account's lock.
    ///
    /// No thread blocks: the lock is tried again after 2 ms, and then at growing intervals, up to 100 ms. Throws
    /// `ChappieCredentialStorageError`, `CancellationError` when the task is cancelled while it waits, and the errors
    /// of `body`.
    public func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let file = try await self.lock(account, timeout: timeout)
        defer { CredentialDirectory.unlock(file, calls: self.calls) }
        return try await body()
    }

    private func lock(_ account: String, timeout: Duration) async throws -> CInt {
        try self.check(account: account)
        let deadline = self.clock.now() + timeout.bounded
        var pause = Self.firstPause
        while true {
            if let file = try self.tryLock(account) { return file }
            let rest = deadline - self.clock.now()
            guard rest > .zero else {
                throw ChappieCredentialStorageError.locked(path: "\(self.directory)/\(account).lock")
            }
            // Random, so that callers that began to wait together do not retry together.
            try await self.clock.sleep(min(rest, pause * Double.random(in: 0.5...1)))
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func tryLock(_ account: String) throws -> CInt? {
        let directory = try CredentialDirectory.made(self.directory, calls: self.calls)
        defer { directory.close() }
        return try directory.lock("\(account).lock")
    }
}
