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

    /// Whether a person reads it.
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
            let count = unsafe rest.withUnsafeBytes { part in
                unsafe systemWrite(self.descriptor, part.baseAddress, part.count)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
                continue
            }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN: self.waitUntilWritable()
            case EPIPE: throw .closed
            default: throw .failed(code: code)
            }
        }
    }

    /// A terminal or pipe that another process made non-blocking is shared with that process: it stays as it is.
    private func waitUntilWritable() {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }
}

private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, bytes, count)
}

private func systemWindowSize(_ descriptor: CInt, _ size: inout winsize) -> CInt {
    unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size)
}
