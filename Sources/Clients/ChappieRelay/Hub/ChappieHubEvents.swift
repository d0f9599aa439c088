public import ChappieTransport

/// An event of a stream of a hub, and its position.
public struct ChappieHubEvent: Sendable, Equatable {
    /// The position, from which a reader goes on: greater than that of the event before, and not always by one.
    public let position: Int
    /// The event.
    public let event: ChappieStreamEvent
}

/// The bytes of events as readers of a kind are given them.
package struct ChappieHubForm: Sendable {
    /// Takes the bytes of so many events; false when it cannot take them now.
    package typealias Offer = @Sendable ([UInt8], Int) -> Bool

    /// The name, which no other form has.
    let name: String
    /// Returns the bytes of events, which depend on these alone.
    package let encode: @Sendable ([ChappieHubEvent]) -> [UInt8]

    /// Creates a form.
    package init(name: String, encode: @escaping @Sendable ([ChappieHubEvent]) -> [UInt8]) {
        self.name = name
        self.encode = encode
    }
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

        /// Gives the events that come to a closure, in a form that readers share, for as long as it takes them.
        ///
        /// It returns at once when events are there already, and otherwise when the closure has not taken some, at the
        /// end of the stream, or when the task is cancelled: `nextBatch` has what follows. While it waits, no task of
        /// the reader runs. The closure must return soon, and must not use the hub.
        ///
        /// - Returns: the position behind which `nextBatch` goes on.
        package mutating func pass(_ form: ChappieHubForm, to offer: @escaping ChappieHubForm.Offer) async -> Int {
            await self.reader.pass(form, to: offer)
        }

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
                    let records = try await self.journaled()
                    // The tail has later positions, so the journal has lost these records.
                    if records.isEmpty { self.ending = .failure(.failed(.recordsLost)) }
                    if let batch = self.take(records) { return batch }
                case .nothing: await self.signal.next()
                case .ended(let ending): self.ending = ending
                }
            }
        }

        func pass(_ form: ChappieHubForm, to offer: @escaping ChappieHubForm.Offer) async -> Int {
            guard let tail, self.events.isEmpty, self.ending == nil,
                tail.passRecords(to: self.signal, after: self.position, in: form, offer)
            else { return self.position }
            // A signal from before `passRecords` may be pending; its record was read already.
            repeat { await self.signal.next() } while !Task.isCancelled && tail.isPassing(to: self.signal)
            if let position = tail.endPassing(to: self.signal) { self.position = position }
            return self.position
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
