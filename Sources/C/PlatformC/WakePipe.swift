// A pipe by which one thread wakes another one from `poll`.

/// A non-blocking pipe; its creator closes it.
package struct WakePipe: Sendable {
    /// The end that `poll` watches.
    package let reader: CInt
    private let writer: CInt

    /// Creates a pipe; nil when there are no descriptors.
    package init?() {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        (self.reader, self.writer) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    /// Wakes the thread.
    package func wake() {
        var byte: UInt8 = 0
        // A full pipe wakes the thread as well.
        _ = unsafe write(self.writer, &byte, 1)
    }

    /// Removes the wake-ups.
    package func drain() {
        var buffer = [UInt8](repeating: 0, count: 64)
        while unsafe read(self.reader, &buffer, buffer.count) == buffer.count {}
    }

    /// Closes both ends.
    package func close() {
        for end in [self.reader, self.writer] { _ = PlatformC.close(end) }
    }
}
