import StreamSession
import StreamTransport

/// The state of a turn that tasks other than its consumer's may touch, under the turn's lock.
struct SharedTurnState {
    /// Indicates whether the consumer's task works for the turn.
    var isBusy = false
    var isCancelled = false
    /// Indicates whether the engine's shutdown has cancelled the stream.
    var isShutDown = false
    /// The connections of the attempts.
    var connections: [any TransportConnection] = []
    /// The positions at which another turn can continue.
    var points = ResumePoints()
    var serverMessage: String?
    /// The complete response; nil before its end.
    var response: ChappieResponse?
    /// The right to run, from the first read to the end or a cancellation; nil for a part of a turn that has it.
    var admission: TurnAdmission?
    /// The place among the turns that run at a time; nil where their number has no limit.
    var place: TurnPlace?
    /// The circuit breaker's ticket, which is answered once: at the turn's end, or when its stream is dropped.
    var ticket: CircuitBreaker.Ticket?

    /// The error of a second reader, made out of line: asynchronous functions' frames have no room for it then.
    static var refusal: any Error {
        @inline(never) get { ChappieClientError.alreadyRead }
    }

    /// Records that the consumer's task works for the turn; returns whether the stream was cancelled.
    ///
    /// Nil while another task works for it; nothing changes then.
    mutating func beginReading() -> Bool? {
        guard !self.isBusy else { return nil }
        self.isBusy = true
        return self.isCancelled
    }

    /// Takes the events that were read for the consumer's task, which works for the turn no more.
    ///
    /// - Parameters:
    ///   - form: what they are read for.
    ///   - read: the events, of which there is one at least.
    ///   - isKept: whether the response can be resumed: single events are then taken one by one, so that the position
    ///     behind the taken ones is exact.
    /// - Returns: the events, at least one.
    mutating func take(for form: ReadingForm, from read: inout EventQueue, isKept: Bool) -> [ChappieStreamEvent] {
        self.isBusy = false
        guard form == .batches || !isKept else {
            self.points.taken(1)
            return read.takeFirst()
        }
        self.points.taken(read.count)
        // Single events come back with their memory.
        return form == .batches ? read.takeAll() : read.moveAll()
    }

    /// Records the position behind the events that were read, of which `waitingCount` were not handed over.
    mutating func note(_ position: Delivery.Position, waitingCount: Int) {
        switch position {
        case .unchanged: return
        case .held: self.points.hold(waitingCount: waitingCount)
        case .unknown: self.points.note(nil, waitingCount: waitingCount)
        case .known(let cursor): self.points.note(cursor, waitingCount: waitingCount)
        }
    }

    /// The position behind the events that the consumer has taken; nil when there is none.
    var resumePoint: ChappieResumePoint? { self.points.newest.map(ChappieResumePoint.init) }
}

extension LockedValue where Value == SharedTurnState {
    /// Indicates whether the stream or the current task was cancelled; called by the task that reads the stream.
    var isGivenUp: Bool { self.withLock { $0.isCancelled } || Task.isCancelled }
}
