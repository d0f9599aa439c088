import StreamSession
import StreamTransport

/// The state of a turn that tasks other than its consumer's may touch, under the turn's lock.
struct SharedTurnState {
    /// The answer to a consumer that asks for an event that is ready.
    enum Ready {
        case event
        /// The last event that is ready: the consumer's task works for the turn, until it reports otherwise.
        case lastEvent
        /// No event is ready; the consumer's task works as well.
        case nothing
        /// Another task works for the turn, so that this one gets nothing.
        case occupied
    }

    /// Indicates whether the consumer's task works for the turn.
    var isBusy = false
    var isCancelled = false
    /// Indicates whether the engine's shutdown has cancelled the stream.
    var isShutDown = false
    /// The connections of the attempts.
    var connections: [any TransportConnection] = []
    /// Events that the consumer can take at once.
    var ready = EventQueue()
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

    /// Takes the event that is ready, unless the stream was cancelled.
    @inline(__always)
    mutating func takeReady(into event: inout ChappieStreamEvent) -> Ready {
        guard !self.isBusy else { return .occupied }
        let hasEvent = !self.isCancelled && self.ready.take(into: &event)
        guard hasEvent, self.ready.count > 0 else {
            self.isBusy = true
            return hasEvent ? .lastEvent : .nothing
        }
        return .event
    }

    /// Takes an event from the ready ones or, once those are used up, from those that were read meanwhile; returns nil
    /// when there is none.
    mutating func takeFirst(refillingFrom read: inout EventQueue) -> ChappieStreamEvent? {
        // Ready events that were left because of a cancellation come first.
        if self.ready.count == 0 {
            self.ready.removeAll()
            swap(&self.ready, &read)
            self.points.moved(self.ready.count)
        }
        var event = ChappieStreamEvent.completed
        guard self.ready.take(into: &event) else { return nil }
        self.isBusy = false
        return event
    }

    /// Takes all ready events or, when there are none, all that were read meanwhile; returns nil when there are none.
    ///
    /// With `oneByOne` it takes the first of them.
    mutating func takeAll(orOf read: inout EventQueue, oneByOne: Bool = false) -> [ChappieStreamEvent]? {
        if oneByOne { return self.takeFirst(refillingFrom: &read).map { [$0] } }
        if self.ready.count == 0 { self.points.moved(read.count) }
        let batch = self.ready.count > 0 ? self.ready.takeAll() : read.takeAll()
        guard !batch.isEmpty else { return nil }
        self.isBusy = false
        return batch
    }

    /// Takes events like `takeAll`, for a sequence, which gives their memory back.
    mutating func takeOfSequence(orOf read: inout EventQueue, oneByOne: Bool) -> [ChappieStreamEvent]? {
        if oneByOne || self.ready.count > 0 { return self.takeAll(orOf: &read, oneByOne: oneByOne) }
        guard read.count > 0 else { return nil }
        self.points.moved(read.count)
        self.isBusy = false
        return read.moveAll()
    }

    /// Records the position behind the events that were read, of which `waitingCount` were not handed over.
    mutating func note(_ position: Delivery.Position, waitingCount: Int) {
        switch position {
        case .unchanged: return
        case .held: self.points.hold(waitingCount: waitingCount)
        case .unknown: self.points.note(nil, waitingCount: waitingCount, readyCount: self.ready.count)
        case .known(let cursor): self.points.note(cursor, waitingCount: waitingCount, readyCount: self.ready.count)
        }
    }

    /// Drops the ready events, which the consumer does not get.
    mutating func dropReady() {
        self.points.moved(-self.ready.count)
        self.ready.removeAll()
    }

    /// The position behind the events that the consumer has taken; nil when there is none.
    var resumePoint: ChappieResumePoint? {
        self.points.newest(leaving: self.ready.count).map(ChappieResumePoint.init)
    }
}

extension LockedValue where Value == SharedTurnState {
    /// Takes the event that is ready, unless the stream was cancelled.
    @inline(__always)
    func takeReady(into event: inout ChappieStreamEvent) -> SharedTurnState.Ready {
        // There is no closure, which would cost as much as the lock.
        self.lock()
        defer { self.unlock() }
        return unsafe self.value.pointee.takeReady(into: &event)
    }

    /// Indicates whether the stream or the current task was cancelled; called by the task that reads the stream.
    var isGivenUp: Bool { self.withLock { $0.isCancelled } || Task.isCancelled }
}
