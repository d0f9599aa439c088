import StreamTransport
import Synchronization

/// The events of a stream, taken one by one from batches that are read as a whole.
///
/// The same events, errors and back-pressure as `stream(_:)`, for one consumer. Events of a batch are returned without
/// leaving the actor that reads them, such as the main actor; it is left once between two batches. Dropping the sequence and its iterators closes the connection, and
/// so does cancelling the task that reads them: the next call then throws `CancellationError`, unless the stream had
/// ended: then its remaining events follow, or its error.
///
/// ```swift
/// for try await event in transport.events(request) {
///     if case .textDelta(let text) = event { append(text) }
/// }
/// ```
public struct ChappieEventSequence: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ChappieStreamEvent
    /// The errors of a stream are those of the engine, of the program's own closures, and `CancellationError`.
    public typealias Failure = any Error

    @usableFromInline let reader: EventBatchReader

    /// Creates the sequence of a turn that is not read yet.
    init(_ reader: EventBatchReader) { self.reader = reader }

    /// Creates an iterator; only one may be used.
    ///
    /// A call of `next()` while another iterator waits throws `ChappieClientError.alreadyRead`.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self.reader) }

    /// The iterator, which holds the events that were read and not taken.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline let reader: EventBatchReader
        @usableFromInline var batch: [ChappieStreamEvent] = []
        /// The position of the next event in the batch.
        @usableFromInline var position = 0

        init(_ reader: EventBatchReader) { self.reader = reader }

        /// Returns the next event, on the given actor; nil after `.completed`.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> ChappieStreamEvent? {
            guard self.position < self.batch.count, !self.reader.isCancelled else {
                guard self.reader.readsInSteps else { return try await self.refill(isolation: actor) }
                // The caller's function waits itself: one between would cost two changes of executors.
                do {
                    self.take(try await self.reader.nextOfSequence(reusing: self.takeMemory()))
                } catch {
                    self.end()
                    throw error
                }
                return self.takeFirst()
            }
            defer { self.position += 1 }
            return self.batch[self.position]
        }

        /// Returns the next event; nil after `.completed`.
        @inlinable
        public mutating func next() async throws -> ChappieStreamEvent? { try await self.next(isolation: nil) }

        /// Reads the next batch, and returns its first event; events that were not taken are dropped.
        @usableFromInline
        mutating func refill(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> ChappieStreamEvent? {
            // The memory of events that were taken is not kept while the consumer waits.
            if self.position == self.batch.count { self.end() }
            do {
                self.take(try await self.reader.nextOfSequence())
            } catch {
                self.end()
                throw error
            }
            return self.takeFirst()
        }

        /// Takes out the memory of events that were all taken, for the next ones; nothing while some are left.
        ///
        /// The events themselves are freed: a consumer that waits keeps none. Memory for many more is freed as well.
        @usableFromInline
        mutating func takeMemory() -> [ChappieStreamEvent] {
            guard self.position == self.batch.count else { return [] }
            var memory: [ChappieStreamEvent] = []
            swap(&memory, &self.batch)
            if memory.capacity > 4 * Swift.max(16, memory.count) { memory = [] }
            // One event, as nearly always, is freed without the general function.
            if memory.count == 1 { memory.removeLast() } else { memory.removeAll(keepingCapacity: true) }
            self.position = 0
            return memory
        }

        /// Takes the events of the next batch; nil, behind the end, leaves those that were not taken.
        @usableFromInline
        mutating func take(_ batch: consuming [ChappieStreamEvent]?) {
            if let batch { (self.batch, self.position) = (batch, 0) }
        }

        /// Returns the first event of a batch; nil behind the end.
        ///
        /// A stream that had ended before its cancellation has ended with the events that are left.
        @usableFromInline
        mutating func takeFirst() -> ChappieStreamEvent? {
            guard self.position < self.batch.count else { return nil }
            defer { self.position += 1 }
            return self.batch[self.position]
        }

        /// Drops the events that were not taken.
        @usableFromInline
        mutating func end() { (self.batch, self.position) = ([], 0) }
    }
}

/// A turn as its event sequence reads it: when the sequence is dropped, so is the turn.
@usableFromInline
final class EventBatchReader: Sendable {
    /// A flag by which a handle tells its sequence that the turn was cancelled.
    final class Cancellation: Sendable {
        private let isSet = Atomic(false)

        func set() { self.isSet.store(true, ordering: .relaxed) }

        fileprivate var isRequested: Bool { self.isSet.load(ordering: .relaxed) }
    }

    private let turn: any StreamedTurn
    /// Indicates whether the turn is read in steps.
    @usableFromInline let readsInSteps: Bool
    private let cancellation: Cancellation
    /// Another stream of the turn, which lives as long.
    private let other: AsyncThrowingStream<ChappieStreamEvent, any Error>?
    /// Indicates whether another consumer reads the turn, which is that one's to cancel.
    private let isRefused = Atomic(false)

    init(
        turn: any StreamedTurn, _ cancellation: Cancellation = Cancellation(),
        keeping other: AsyncThrowingStream<ChappieStreamEvent, any Error>? = nil
    ) {
        self.turn = turn
        self.readsInSteps = turn.readsInSteps
        self.cancellation = cancellation
        self.other = other
    }

    deinit {
        if !self.isRefused.load(ordering: .relaxed) { self.turn.cancel() }
    }

    /// Returns an error of the turn, after a note of a refusal.
    ///
    /// Inline, the error has room in the frames of asynchronous functions, which a stream that waits holds.
    @inline(never)
    private func noted(_ error: any Error) -> any Error {
        if case .alreadyRead? = error as? ChappieClientError { self.isRefused.store(true, ordering: .relaxed) }
        return error
    }

    /// Indicates whether the turn or the current task was cancelled.
    @usableFromInline var isCancelled: Bool { self.cancellation.isRequested || Task.isCancelled }

    /// Returns the next events for an iterator; nil after the end.
    nonisolated(nonsending) func nextOfSequence() async throws -> [ChappieStreamEvent]? {
        if Task.isCancelled { self.turn.cancel() }
        do { return try await self.turn.nextOfSequence() } catch { throw self.noted(error) }
    }

    /// Returns the next events of a turn that is read in steps; nil after the end.
    ///
    /// `memory` is an array for them, empty. The function leaves the caller's actor. The steps of a turn are
    /// synchronous, and this one function waits between them: each asynchronous function between an iterator and its
    /// connection costs as much as reading the event.
    @usableFromInline
    func nextOfSequence(reusing memory: consuming [ChappieStreamEvent]) async throws -> [ChappieStreamEvent]? {
        if Task.isCancelled { self.turn.cancel() }
        var step = self.turn.beginStepOfSequence(reusing: memory)
        while true {
            switch step {
            case .events(let events): return events
            case .wait(let connection, let nanoseconds):
                step = self.turn.stepOfSequence(after: await connection.wait(forNanoseconds: nanoseconds))
            case .pause:
                await OtherTasks.run()
                step = self.turn.stepOfSequence(after: Task.isCancelled ? .cancelled : .ready)
            case .refused: throw self.noted(SharedTurnState.refusal)
            case .other: return try await self.turn.restOfSequence()
            }
        }
    }

    /// Returns the next events, at least one; nil after the end.
    nonisolated(nonsending) func nextBatch() async throws -> [ChappieStreamEvent]? {
        if Task.isCancelled { self.turn.cancel() }
        do { return try await self.turn.nextBatch() } catch { throw self.noted(error) }
    }
}
