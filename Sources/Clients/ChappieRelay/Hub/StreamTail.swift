import StreamTransport

/// The newest records of a stream, which all readers of this process share.
///
/// The stream's producer feeds it where that is in this process, and otherwise a follower that reads the journal. May be
/// used from any task.
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

    private struct State {
        /// The newest records without a gap; the last one is at `last`.
        var entries: [Entry] = []
        var byteCount = 0
        /// The position of the stream's last record; nil before it is known.
        var last: Int?
        var ending: Result<Void, ChappieHubError>?
        var signals: [ObjectIdentifier: Signal] = [:]
        var isFed = false
        var isFollowed = false
        /// The time at which a reader was last there.
        var lastReader = ContinuousClock.now
    }

    /// The size of the records that are kept, in bytes.
    private static let byteCountLimit = 256 << 10

    private let state = LockedValue(State())

    /// The position of the last record; nil before it is known.
    var last: Int? { self.state.withLock { $0.last } }

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
            state.signals[ObjectIdentifier(signal)] = nil
            state.lastReader = .now
        }
    }

    /// Says that the stream has a reader in another process.
    func noteReader() { self.state.withLock { $0.lastReader = .now } }

    /// The time for which the stream has had no reader.
    var timeWithoutReaders: Duration {
        self.state.withLock { $0.signals.isEmpty ? $0.lastReader.duration(to: .now) : .zero }
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
            let goesOn = !state.isFed && !state.signals.isEmpty && state.ending == nil
            if !goesOn { state.isFollowed = false }
            return goesOn
        }
    }

    /// Indicates whether a producer of this process feeds the tail.
    var isFed: Bool { self.state.withLock { $0.isFed } }

    /// Indicates whether there is a reader or a producer.
    var isUsed: Bool { self.state.withLock { $0.isFed || $0.isFollowed || !$0.signals.isEmpty } }

    private static func startsFollower(_ state: inout State) -> Bool {
        guard !state.isFed, !state.isFollowed, !state.signals.isEmpty, state.ending == nil else { return false }
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
            }
            state.entries += new
            state.byteCount += new.reduce(0) { $0 + $1.cost }
            state.last = new.last?.position
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

    /// Ends the tail for all its readers, behind the records.
    func end(_ ending: Result<Void, ChappieHubError>) {
        self.wake { state in
            if state.ending == nil { state.ending = ending }
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
