// The system calls of the file storage, in one place, so that each can fail or be the last one of its process.
#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Performs the system calls of the file storage.
///
/// Immutable; nobody owns it.
package struct FileSystemCalls: Sendable {
    /// A system call, by the name that an error gives it.
    package enum Call: String, Sendable, CaseIterable {
        /// Makes a directory.
        case makeDirectory = "mkdir"
        /// Opens a directory or a file.
        case open = "open"
        /// Asks what has been opened.
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
        /// Puts a file in another one's place.
        case rename = "rename"
        /// Removes a file.
        case remove = "unlink"
    }

    /// A system call has failed.
    struct Failure: Error {
        /// Which one.
        let call: Call
        /// The system's number of the error.
        let code: CInt
    }

    private let perform: @Sendable (Call, () -> Int) -> Int

    /// Calls whose performance is up to `perform`.
    ///
    /// It is given what is called, and the call itself. It returns what the call returns: -1 when that fails, with the
    /// reason in `errno`.
    package init(_ perform: @escaping @Sendable (Call, () -> Int) -> Int) { self.perform = perform }

    /// The system's calls and nothing else.
    package static let system = Self { _, call in call() }

    /// Performs a call, again and again while signals interrupt it.
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

    /// Performs a call that cannot be repeated, because its descriptor is gone afterwards.
    @discardableResult
    func runOnce(_ call: Call, _ body: () -> Int) throws(Failure) -> Int {
        let result = self.perform(call, body)
        let code = errno
        guard result >= 0 else { throw Failure(call: call, code: code) }
        return result
    }

    /// Closes a descriptor, which is gone afterwards whatever the result.
    func close(_ descriptor: CInt) throws(Failure) {
        do throws(Failure) {
            try self.runOnce(.close) { Int(closeDescriptor(descriptor)) }
        } catch {
            guard error.code == EINTR else { throw error }
        }
    }

    /// Opens a file; the path counts from the directory, where one is given.
    ///
    /// No link is followed, programs that are started do not inherit it, and a pipe is not waited for.
    func open(
        _ path: String, in directory: CInt = AT_FDCWD, flags: CInt, mode: mode_t = 0
    ) throws(Failure) -> CInt {
        let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return CInt(try self.run(.open) { Int(unsafe openat(directory, path, flags, mode)) })
    }

    /// What an open file is.
    func status(_ descriptor: CInt) throws(Failure) -> stat {
        var status = stat()
        try self.run(.status) { Int(unsafe fstat(descriptor, &status)) }
        return status
    }

    /// Waits until a file is on the disk.
    func synchronize(_ descriptor: CInt) throws(Failure) {
        #if canImport(Darwin)
            // fsync leaves it in the drive's own memory there.
            try self.run(.synchronize) { Int(fcntl(descriptor, F_FULLFSYNC)) }
        #else
            try self.run(.synchronize) { Int(fsync(descriptor)) }
        #endif
    }
}

private func closeDescriptor(_ descriptor: CInt) -> CInt { close(descriptor) }
