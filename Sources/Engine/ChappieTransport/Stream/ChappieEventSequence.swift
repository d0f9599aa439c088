/// The events of a stream, taken one by one from batches that are read as a whole.
///
/// The same events, errors and back-pressure as `stream(_:)`, for one consumer. Events of a batch are returned without
/// leaving the actor that reads them, such as the main actor; it is left once between two batches. Dropping the sequence
/// and its iterators closes the connection, and so does cancelling the task that reads them: the next call then throws
/// `CancellationError`, unless the stream had ended: then its remaining events follow, or its error.
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

    @usableFromInline let reader: TurnReader

    /// Creates the sequence of a turn that is not read yet.
    init(_ reader: TurnReader) { self.reader = reader }

    /// Creates an iterator; only one may be used.
    ///
    /// A call of `next()` while another iterator waits throws `ChappieClientError.alreadyRead`.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self.reader) }

    /// The iterator, which holds the events that were read and not taken.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline let reader: TurnReader
        @usableFromInline var batch = EventBatch()

        init(_ reader: TurnReader) {
            self.reader = reader
            if let rest = reader.takeRest() { self.batch = EventBatch(rest) }
        }

        /// Returns the next event, on the given actor; nil after `.completed`.
        @inlinable @inline(__always)
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> ChappieStreamEvent? {
            guard self.batch.hasNext, !self.reader.isCancelled else {
                guard let driver = self.reader.driver else { return try await self.refill(isolation: actor) }
                // The caller's function waits itself: one between would cost two changes of executors.
                do {
                    return self.batch.fill(try await driver.next(for: .events, reusing: self.batch.takeMemory()))
                } catch {
                    throw self.failed(error)
                }
            }
            return self.batch.next()
        }

        /// Returns the next event; nil after `.completed`.
        @inlinable
        public mutating func next() async throws -> ChappieStreamEvent? { try await self.next(isolation: nil) }

        /// Reads the next batch of a turn that is not a single response, and returns its first event.
        @usableFromInline
        mutating func refill(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> ChappieStreamEvent? {
            do {
                return self.batch.fill(try await self.reader.next(for: .events, reusing: self.batch.takeMemory()))
            } catch {
                throw self.failed(error)
            }
        }

        /// Returns an error of the turn, behind which no event follows.
        @usableFromInline
        mutating func failed(_ error: any Error) -> any Error {
            self.batch.drop()
            return self.reader.noted(error)
        }
    }
}
