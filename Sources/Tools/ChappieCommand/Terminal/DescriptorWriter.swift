// Unbuffered output: every text is written whole and at once.
import PlatformC

/// Writes to a file descriptor that it does not own.
struct DescriptorWriter: Sendable {
    /// The descriptor.
    let descriptor: CInt
    /// Returns the reason to stop waiting for room; nil to continue.
    ///
    /// It is called only when there is no room, and then repeatedly.
    var giveUp: (@Sendable () -> DescriptorError?)?

    /// The time between two such calls, in milliseconds.
    private static let patience: CInt = 50

    /// Indicates whether it is a terminal.
    var isTerminal: Bool { isatty(self.descriptor) == 1 }

    /// The size of the terminal; nil when it is not one, or does not report it.
    var size: TerminalSize? {
        var size = winsize()
        guard unsafe ioctl(self.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return TerminalSize(columnCount: Int(size.ws_col), rowCount: Int(size.ws_row))
    }

    /// The number of columns of the terminal; nil when it is not one, or does not report it.
    var columnCount: Int? { self.size?.columnCount }

    /// Writes text whole.
    func write(_ text: String) throws(DescriptorError) {
        guard !text.isEmpty else { return }
        try self.write(bytes: Array(text.utf8))
    }

    /// Writes bytes whole, in as many calls as necessary.
    ///
    /// `SIGPIPE` has to be ignored for `DescriptorError.closed` to be thrown.
    func write(bytes: [UInt8]) throws(DescriptorError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if self.giveUp != nil { try self.waitUntilWritable() }
            // Where there is room, this many bytes fit: a larger write might block in the system, where it cannot be
            // interrupted.
            let limit = self.giveUp == nil ? Int.max : Int(PIPE_BUF)
            let count = unsafe rest.withUnsafeBytes { part in
                unsafe PlatformC.write(self.descriptor, part.baseAddress, min(part.count, limit))
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

    /// Waits for room.
    ///
    /// A non-blocking terminal or pipe is shared with the process that made it so: its mode is kept.
    private func waitUntilWritable() throws(DescriptorError) {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
        while unsafe poll(&request, 1, self.giveUp == nil ? -1 : Self.patience) <= 0 {
            if let error = self.giveUp?() { throw error }
        }
    }
}
