import StreamTransport

/// Collects the lines of traces, behind a lock.
final class TraceBox: Sendable {
    private let lines = LockedValue<[String]>([])

    /// Adds lines.
    func append(_ lines: [String]) { self.lines.withLock { $0 += lines } }

    /// Every line so far.
    var all: [String] { self.lines.withLock { $0 } }
}
