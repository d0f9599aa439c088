// The system calls of the file storage, in one place, so that a test can make each of them fail or end the process.
import PlatformC

/// Performs the system calls of the file storage.
///
/// Immutable.
package struct FileSystemCalls: Sendable {
    /// A system call, by its name in errors.
    package enum Call: String, Sendable, CaseIterable {
        /// Makes a directory.
        case makeDirectory = "mkdir"
        /// Opens a directory or a file.
        case open = "open"
        /// Returns the status of an open file.
        case status = "fstat"
        /// Reads the names in a directory.
        case list = "readdir"
        /// Locks an open file, or unlocks it.
        case lock = "flock"
        /// Reads from a file.
        case read = "read"
        /// Writes to a file.
        case write = "write"
        /// Waits until a file, or the names in a directory, are on the disk.
        case synchronize = "fsync"
        /// Closes a file.
        case close = "close"
        /// Replaces a file by another one.
        case rename = "rename"
        /// Removes a file.
        case remove = "unlink"
    }

    /// The error of a system call.
    struct Failure: Error {
        /// The system call.
        let call: Call
        /// The system's error number.
        let code: CInt
    }

    private let perform: @Sendable (Call, () -> Int) -> Int

    /// Creates calls that are performed by `perform`.
    ///
    /// `perform` receives the name of the call, and the call itself. It returns the call's result: -1 when it fails,
    /// with the reason in `errno`.
    package init(_ perform: @escaping @Sendable (Call, () -> Int) -> Int) { self.perform = perform }

    /// The system's calls, unchanged.
    package static let system = Self { _, call in call() }

    /// Performs a call, repeatedly while signals interrupt it.
    @discardableResult
    func run(_ call: Call, _ body: () -> Int) throws(Failure) -> Int {
        while true {
            do throws(Failure) {
                return try self.runOnce(call, body)
            } catch {
                guard error.code == EINTR else { throw error }
            }
        }
    }

    /// Performs a call that cannot be repeated, because its descriptor is closed afterwards.
    @discardableResult
    func runOnce(_ call: Call, _ body: () -> Int) throws(Failure) -> Int {
        let result = self.perform(call, body)
        let code = errno
        guard result >= 0 else { throw Failure(call: call, code: code) }
        return result
    }

    /// Closes a descriptor, which is closed afterwards whatever the result.
    func close(_ descriptor: CInt) throws(Failure) {
        do throws(Failure) {
            try self.runOnce(.close) { Int(closeDescriptor(descriptor)) }
        } catch {
            guard error.code == EINTR else { throw error }
        }
    }

    /// Opens a file; the path is relative to the directory, where one is given.
    ///
    /// Links are not followed, child processes do not inherit the descriptor, and opening a pipe does not block.
    func open(
        _ path: String, in directory: CInt = AT_FDCWD, flags: CInt, mode: mode_t = 0
    ) throws(Failure) -> CInt {
        let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return CInt(try self.run(.open) { Int(unsafe openat(directory, path, flags, mode)) })
    }

    /// Returns the status of an open file.
    func status(_ descriptor: CInt) throws(Failure) -> stat {
        var status = stat()
        try self.run(.status) { Int(unsafe fstat(descriptor, &status)) }
        return status
    }

    /// Waits until a file is on the disk.
    func synchronize(_ descriptor: CInt) throws(Failure) {
        #if canImport(Darwin)
            // There fsync leaves the bytes in the drive's own memory.
            try self.run(.synchronize) { Int(fcntl(descriptor, F_FULLFSYNC)) }
        #else
            try self.run(.synchronize) { Int(fsync(descriptor)) }
        #endif
    }
}

private func closeDescriptor(_ descriptor: CInt) -> CInt { close(descriptor) }
