import StreamTransport

/// The reason for which the answer to a turn's question to its program is late so far.
///
/// A turn whose time is over before the answer fails with it, rather than with the passed time. The asking turn makes
/// it; the program's closure, such as the refresh of an account's token, finds it as a task-local value and notes each
/// attempt that has failed. Its state is behind a lock.
package final class LateReason: Sendable {
    /// The reason of the question that the current task answers; nil outside of one.
    @TaskLocal package static var current: LateReason?

    private let error = LockedValue<(any Error)?>(nil)

    /// Creates a reason that is not known yet.
    package init() {}

    /// The newest reason; nil for an unknown one.
    package var noted: (any Error)? { self.error.withLock { $0 } }

    /// Notes why the answer is not there yet.
    package func note(_ error: any Error) { self.error.withLock { $0 = error } }
}
