import StreamTransport

/// Wakes the tasks of this process that wait for a change of a stream.
///
/// May be used from any task.
package final class StreamChanges: Sendable {
    private let signals = LockedValue<[ChappieStreamID: [ObjectIdentifier: Signal]]>([:])

    /// Creates an object without waiting tasks.
    package init() {}

    /// Indicates whether a task waits.
    package var hasWaiters: Bool { self.signals.withLock { !$0.isEmpty } }

    /// Wakes the tasks that wait for a stream.
    package func notify(_ id: ChappieStreamID) {
        let signals = self.signals.withLock { $0[id].map { Array($0.values) } ?? [] }
        for signal in signals { signal.signal() }
    }

    /// Wakes all tasks that wait.
    package func notifyAll() {
        let signals = self.signals.withLock { $0.values.flatMap(\.values) }
        for signal in signals { signal.signal() }
    }

    /// Waits until the condition holds or the time is over; it is asked at first, and again behind each change.
    ///
    /// No change is missed between a question and the wait behind it. Throws what the condition throws, and
    /// `CancellationError`.
    package func wait(
        for id: ChappieStreamID, atMost duration: Duration, until condition: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + duration
        let signal = Signal()
        self.signals.withLock { $0[id, default: [:]][ObjectIdentifier(signal)] = signal }
        defer {
            self.signals.withLock { all in
                all[id]?[ObjectIdentifier(signal)] = nil
                if all[id]?.isEmpty == true { all[id] = nil }
            }
        }
        try Task.checkCancellation()
        while try await !condition(), .now < end {
            await signal.next(until: end)
            try Task.checkCancellation()
        }
    }
}
