// The time limit for writing the output of a stream.
import Synchronization

/// The reasons to stop waiting for the reader of the output.
///
/// Owned by the command; any thread may call it.
final class OutputPatience: Sendable {
    private let isOver = Atomic(false)
    private let end: ContinuousClock.Instant?

    /// Creates a limit that begins now; nil is no limit.
    init(limit: Duration?) { self.end = limit.map { ContinuousClock.now + $0 } }

    /// Indicates whether the process was interrupted.
    var isInterrupted: Bool { self.isOver.load(ordering: .acquiring) }

    /// Records that the process was interrupted.
    func interrupt() { self.isOver.store(true, ordering: .releasing) }

    /// The reason to stop waiting; nil to continue.
    var error: DescriptorError? {
        if self.isInterrupted { return .interrupted }
        return self.end.map { ContinuousClock.now >= $0 } == true ? .late : nil
    }
}
