import StreamTransport
import Synchronization

/// The side of a turn that one of its streams holds: when the stream is dropped, so is the turn.
@usableFromInline
package final class TurnReader: Sendable {
    /// The state that the streams of one handle share.
    final class Shared: Sendable {
        private let isCancelled = Atomic(false)
        /// The events that a stream of single events has read and its consumer has not taken.
        fileprivate let batch = LockedValue(EventBatch())

        /// Tells the streams that the turn was cancelled.
        func cancel() { self.isCancelled.store(true, ordering: .relaxed) }

        fileprivate var isCancelRequested: Bool { self.isCancelled.load(ordering: .relaxed) }
    }

    private let turn: any StreamedTurn
    /// The turn if it is a single response: an asynchronous call by way of the protocol costs one frame more.
    @usableFromInline let driver: TurnDriver?
    private let shared: Shared
    /// Another stream of the turn, which lives as long.
    private let other: AsyncThrowingStream<ChappieStreamEvent, any Error>?
    /// Indicates whether another consumer reads the turn, which is that one's to cancel.
    private let isRefused = Atomic(false)

    /// Creates the reader of a turn that is not read yet.
    package convenience init(_ turn: any StreamedTurn) { self.init(turn, Shared()) }

    /// Creates a reader that shares a handle's state.
    init(
        _ turn: any StreamedTurn, _ shared: Shared,
        keeping other: AsyncThrowingStream<ChappieStreamEvent, any Error>? = nil
    ) {
        self.turn = turn
        self.driver = turn as? TurnDriver
        self.shared = shared
        self.other = other
    }

    deinit { self.cancel() }

    /// Ends the turn, unless it has ended or another consumer reads it.
    @usableFromInline
    func cancel() {
        if !self.isRefused.load(ordering: .relaxed) { self.turn.cancel() }
    }

    /// Indicates whether the turn or the current task was cancelled.
    @usableFromInline var isCancelled: Bool { self.shared.isCancelRequested || Task.isCancelled }

    /// Returns an error of the turn, after a note of a refusal.
    ///
    /// Inline, the error has room in the frames of asynchronous functions, which a stream that waits holds.
    @usableFromInline @inline(never)
    func noted(_ error: any Error) -> any Error {
        if case .alreadyRead? = error as? ChappieClientError { self.isRefused.store(true, ordering: .relaxed) }
        return error
    }

    /// Takes the events that another stream of the handle has read and not passed on.
    func takeRest() -> [ChappieStreamEvent]? {
        self.isCancelled ? nil : self.shared.batch.withLock { $0.takeRest() }
    }

    /// Returns the next events of a turn that is not a single response; nil after the end.
    @usableFromInline
    func next(for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent]) async throws
        -> [ChappieStreamEvent]?
    {
        try await self.turn.next(for: form, reusing: memory)
    }

    // MARK: The standard library's streams

    // Each calls the turn itself: a stream that waits keeps the frame of every function between.

    /// Returns the events one by one.
    func stream() -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        AsyncThrowingStream { [self] in
            if let event = self.takeEvent() { return event }
            do {
                let memory = self.shared.batch.withLock { $0.takeMemory() }
                guard let driver = self.driver else {
                    return self.first(of: try await self.turn.next(for: .stream, reusing: memory))
                }
                return self.first(of: try await driver.next(for: .stream, reusing: memory))
            } catch {
                throw self.failed(error)
            }
        }
    }

    /// Takes an event that was read; nil when there is none, and when the turn was cancelled.
    private func takeEvent() -> ChappieStreamEvent? {
        self.isCancelled ? nil : self.shared.batch.withLock { $0.next() }
    }

    private func first(of events: [ChappieStreamEvent]?) -> ChappieStreamEvent? {
        self.shared.batch.withLock { $0.fill(events) }
    }

    @inline(never)
    private func failed(_ error: any Error) -> any Error {
        self.shared.batch.withLock { $0.drop() }
        return self.noted(error)
    }

    /// Returns the events in batches.
    func batches() -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        AsyncThrowingStream { [self] in
            if let rest = self.takeRest() { return rest }
            do {
                guard let driver = self.driver else { return try await self.turn.next(for: .batches, reusing: []) }
                return try await driver.next(for: .batches)
            } catch {
                throw self.noted(error)
            }
        }
    }
}
