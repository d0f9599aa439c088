public import ChappieTransport

/// An event of a stream of a hub, and its position.
public struct ChappieHubEvent: Sendable, Equatable {
    /// The position, from which a reader goes on: greater than that of the event before, and not always by one.
    public let position: Int
    /// The event.
    public let event: ChappieStreamEvent
}

/// The events of a stream of a hub behind a position; see `ChappieHub.events(of:after:)`.
///
/// Each iterator reads by itself, from that position. It belongs to one task.
public struct ChappieHubEvents: AsyncSequence, Sendable {
    /// An event and its position.
    public typealias Element = ChappieHubEvent

    let hub: ChappieHub
    let id: ChappieStreamID
    let position: Int

    /// Creates a reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// A reader of a stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader

        init(_ events: ChappieHubEvents) { self.reader = Reader(events) }

        /// Returns the next event; nil behind `completed`.
        ///
        /// Throws `ChappieHubError`, and `CancellationError` when the task is cancelled.
        public mutating func next() async throws -> ChappieHubEvent? { try await self.reader.next() }

        /// Returns the events that are there, at least one; nil behind `completed`.
        ///
        /// For a reader that writes them on together. It throws as `next` does.
        public mutating func nextBatch() async throws -> [ChappieHubEvent]? { try await self.reader.nextBatch() }
    }

    /// The state of an iterator, whose end takes the reader out of the hub.
    ///
    /// It belongs to the iterator's task.
    private final class Reader {
        private let hub: ChappieHub
        private let id: ChappieStreamID
        private var position: Int
        private let signal = Signal()
        private var tail: StreamTail?
        private var events: ArraySlice<ChappieHubEvent> = []
        /// The end behind `events`; nil while the stream goes on.
        private var ending: Result<Void, ChappieHubError>?

        init(_ events: ChappieHubEvents) {
            self.hub = events.hub
            self.id = events.id
            self.position = events.position
        }

        deinit { self.leave() }

        private func leave() {
            guard let tail else { return }
            self.hub.leave(self.signal, of: self.id, tail)
            self.tail = nil
        }

        func next() async throws -> ChappieHubEvent? {
            if self.events.isEmpty {
                guard let batch = try await self.nextBatch() else { return nil }
                self.events = batch[...]
            }
            return self.events.popFirst()
        }

        func nextBatch() async throws -> [ChappieHubEvent]? {
            if !self.events.isEmpty {
                defer { self.events = [] }
                return Array(self.events)
            }
            while true {
                if let ending {
                    self.leave()
                    try ending.get()
                    return nil
                }
                try Task.checkCancellation()
                let tail = try self.tail ?? self.hub.enter(self.signal, of: self.id)
                self.tail = tail
                switch tail.read(after: self.position) {
                case .records(let entries):
                    if let batch = self.take(entries.map { ($0.position, $0.record) }) { return batch }
                case .inJournal:
                    if let batch = self.take(try await self.journaled()) { return batch }
                case .nothing: await self.signal.next()
                case .ended(let ending): self.ending = ending
                }
            }
        }

        /// Reads the records behind the position from the journal.
        private func journaled() async throws -> [(Int, JournaledRecord)] {
            do {
                return try await self.hub.records(of: self.id, after: self.position).map {
                    ($0.position, JournaledRecord.read($0.content).record)
                }
            } catch let error as ChappieJournalError {
                throw error == .unknownStream ? ChappieHubError.unknownStream : ChappieHubError.journal(error)
            }
        }

        /// Takes records behind the position; nil when none of them is an event.
        private func take(_ records: [(position: Int, record: JournaledRecord)]) -> [ChappieHubEvent]? {
            var events: [ChappieHubEvent] = []
            for (position, record) in records {
                self.position = position
                switch record {
                case .event(let event): events.append(ChappieHubEvent(position: position, event: event))
                case .unknown: continue
                case .end(let end):
                    if let error = end.error {
                        self.ending = .failure(error)
                    } else {
                        events.append(ChappieHubEvent(position: position, event: .completed))
                        self.ending = .success(())
                    }
                }
            }
            return events.isEmpty ? nil : events
        }
    }
}
