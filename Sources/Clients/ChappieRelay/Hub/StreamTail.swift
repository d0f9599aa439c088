import StreamTransport

/// The newest records of a stream, which all readers of this process share.
///
/// The stream's producer feeds it where that is in this process, and otherwise a follower that reads the journal. May
/// be used from any task.
final class StreamTail: Sendable {
    /// The result of reading behind a position.
    enum Reading {
        case records([Entry])
        /// The records are no longer here, and are in the journal.
        case inJournal
        /// No record yet: a signal follows.
        case nothing
        /// No record will come: the stream is complete, or has failed.
        case ended(Result<Void, ChappieHubError>)
    }

    struct Entry: Sendable {
        let position: Int
        let record: JournaledRecord
        /// The size of the record in the journal, in bytes.
        let byteCount: Int
        /// The memory that it takes, about: short records are mostly their values.
        var cost: Int { self.byteCount + 96 }
    }

    /// A reader that has all records and gets the next ones from the task that adds them.
    private final class DirectReader {
        let signal: Signal
        let form: ChappieHubForm
        let offer: ChappieHubForm.Offer
        var position: Int

        init(_ signal: Signal, after position: Int, _ form: ChappieHubForm, _ offer: @escaping ChappieHubForm.Offer) {
            self.signal = signal
            self.form = form
            self.offer = offer
            self.position = position
        }
    }

    private struct State {
        /// The newest records without a gap; the last one is at `last`.
        var entries: [Entry] = []
        var byteCount = 0
        /// The position of the stream's last record; nil before it is known.
        var last: Int?
        var ending: Result<Void, ChappieHubError>?
        /// The readers that look for records themselves when they are woken.
        var signals: [ObjectIdentifier: Signal] = [:]
        /// The other readers.
        ///
        /// - Safety: they are used under the tail's lock alone.
        nonisolated(unsafe) var direct: [ObjectIdentifier: DirectReader] = [:]
        /// The positions of readers that were direct ones, until they ask.
        var positions: [ObjectIdentifier: Int] = [:]
        var isFed = false
        var isFollowed = false
        /// The time at which a reader was last there.
        var lastReader = ContinuousClock.now

        var hasReaders: Bool { !self.signals.isEmpty || !self.direct.isEmpty }

        /// Lets direct readers look for records themselves.
        mutating func detach(_ readers: [DirectReader]) {
            for reader in readers {
                let id = ObjectIdentifier(reader.signal)
                self.direct[id] = nil
                self.signals[id] = reader.signal
                self.positions[id] = reader.position
            }
        }

        mutating func detachAll() {
            if !self.direct.isEmpty { self.detach(Array(self.direct.values)) }
        }
    }

    /// The size of the records that are kept, in bytes.
    private static let byteCountLimit = 256 << 10

    private let state = LockedValue(State())

    /// The position of the last record; nil before it is known.
    var last: Int? { self.state.withLock { $0.last } }

    /// The last record, unless it is in the journal alone.
    var newest: Entry? { self.state.withLock { $0.entries.last } }

    /// Enters a reader's signal.
    ///
    /// - Returns: true when a follower has to be started, which is then taken to run.
    func enter(_ signal: Signal) -> Bool {
        self.state.withLock { state in
            state.signals[ObjectIdentifier(signal)] = signal
            state.lastReader = .now
            return Self.startsFollower(&state)
        }
    }

    /// Takes a reader's signal out.
    func leave(_ signal: Signal) {
        self.state.withLock { state in
            let id = ObjectIdentifier(signal)
            (state.signals[id], state.direct[id], state.positions[id]) = (nil, nil, nil)
            state.lastReader = .now
        }
    }

    /// Lets a reader that has all records get the next ones in a form that it shares with others, and no signals.
    ///
    /// Its signal comes when that is over: at the end, and when an offer was not taken.
    ///
    /// - Returns: false when there is something for the reader to do.
    func passRecords(
        to signal: Signal, after position: Int, in form: ChappieHubForm, _ offer: @escaping ChappieHubForm.Offer
    ) -> Bool {
        self.state.withLock { state in
            let id = ObjectIdentifier(signal)
            guard state.ending == nil, state.last == position, state.signals[id] != nil else { return false }
            state.signals[id] = nil
            state.direct[id] = DirectReader(signal, after: position, form, offer)
            return true
        }
    }

    /// Indicates whether what `passRecords` has begun goes on.
    func isPassing(to signal: Signal) -> Bool {
        self.state.withLock { $0.direct[ObjectIdentifier(signal)] != nil }
    }

    /// Ends what `passRecords` has begun, and returns the position of the last record that was taken.
    func endPassing(to signal: Signal) -> Int? {
        self.state.withLock { state in
            let id = ObjectIdentifier(signal)
            if let reader = state.direct[id] { state.detach([reader]) }
            return state.positions.removeValue(forKey: id)
        }
    }

