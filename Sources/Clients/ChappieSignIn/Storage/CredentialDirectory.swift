// An open directory of credentials, and the files in it. All operations are relative to the open directory, so that it
// cannot be exchanged between two steps.
import PlatformC

/// An open directory whose files only their owner can read.
///
/// Used by one call at a time, which closes it.
struct CredentialDirectory {
    /// The largest file; a larger one is not a credential.
    static let fileByteLimit = 1 << 20

    private let path: String
    private let calls: FileSystemCalls
    private let descriptor: CInt

    /// Opens a directory; nil when there is none.
    init?(_ path: String, calls: FileSystemCalls) throws(ChappieCredentialStorageError) {
        self.path = path
        self.calls = calls
        do throws(FileSystemCalls.Failure) {
            self.descriptor = try calls.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch {
            if error.code == ENOENT { return nil }
            throw Self.error(error, path)
        }
        do throws(ChappieCredentialStorageError) {
            try self.check(self.descriptor, is: S_IFDIR, path: path)
        } catch {
            self.close()
            throw error
        }
    }

    /// Opens a directory, which is created if necessary, with its parents.
    static func made(_ path: String, calls: FileSystemCalls) throws(ChappieCredentialStorageError) -> Self {
        if let directory = try Self(path, calls: calls) { return directory }
        do throws(FileSystemCalls.Failure) {
            try Self.make(path, calls: calls)
        } catch {
            throw Self.error(error, path)
        }
        guard let directory = try Self(path, calls: calls) else {
            throw .systemCallFailed(operation: FileSystemCalls.Call.open.rawValue, path: path, code: ENOENT)
        }
        return directory
    }

    /// Closes the directory; the last call.
    func close() { try? self.calls.close(self.descriptor) }

    // MARK: Files

    /// Returns the names in it.
    func names() throws(ChappieCredentialStorageError) -> [String] {
        try self.describing(self.path) { () throws(FileSystemCalls.Failure) in
            while true {
                // Reading the names consumes a descriptor, so it gets one of its own.
                let listed = try self.calls.open(".", in: self.descriptor, flags: O_RDONLY | O_DIRECTORY)
                var names: [String] = []
                do throws(FileSystemCalls.Failure) {
                    try self.calls.runOnce(.list) { listNames(listed, into: &names) }
                    return names
                } catch {
                    // On some file systems a signal may interrupt it: it begins again.
                    guard error.code == EINTR else { throw error }
                }
            }
        }
    }

    /// Returns the content of a file; nil when there is none.
    func contents(of name: String) throws(ChappieCredentialStorageError) -> [UInt8]? {
        guard let file = try self.open(name, flags: O_RDONLY) else { return nil }
        defer { try? self.calls.close(file) }
        let size = try self.check(file, is: S_IFREG, path: self.path(of: name))
        guard size <= Self.fileByteLimit else { throw .unreadable(path: self.path(of: name)) }
        let bytes = try self.describing(self.path(of: name)) { () throws(FileSystemCalls.Failure) in
            try self.read(file)
        }
        // It has grown meanwhile, which no file of a storage does.
        guard bytes.count <= Self.fileByteLimit else { throw .unreadable(path: self.path(of: name)) }
        return bytes
    }

    /// Replaces the file of that name atomically: after a crash it is the old one or the new one.
    ///
    /// The new file is on the disk under its temporary name before it is renamed, and when this returns, so is the
    /// directory. After a failure the temporary file is removed.
    func replace(
        _ name: String, with bytes: [UInt8], temporaryName: String
    ) throws(ChappieCredentialStorageError) {
        try self.describing(self.path(of: name)) { () throws(FileSystemCalls.Failure) in
            let file = try self.calls.open(
                temporaryName, in: self.descriptor, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            do throws(FileSystemCalls.Failure) {
                try self.fill(file, with: bytes)
                try self.calls.run(.rename) {
                    Int(unsafe renameat(self.descriptor, temporaryName, self.descriptor, name))
                }
            } catch {
                try? self.unlink(temporaryName)
                throw error
            }
            try self.synchronizeNames()
        }
    }

    /// Checks that a file can be replaced: writes a temporary one of this size, and removes it.
    func checkReplacing(
        _ name: String, byteCount: Int, temporaryName: String
    ) throws(ChappieCredentialStorageError) {
        // A directory of that name prevents the renaming alone.
        if let directory = try? self.calls.open(name, in: self.descriptor, flags: O_RDONLY | O_DIRECTORY) {
            try? self.calls.close(directory)
            throw .notAFile(path: self.path(of: name))
        }
        try self.describing(self.path(of: name)) { () throws(FileSystemCalls.Failure) in
            let file = try self.calls.open(
                temporaryName, in: self.descriptor, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            defer { try? self.unlink(temporaryName) }
            try self.fill(file, with: [UInt8](repeating: 0, count: byteCount))
        }
    }

    /// Removes files; missing ones are ignored.
    func remove(_ names: [String]) throws(ChappieCredentialStorageError) {
        for name in names {
            try self.describing(self.path(of: name)) { () throws(FileSystemCalls.Failure) in
                try self.unlink(name)
            }
        }
        guard !names.isEmpty else { return }
        try self.describing(self.path) { () throws(FileSystemCalls.Failure) in try self.synchronizeNames() }
    }

    /// Locks a file, which is created if necessary; returns its descriptor, or nil while another caller holds the lock.
    ///
    /// `unlock(_:)` releases it, and so does the end of the process.
    func lock(_ name: String) throws(ChappieCredentialStorageError) -> CInt? {
        // The file may have been removed between opening and locking: the lock has no effect then.
        for _ in 1...16 {
            guard let file = try self.open(name, flags: O_RDWR | O_CREAT) else { continue }
            var isHeld = false
            defer { if !isHeld { try? self.calls.close(file) } }
            try self.check(file, is: S_IFREG, path: self.path(of: name))
            do throws(FileSystemCalls.Failure) {
                try self.calls.run(.lock) { Int(flock(file, LOCK_EX | LOCK_NB)) }
                isHeld = try self.calls.status(file).st_nlink > 0
            } catch {
                if error.code == EWOULDBLOCK { return nil }
                throw Self.error(error, self.path(of: name))
            }
            if isHeld { return file }
        }
        return nil
    }

    /// Unlocks a file, also for a child process that has not closed it yet.
    static func unlock(_ file: CInt, calls: FileSystemCalls) {
        _ = try? calls.run(.lock) { Int(flock(file, LOCK_UN)) }
        try? calls.close(file)
    }

    // MARK: The steps

    private func path(of name: String) -> String { "\(self.path)/\(name)" }

    private func open(_ name: String, flags: CInt) throws(ChappieCredentialStorageError) -> CInt? {
        do throws(FileSystemCalls.Failure) {
            return try self.calls.open(name, in: self.descriptor, flags: flags, mode: 0o600)
        } catch {
            if error.code == ENOENT { return nil }
            throw Self.error(error, self.path(of: name))
        }
    }

    /// Refuses files that others can access, and files of another type; returns the size.
    @discardableResult
    private func check(
        _ descriptor: CInt, is type: mode_t, path: String
    ) throws(ChappieCredentialStorageError) -> Int {
        let status = try self.describing(path) { () throws(FileSystemCalls.Failure) in
            try self.calls.status(descriptor)
        }
        // A file that was replaced after it was opened has no name any more, and is still valid.
        guard status.st_mode & S_IFMT == type, type == S_IFDIR || status.st_nlink <= 1 else {
            throw .notAFile(path: path)
        }
        guard status.st_uid == geteuid() else { throw .foreignOwner(path: path) }
        guard status.st_mode & 0o077 == 0 else {
            throw .insecurePermissions(path: path, mode: String(status.st_mode & 0o7777, radix: 8))
        }
        return Int(status.st_size)
    }

    private func read(_ file: CInt) throws(FileSystemCalls.Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 14)
        while bytes.count <= Self.fileByteLimit {
            let count = try self.calls.run(.read) {
                unsafe piece.withUnsafeMutableBytes { unsafe readBytes(file, $0) }
            }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    /// Writes all bytes, to the disk, and closes the file in any case.
    private func fill(_ file: CInt, with bytes: [UInt8]) throws(FileSystemCalls.Failure) {
        do throws(FileSystemCalls.Failure) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = try self.calls.run(.write) { unsafe rest.withUnsafeBytes { unsafe writeBytes(file, $0) } }
                rest = rest.dropFirst(count)
            }
            try self.calls.synchronize(file)
        } catch {
            try? self.calls.close(file)
            throw error
        }
        // A full disk of a file server may be reported here.
        try self.calls.close(file)
    }

    /// Removes a file, if there is one.
    private func unlink(_ name: String) throws(FileSystemCalls.Failure) {
        do throws(FileSystemCalls.Failure) {
            try self.calls.run(.remove) { Int(unsafe unlinkat(self.descriptor, name, 0)) }
        } catch {
            guard error.code == ENOENT else { throw error }
        }
    }

    private func synchronizeNames() throws(FileSystemCalls.Failure) {
        try Self.synchronizeNames(self.descriptor, calls: self.calls)
    }

    /// Writes the names of a directory to the disk, where its file system supports that.
    private static func synchronizeNames(
        _ directory: CInt, calls: FileSystemCalls
    ) throws(FileSystemCalls.Failure) {
        do throws(FileSystemCalls.Failure) {
            try calls.synchronize(directory)
        } catch {
            guard error.code == EINVAL else { throw error }
        }
    }

    /// Creates a directory for its owner only, and its parents.
    private static func make(_ path: String, calls: FileSystemCalls) throws(FileSystemCalls.Failure) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let above = path.distance(from: path.startIndex, to: slash) > 0 ? String(path[..<slash]) : nil
        do throws(FileSystemCalls.Failure) {
            guard try Self.makeOne(path, calls: calls) else { return }
        } catch {
            guard error.code == ENOENT, let above else { throw error }
            try Self.make(above, calls: calls)
            // Once: the parent may exist and lead nowhere, as a link does whose target is missing.
            guard try Self.makeOne(path, calls: calls) else { return }
        }
        // The parent's owner may forbid listing it.
        guard let above, let parent = try? calls.open(above, flags: O_RDONLY | O_DIRECTORY) else { return }
        defer { try? calls.close(parent) }
        try Self.synchronizeNames(parent, calls: calls)
    }

    /// Creates a directory in an existing one; returns false when the name exists already.
    private static func makeOne(_ path: String, calls: FileSystemCalls) throws(FileSystemCalls.Failure) -> Bool {
        do throws(FileSystemCalls.Failure) {
            try calls.run(.makeDirectory) { Int(unsafe mkdir(path, 0o700)) }
            return true
        } catch {
            guard error.code == EEXIST else { throw error }
            return false
        }
    }

    // MARK: Errors

    private func describing<Value>(
        _ path: String, _ body: () throws(FileSystemCalls.Failure) -> Value
    ) throws(ChappieCredentialStorageError) -> Value {
        do throws(FileSystemCalls.Failure) {
            return try body()
        } catch {
            throw Self.error(error, path)
        }
    }

    private static func error(_ failure: FileSystemCalls.Failure, _ path: String) -> ChappieCredentialStorageError {
        switch (failure.call, failure.code) {
        // A link, a file instead of a directory, a directory instead of a file, a socket or a pipe.
        case (.open, ELOOP), (.open, ENOTDIR), (.open, EISDIR), (.open, ENXIO), (.rename, EISDIR):
            .notAFile(path: path)
        default: .systemCallFailed(operation: failure.call.rawValue, path: path, code: failure.code)
        }
    }
}

private func readBytes(_ file: CInt, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(file, bytes.baseAddress, bytes.count)
}

private func writeBytes(_ file: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
    unsafe write(file, bytes.baseAddress, bytes.count)
}

/// Reads all names of an open directory, which is closed whatever the result.
private func listNames(_ descriptor: CInt, into names: inout [String]) -> Int {
    guard let stream = unsafe fdopendir(descriptor) else {
        let code = errno
        _ = close(descriptor)
        errno = code
        return -1
    }
    while true {
        errno = 0
        guard let entry = unsafe readdir(stream) else {
            let code = errno
            _ = unsafe closedir(stream)
            errno = code
            return code == 0 ? 0 : -1
        }
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            unsafe String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
        }
        names.append(name)
    }
}
