import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// Failures of the system at each call in turn: only the old credential or the new one is there afterwards.
@Suite struct FileStorageFailureTests {
    /// Returns the calls of a store when one credential is there.
    private static func calls(_ body: (ChappieFileCredentialStorage) throws -> Void) throws -> [FileSystemCalls.Call] {
        let directory = StorageDirectory()
        try directory.hastyStorage.store(.sample("old"), of: "a")
        let seen = LockedValue<[FileSystemCalls.Call]>([])
        try body(
            directory.storage { call, body in
                seen.withLock { $0.append(call) }
                return body()
            })
        return seen.withLock { $0 }
    }

    /// A storage whose n-th call fails, or is never made.
    private static func storage(
        in directory: StorageDirectory, failing number: Int, code: CInt, isPerformed: Bool
    ) -> ChappieFileCredentialStorage {
        let count = LockedValue(0)
        return directory.storage { call, body in
            let isChosen = count.withLock { count in
                count += 1
                return count == number
            }
            // No test looks at a disk that has lost its power.
            guard isChosen else { return call == .synchronize ? 0 : body() }
            // A descriptor is closed whatever is said about it.
            if isPerformed || call == .close { _ = body() }
            errno = code
            return -1
        }
    }

    /// A full or read-only disk is found before a user signs in.
    @Test(arguments: [ENOSPC, EDQUOT, EROFS, EIO])
    func checkFindsADiskThatTakesNoFile(code: CInt) throws {
        for chosen in [FileSystemCalls.Call.write, .synchronize] {
            let directory = StorageDirectory()
            try directory.hastyStorage.store(.sample("old"), of: "a")
            let storage = directory.storage { call, body in
                guard call == chosen else { return body() }
                errno = code
                return -1
            }
            let error = #expect(throws: ChappieCredentialStorageError.self) { try storage.checkStoring(of: "a") }
            guard case .systemCallFailed(_, _, code)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(directory.names == ["a.json"])
            #expect(try directory.storage.credential(of: "a") == .sample("old"))
        }
    }

    @Test func checkLeavesNoFileBehind() throws {
        let directory = StorageDirectory()
        try directory.storage.checkStoring(of: "a")
        #expect(directory.names.isEmpty && directory.mode() == 0o700)
        try directory.storage.store(.sample("old"), of: "a")
        try directory.storage.checkStoring(of: "a")
        #expect(directory.names == ["a.json"])
    }

