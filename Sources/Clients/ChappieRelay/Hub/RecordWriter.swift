import ChappieTransport
import StreamTransport

/// Gathers the records of one stream and appends them to its journal, in batches.
///
/// `add` and `end` belong to the task that reads the response, `run` to a second one. It stops when the journal has
/// refused the writer, or cannot be used for longer than the configuration allows.
final class RecordWriter: Sendable {
    /// The reason for which the writer has stopped.
    enum Outcome: Sendable, Equatable {
        /// The end of the stream is in the journal.
        case ended
        /// All that was added is there; the stream goes on elsewhere.
        case drained
        /// Another process has the stream, or has deleted it.
        case lost
        /// The journal cannot be used.
        case failed(ChappieJournalError)
    }

    private struct State {
        var records: [[UInt8]] = []
        var byteCount = 0
        /// The time at which the first of them came, and that of the first that are being appended; nil without any.
        var (waitsSince, appendsSince): (ContinuousClock.Instant?, ContinuousClock.Instant?)
        var closes = false
        var isDraining = false
        var outcome: Outcome?
    }

    /// The size of the waiting records above which the response is not read on, in bytes.
    private static let waitingByteCountLimit = 1 << 20

    private let id: ChappieStreamID
    private let writer: ChappieJournalWriter
    private let journal: any ChappieJournal
    private let tail: StreamTail
    private let configuration: ChappieHubConfiguration
    private let meter: HubMeter
    private let onCancellation: @Sendable () -> Void
    private let state = LockedValue(State())
    /// Wakes `run`.
    private let filled = Signal()
    /// Wakes the task that reads the response.
    private let emptied = Signal()

    /// Creates a writer; `onCancellation` is called when the stream's end was requested, perhaps more than once.
    init(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, in journal: any ChappieJournal, tail: StreamTail,
        configuration: ChappieHubConfiguration, meter: HubMeter, onCancellation: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.writer = writer
        self.journal = journal
        self.tail = tail
        self.configuration = configuration
        self.meter = meter
        self.onCancellation = onCancellation
    }

    /// The time for which the oldest record has waited that is not appended.
    var lag: Duration {
        self.state.withLock { ($0.appendsSince ?? $0.waitsSince)?.duration(to: .now) ?? .zero }
    }

    /// Adds records; waits while too many wait.
    ///
    /// - Returns: false when the writer has stopped, so that nothing more has to be read.
    func add(_ records: [[UInt8]]) async -> Bool {
        if !records.isEmpty {
            self.state.withLock { state in
                state.records += records
                state.waitsSince = state.waitsSince ?? .now
                state.byteCount += records.reduce(0) { $0 + $1.count }
            }
            self.filled.signal()
        }
        while true {
            let (hasStopped, isFull) = self.state.withLock { state in
                (state.outcome != nil, state.byteCount > Self.waitingByteCountLimit)
            }
            if hasStopped { return false }
            if !isFull { return true }
            await self.emptied.next()
            if Task.isCancelled { return false }
        }
    }

    /// Adds the last record.
    func end(_ record: [UInt8]) {
        self.state.withLock { state in
            state.records.append(record)
            state.waitsSince = state.waitsSince ?? .now
            state.closes = true
        }
        self.filled.signal()
    }

    /// Lets `run` return when all that was added is appended.
    func drain() {
        self.state.withLock { $0.isDraining = true }
        self.filled.signal()
    }

    /// Says that another process has the stream.
    func lose() {
        self.stop(.lost)
        self.filled.signal()
    }

