// How long the output of a stream is waited for.
import Synchronization

/// The reasons to wait no longer for whoever reads the output.
///
/// Owned by the command; any thread may ask.
final class OutputPatience: Sendable {
    private let isOver = Atomic(false)
    private let end: ContinuousClock.Instant?

    /// Waits on, for so long from now at most.
    init(limit: Duration?) { self.end = limit.map { ContinuousClock.now + $0 } }

    /// Indicates whether the process was interrupted.
    var isInterrupted: Bool { self.isOver.load(ordering: .acquiring) }

    /// The process was interrupted.
    func interrupt() { self.isOver.store(true, ordering: .releasing) }

    /// The reason to wait no longer; nil is to wait on.
    var error: DescriptorError? {
        if self.isInterrupted { return .interrupted }
        return self.end.map { ContinuousClock.now >= $0 } == true ? .late : nil
    }
}
