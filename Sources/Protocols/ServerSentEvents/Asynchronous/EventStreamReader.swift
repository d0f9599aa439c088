// The loop of the asynchronous sequences: it takes a chunk and queues the elements that it completes. Owned by one
// iterator.

/// The outputs of a reader: events alone, or all elements of the stream.
@usableFromInline protocol EventStreamOutput {
    /// Copies the borrowed item; nil when it is not an output.
    static func copy(of item: EventStreamItem) -> Self?

    /// The last event ID of the output; nil when it has none.
    var broughtLastEventID: String? { get }
}

/// Reads chunks, parses them, and returns the elements that they complete, one value at a time.
///
/// It waits once for each chunk. The next chunk is requested when all elements of the previous one have been returned,
/// so that no complete element is lost to a failure or a cancellation, and the queue holds the elements of one chunk at
/// most.
///
/// It is inlinable so that it is compiled for its base: single bytes were measured to take 6 ns each then, and 110 ns
/// otherwise; an event in chunks 20 ns more than the parser itself, and 600 ns otherwise.
@usableFromInline struct EventStreamReader<Base: AsyncSequence, Output: EventStreamOutput>
where Base.Element: Sequence<UInt8> {
    /// The need of the next value.
    @usableFromInline enum State {
        /// Another chunk is needed.
        case reading
        /// None: the parser refused a part of the chunk, which is thrown after the elements before it.
        case failed(EventStreamError)
        /// None: the bytes ended, or an error was thrown.
        case finished
    }

    @usableFromInline var base: Base.AsyncIterator
    @usableFromInline var parser: EventStreamParser
    @usableFromInline var state = State.reading
    /// The elements that the chunk completed, the next value last.
    @usableFromInline var queue: [Output] = []

    /// The last event ID at the latest returned value.
    @usableFromInline var lastEventID: String
    /// The place where the stream ended; nil before that, and when it failed.
    @usableFromInline var end: EventStreamEnd?

    /// The largest capacity of a queue that is kept for the next chunk.
    @usableFromInline static var largestKeptCapacity: Int { 4_096 }

    /// Creates a reader at the beginning of a stream.
    @inlinable init(base: Base.AsyncIterator, maximumEventByteCount: Int, lastEventID: String) {
        self.base = base
        self.parser = EventStreamParser(maximumEventByteCount: maximumEventByteCount, lastEventID: lastEventID)
        self.lastEventID = lastEventID
    }

    /// Takes the next value from the queue, and notes its last event ID.
    ///
    /// The parser is ahead of the queue. A caller that stops in the middle of a chunk must not skip elements it has not
    /// taken, so the parser's last event ID is used only when the queue is empty.
    @inlinable mutating func takeQueued() -> Output? {
        guard let output = self.queue.popLast() else { return nil }
        if self.queue.isEmpty {
            self.lastEventID = self.parser.lastEventID
        } else if let id = output.broughtLastEventID {
            self.lastEventID = id
        }
        return output
    }

    /// Reads until the queue has an element; returns false when the stream has ended.
    @inlinable mutating func fillQueue(isolation actor: isolated (any Actor)?) async throws -> Bool {
        while self.queue.isEmpty {
            switch self.state {
            case .reading:
                try await self.readChunk(isolation: actor)
            case .failed(let error):
                self.state = .finished
                throw error
            case .finished:
                return false
            }
        }
        return true
    }

    /// Reads one chunk of the base, and parses it.
    @inlinable mutating func readChunk(isolation actor: isolated (any Actor)?) async throws {
        // The memory of a very large queue is not kept after one enormous chunk.
        if self.queue.capacity > Self.largestKeptCapacity { self.queue = [] }
        do {
            if let chunk = try await self.base.next(isolation: actor) {
                self.parse(chunk)
            } else {
                self.state = .finished
                self.end = self.parser.finish()
            }
        } catch {
            self.state = .finished
            throw error
        }
    }

    /// Fills the queue with the elements that a chunk completes.
    @inlinable mutating func parse(_ chunk: Base.Element) {
        do throws(EventStreamError) {
            unsafe try self.parser.parse(contentsOf: chunk) { item in
                if let output = unsafe Output.copy(of: item) { self.queue.append(output) }
            }
        } catch {
            self.state = .failed(error)
        }
        if self.queue.isEmpty {
            self.lastEventID = self.parser.lastEventID
        } else {
            self.queue.reverse()
        }
    }
}