    /// Appends what is added, until the writer has stopped.
    ///
    /// - Parameter position: the position of the stream's last record.
    /// - Returns: why it has stopped.
    func run(after position: Int) async -> Outcome {
        var last = position
        var nextAppend = ContinuousClock.now
        while true {
            guard let batch = await self.nextBatch(at: nextAppend) else { break }
            let outcome = await self.append(
                ChappieJournalBatch(firstPosition: last + 1, records: batch.records, closes: batch.closes))
            if let outcome {
                self.stop(outcome)
                break
            }
            self.state.withLock { $0.appendsSince = nil }
            self.tail.append(Self.entries(batch.records, after: last))
            last += batch.records.count
            if batch.closes { self.stop(.ended) }
            // A batch that was late leaves the time of the next one as it was: events that come at this interval, or
            // more slowly, do not wait.
            let duration = self.configuration.batchDuration
            nextAppend = max(nextAppend, .now - duration * 2) + duration
            self.emptied.signal()
        }
        return self.state.withLock { $0.outcome ?? .drained }
    }

    /// Returns the entries of records for the tail.
    ///
    /// They are read from the bytes, so that readers of this process are given what others read from the journal, in
    /// which the duration of a tool's call is rounded, for instance.
    static func entries(_ records: [[UInt8]], after last: Int) -> [StreamTail.Entry] {
        records.enumerated().map { offset, record in
            StreamTail.Entry(
                position: last + 1 + offset, record: JournaledRecord.read(record).record, byteCount: record.count)
        }
    }

    /// Waits for records, and for the time of the next append unless they are many or the last; nil at the end.
    private func nextBatch(
        at time: ContinuousClock.Instant
    ) async -> (records: [[UInt8]], closes: Bool)? {
        while true {
            enum Step {
                case end
                case append(records: [[UInt8]], closes: Bool)
                case gather
                case wait
            }
            let step = self.state.withLock { state -> Step in
                guard state.outcome == nil else { return .end }
                guard !state.records.isEmpty else { return state.isDraining ? .end : .wait }
                let isDue =
                    state.closes || state.isDraining || state.byteCount >= self.configuration.batchByteCount
                    || .now >= time
                guard isDue else { return .gather }
                defer {
                    state.records = []
                    state.byteCount = 0
                    (state.appendsSince, state.waitsSince) = (state.waitsSince, nil)
                }
                return .append(records: state.records, closes: state.closes)
            }
            switch step {
            case .end: return nil
            case .append(let records, let closes): return (records, closes)
            case .gather: await self.filled.next(until: time)
            case .wait: await self.filled.next()
            }
        }
    }

    /// Appends a batch, again where the journal cannot be used for a while.
    ///
    /// - Returns: nil when it is there.
    private func append(_ batch: ChappieJournalBatch) async -> Outcome? {
        let end = ContinuousClock.now + self.configuration.journalPatience
        var delay = Duration.milliseconds(20)
        while true {
            let start = ContinuousClock.now
            do {
                let standing = try await self.journal.append(
                    batch, to: self.id, by: self.writer, lease: self.configuration.lease)
                self.meter.appended(in: start.duration(to: .now))
                if standing.isCancellationRequested { self.onCancellation() }
                return nil
            } catch let error as ChappieJournalError {
                switch error {
                case .fenced, .closed, .unknownStream: return .lost
                case .damaged: return .failed(error)
                case .gap(let last):
                    await self.close(behindLoss: last)
                    return .failed(error)
                case .unavailable:
                    // A hub that shuts down does not wait for its journal.
                    let goesOn = self.state.withLock { $0.outcome == nil && !$0.isDraining }
                    guard goesOn, .now < end else { return .failed(error) }
                }
            } catch {
                return .failed(.unavailable("\(type(of: error))"))
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, .seconds(1))
        }
    }

    /// Ends a stream whose journal has lost records that were appended, such as with its server.
    ///
    /// A successor could append other records at positions that readers have.
    private func close(behindLoss last: Int) async {
        let end = JournaledRecord.record(of: JournaledEnd(status: .failed, failure: .recordsLost))
        let batch = ChappieJournalBatch(firstPosition: last + 1, records: [end], closes: true)
        // Where this fails as well, the lease ends, and the next process takes the stream.
        _ = try? await self.journal.append(batch, to: self.id, by: self.writer, lease: self.configuration.lease)
    }

    private func stop(_ outcome: Outcome) {
        self.state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
        }
        self.emptied.signal()
    }
}