    /// Records that the stream has a reader whose signal is not entered here.
    func noteReader() { self.state.withLock { $0.lastReader = .now } }

    /// The time for which the stream has had no reader.
    var timeWithoutReaders: Duration {
        self.state.withLock { $0.hasReaders ? .zero : $0.lastReader.duration(to: .now) }
    }

    /// Says that a producer of this process feeds the tail, or no longer does.
    ///
    /// - Returns: true when a follower has to be started.
    func setFed(_ isFed: Bool) -> Bool {
        self.state.withLock { state in
            state.isFed = isFed
            // The end of an earlier follower does not concern a producer.
            if isFed { state.ending = nil }
            return !isFed && Self.startsFollower(&state)
        }
    }

    /// Returns whether the follower goes on; if not, it is taken to have ended.
    func continuesFollowing() -> Bool {
        self.state.withLock { state in
            let goesOn = !state.isFed && state.hasReaders && state.ending == nil
            if !goesOn { state.isFollowed = false }
            return goesOn
        }
    }

    /// Indicates whether a producer of this process feeds the tail.
    var isFed: Bool { self.state.withLock { $0.isFed } }

    /// Indicates whether there is a reader or a producer.
    var readerCount: Int { self.state.withLock { $0.signals.count + $0.direct.count } }

    var isUsed: Bool { self.state.withLock { $0.isFed || $0.isFollowed || $0.hasReaders } }

    private static func startsFollower(_ state: inout State) -> Bool {
        guard !state.isFed, !state.isFollowed, state.hasReaders, state.ending == nil else { return false }
        state.isFollowed = true
        return true
    }

    /// Sets the position of the last record in the journal, where readers find what is not here.
    func begin(behind position: Int) {
        self.wake { state in
            guard position > state.last ?? -1 else { return }
            state.last = position
            state.entries = []
            state.byteCount = 0
            state.detachAll()
        }
    }

    /// Adds records that follow; those that are known already are left out.
    func append(_ entries: [Entry]) {
        self.wake { state in
            let new = entries.drop { $0.position <= state.last ?? 0 }
            guard let first = new.first else { return }
            if first.position != (state.last ?? 0) + 1 {
                state.entries = []
                state.byteCount = 0
                state.detachAll()
            }
            state.entries += new
            state.byteCount += new.reduce(0) { $0 + $1.cost }
            state.last = new.last?.position
            Self.pass(new, in: &state)
            guard state.byteCount > Self.byteCountLimit else { return }
            // Down to a half, so that an entry is moved once on average.
            var dropped = 0
            while state.byteCount > Self.byteCountLimit / 2, dropped < state.entries.count - 1 {
                state.byteCount -= state.entries[dropped].cost
                dropped += 1
            }
            state.entries.removeFirst(dropped)
        }
    }

    /// Offers records to the direct readers, each form encoded once.
    ///
    /// It runs under the lock, so that records keep their order. An end is for the readers themselves.
    private static func pass(_ entries: ArraySlice<Entry>, in state: inout State) {
        guard let last = entries.last, !state.direct.isEmpty else { return }
        var events: [ChappieHubEvent] = []
        for entry in entries {
            switch entry.record {
            case .event(let event): events.append(ChappieHubEvent(position: entry.position, event: event))
            case .unknown: continue
            case .end: return state.detachAll()
            }
        }
        var encoded: [String: [UInt8]] = [:]
        var slow: [DirectReader] = []
        var (name, bytes) = ("", [UInt8]())
        for reader in state.direct.values {
            if name != reader.form.name {
                name = reader.form.name
                bytes = encoded[name] ?? reader.form.encode(events)
                encoded[name] = bytes
            }
            if bytes.isEmpty || reader.offer(bytes, events.count) {
                reader.position = last.position
            } else {
                slow.append(reader)
            }
        }
        state.detach(slow)
    }

    /// Ends the tail for all its readers, behind the records.
    func end(_ ending: Result<Void, ChappieHubError>) {
        self.wake { state in
            if state.ending == nil { state.ending = ending }
            state.detachAll()
        }
    }

    /// Ends the tail for its readers on behalf of the follower, unless a producer has begun to feed it.
    func endFollowing(_ ending: Result<Void, ChappieHubError>) {
        self.wake { state in
            guard !state.isFed else { return }
            if state.ending == nil { state.ending = ending }
            state.detachAll()
        }
    }

    /// Returns what is behind a position.
    func read(after position: Int) -> Reading {
        self.state.withLock { state in
            if let last = state.last, position < last {
                guard let first = state.entries.first, first.position <= position + 1 else { return .inJournal }
                return .records(Array(state.entries[(position + 1 - first.position)...]))
            }
            if let ending = state.ending { return .ended(ending) }
            return .nothing
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let signals = self.state.withLock { state in
            change(&state)
            return Array(state.signals.values)
        }
        for signal in signals { signal.signal() }
    }
}
