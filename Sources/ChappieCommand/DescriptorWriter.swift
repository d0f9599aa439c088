// Unbuffered output: every piece goes out whole and at once.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Writes to a file descriptor that it does not own.
struct DescriptorWriter: Sendable {
    /// The descriptor.
    let descriptor: CInt
    /// The reason to wait no longer for room; nil is to wait on.
    ///
    /// It is asked only when there is no room, and then again and again.
    var giveUp: (@Sendable () -> DescriptorError?)?

    /// The time from one such question to the next, in milliseconds.
    private static let patience: CInt = 50

    /// Indicates whether a person reads it.
    var isTerminal: Bool { isatty(self.descriptor) == 1 }

    /// How many columns the terminal has; nil when it is none, or does not say.
    var columnCount: Int? {
        var size = winsize()
        guard systemWindowSize(self.descriptor, &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes text whole.
    func write(_ text: String) throws(DescriptorError) {
        guard !text.isEmpty else { return }
        try self.write(bytes: Array(text.utf8))
    }

    /// Writes bytes whole, however many calls that takes.
    ///
    /// `SIGPIPE` has to be ignored for `DescriptorError.closed` to be thrown.
    func write(bytes: [UInt8]) throws(DescriptorError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if self.giveUp != nil { try self.waitUntilWritable() }
            // Where there is room, there is room for that much: a larger piece might wait in the system, out of reach.
            let limit = self.giveUp == nil ? Int.max : Int(PIPE_BUF)
            let count = unsafe rest.withUnsafeBytes { part in
                unsafe systemWrite(self.descriptor, part.baseAddress, min(part.count, limit))
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
                continue
            }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN: try self.waitUntilWritable()
            case EPIPE: throw .closed
            default: throw .failed(code: code)
            }
        }
    }

    /// A terminal or pipe that another process made non-blocking is shared with that process: it stays as it is.
    private func waitUntilWritable() throws(DescriptorError) {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
        while unsafe poll(&request, 1, self.giveUp == nil ? -1 : Self.patience) <= 0 {
            if let error = self.giveUp?() { throw error }
        }
    }
}

private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, bytes, count)
}

private func systemWindowSize(_ descriptor: CInt, _ size: inout winsize) -> CInt {
    unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size)
}
