// The loop behind the asynchronous sequences: a chunk in, a queue of what it completed out. Owned by one iterator.

/// What a reader hands out: events alone, or everything that the stream says.
@usableFromInline protocol EventStreamOutput {
    /// Copies what the parser lends; nil when it is not handed out.
    static func copy(of item: EventStreamItem) -> Self?

    /// The last event ID that comes with it; nil when it brings none.
    var broughtLastEventID: String? { get }
}

/// Reads chunks, parses them, and hands out what they complete, one value at a time.
///
/// It waits once for each chunk. The next chunk is asked for when everything of the one before has been handed out, so
/// that nothing which was complete is lost to a failure or a cancellation, and the queue never holds more than one chunk
/// gives.
///
/// It is inlinable so that it is compiled for its base: single bytes were measured to take 6 ns each then, and 110 ns
/// otherwise; an event in chunks 20 ns more than the parser itself, and 600 ns otherwise.
@usableFromInline struct EventStreamReader<Base: AsyncSequence, Output: EventStreamOutput>
where Base.Element: Sequence<UInt8> {
    /// What the next value needs.
    @usableFromInline enum State {
        /// Another chunk.
        case reading
        /// Nothing: the parser refused a part of the chunk, which is told after what came before it.
        case failed(EventStreamError)
        /// Nothing: the bytes ended, or an error was told.
        case finished
    }

    @usableFromInline var base: Base.AsyncIterator
    @usableFromInline var parser: EventStreamParser
    @usableFromInline var state = State.reading
    /// What the chunk completed, the next value last.
    @usableFromInline var queue: [Output] = []

    /// The last event ID at the latest value that was handed out.
    @usableFromInline var lastEventID: String
    /// Where the stream ended; nil before that, and when it failed.
    @usableFromInline var end: EventStreamEnd?

    /// A queue with room for more values is not kept for the next chunk.
    @usableFromInline static var largestKeptCapacity: Int { 4_096 }

    /// Creates a reader at the beginning of a stream.
    @inlinable init(base: Base.AsyncIterator, maximumEventByteCount: Int, lastEventID: String) {
        self.base = base
        self.parser = EventStreamParser(maximumEventByteCount: maximumEventByteCount, lastEventID: lastEventID)
        self.lastEventID = lastEventID
    }

    /// Takes the next value from the queue, and notes the last event ID that it brings.
    ///
    /// The parser is ahead of the queue. A caller who stops in mid-chunk must not skip what it has not seen, so the
    /// parser's last event ID counts only when the queue is empty.
    @inlinable mutating func takeQueued() -> Output? {
        guard let output = self.queue.popLast() else { return nil }
        if self.queue.isEmpty {
            self.lastEventID = self.parser.lastEventID
        } else if let id = output.broughtLastEventID {
            self.lastEventID = id
        }
        return output
    }

    /// Reads until the queue has something; false when the stream has ended.
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

    /// Asks the base once, and parses what it has.
    @inlinable mutating func readChunk(isolation actor: isolated (any Actor)?) async throws {
        // One enormous chunk must not leave its queue's memory behind.
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

    /// Fills the queue with what a chunk completes.
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