    @Test func storedFileAndItsNameAreSynchronized() throws {
        let calls = try Self.calls { try $0.store(.sample("new"), of: "a") }
        #expect(
            calls == [
                .open, .status, .open, .list, .open, .write, .synchronize, .close, .rename, .synchronize, .close,
            ])
    }

    @Test(arguments: [ENOSPC, EIO, EACCES, EDQUOT, EROFS, EMFILE, EPERM], [false, true])
    func failedStoreLeavesTheOldOrTheNewCredential(code: CInt, isPerformed: Bool) throws {
        let calls = try Self.calls { try $0.store(.sample("new"), of: "a") }
        for (index, call) in calls.enumerated() {
            // A file that was opened, though the system says not, would stay open.
            if isPerformed, call == .open { continue }
            let directory = StorageDirectory()
            try directory.hastyStorage.store(.sample("old"), of: "a")
            let storage = Self.storage(in: directory, failing: index + 1, code: code, isPerformed: isPerformed)
            var failure: ChappieCredentialStorageError?
            do {
                try storage.store(.sample("new"), of: "a")
            } catch let error as ChappieCredentialStorageError {
                failure = error
            }
            // A failed close of a directory that was only read is ignored.
            if index < calls.count - 1 {
                #expect(failure?.operation == call.rawValue, "call \(index + 1)")
                #expect(failure?.code == code)
                #expect(failure?.errorDescription?.contains(directory.path) == true)
            }
            let renamed = index > calls.firstIndex(of: .rename) ?? 0 || (call == .rename && isPerformed)
            let kept = try directory.storage.credential(of: "a")
            #expect(kept == .sample(renamed ? "new" : "old"), "call \(index + 1), \(call)")
            #expect(directory.names == ["a.json"], "call \(index + 1), \(call)")
            try directory.hastyStorage.store(.sample("next"), of: "a")
            #expect(try directory.storage.credential(of: "a") == .sample("next"))
        }
    }

    @Test func aTemporaryFileThatCannotBeRemovedIsRemovedByTheNextStore() throws {
        let directory = StorageDirectory()
        let storage = directory.storage { call, body in
            guard call == .write || call == .remove else { return body() }
            errno = ENOSPC
            return -1
        }
        #expect(throws: ChappieCredentialStorageError.self) { try storage.store(.sample("new"), of: "a") }
        #expect(directory.names.count == 1)
        try directory.hastyStorage.store(.sample("next"), of: "a")
        #expect(directory.names == ["a.json"])
    }

    @Test func signalsDoNotInterruptStorageCalls() throws {
        let calls = try Self.calls { storage in
            try storage.store(.sample("new"), of: "a")
            _ = try storage.credential(of: "a")
            _ = try storage.accounts()
            try storage.removeCredential(of: "a")
        }
        for index in calls.indices {
            let directory = StorageDirectory()
            try directory.hastyStorage.store(.sample("old"), of: "a")
            let storage = Self.storage(in: directory, failing: index + 1, code: EINTR, isPerformed: false)
            try storage.store(.sample("new"), of: "a")
            #expect(try storage.credential(of: "a") == .sample("new"))
            #expect(try storage.accounts() == ["a"])
            try storage.removeCredential(of: "a")
            #expect(directory.names == [], "call \(index + 1)")
        }
    }

    /// The descriptor of a list of names goes with it, also when a signal interrupts it.
    @Test func anInterruptedListIsReadAgainWithADescriptorOfItsOwn() throws {
        let directory = StorageDirectory()
        try directory.hastyStorage.store(.sample("old"), of: "a")
        let lists = LockedValue(0)
        let storage = directory.storage { call, body in
            let result = body()
            guard call == .list else { return result }
            let number = lists.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { return result }
            errno = EINTR
            return -1
        }
        #expect(try storage.accounts() == ["a"])
        #expect(lists.withLock { $0 } == 2)
    }

    @Test(arguments: [ENOSPC, EIO, EACCES])
    func unreadableCredentialIsAnErrorAndNotAbsent(code: CInt) throws {
        let calls = try Self.calls { _ = try $0.credential(of: "a") }
        #expect(calls == [.open, .status, .open, .status, .read, .read, .close, .close])
        for (index, call) in calls.enumerated() where call != .close {
            let directory = StorageDirectory()
            try directory.hastyStorage.store(.sample("old"), of: "a")
            let storage = Self.storage(in: directory, failing: index + 1, code: code, isPerformed: false)
            let error = #expect(throws: ChappieCredentialStorageError.self) { try storage.credential(of: "a") }
            #expect(error?.operation == call.rawValue && error?.code == code)
        }
    }

    @Test func aRemovalThatFailsIsAnError() throws {
        let calls = try Self.calls { try $0.removeCredential(of: "a") }
        for (index, call) in calls.enumerated() where call != .close {
            let directory = StorageDirectory()
            try directory.hastyStorage.store(.sample("old"), of: "a")
            let storage = Self.storage(in: directory, failing: index + 1, code: EIO, isPerformed: false)
            let error = #expect(throws: ChappieCredentialStorageError.self) { try storage.removeCredential(of: "a") }
            #expect(error?.operation == call.rawValue)
        }
    }

    @Test func unsupportedDirectorySynchronizationIsTolerated() throws {
        let directory = StorageDirectory()
        try directory.write([], to: "x")
        let count = LockedValue(0)
        let storage = directory.storage { call, body in
            // The first of them is the file, the second the directory.
            guard call == .synchronize,
                count.withLock({
                    $0 += 1; return $0
                }) == 2
            else { return body() }
            errno = EINVAL
            return -1
        }
        try storage.store(.sample(), of: "a")
        #expect(count.withLock { $0 } == 2)
        #expect(try directory.storage.credential(of: "a") == .sample())
        // The file itself has to be on the disk.
        let other = Self.storage(in: directory, failing: 7, code: EINVAL, isPerformed: false)
        #expect(throws: ChappieCredentialStorageError.self) { try other.store(.sample("b"), of: "a") }
        #expect(try directory.storage.credential(of: "a") == .sample())
    }

    @Test func aLockThatCannotBeTakenIsAnError() async throws {
        for call in [FileSystemCalls.Call.open, .status, .lock] {
            let directory = StorageDirectory()
            let storage = directory.storage { name, body in
                guard name == call else { return body() }
                errno = EIO
                return -1
            }
            let error = await #expect(throws: ChappieCredentialStorageError.self) {
                try await storage.withLock(of: "a", timeout: .seconds(1)) { Issue.record("It was run.") }
            }
            #expect(error?.operation == call.rawValue && error?.code == EIO)
        }
    }
}

extension ChappieCredentialStorageError {
    fileprivate var operation: String? {
        guard case .systemCallFailed(let operation, _, _) = self else { return nil }
        return operation
    }

    fileprivate var code: CInt? {
        guard case .systemCallFailed(_, _, let code) = self else { return nil }
        return code
    }
}
