// One direction of a relayed connection: reads, asks the lane, writes.
//
// Owned by its connection, on the proxy's thread.

/// Moves the bytes of one direction.
struct ProxyRelay {
    /// The way in which the sender ended.
    enum SourceEnd: Equatable {
        case finished
        case reset
    }

    /// The next task of the connection.
    enum Outcome: Equatable {
        /// Only wait.
        case goesOn
        /// A fault resets both sides, once the receiver has all bytes.
        case reset
        /// The sender has reset its side: reset the receiver, once it has all bytes.
        case sourceReset
        /// Stop in both directions.
        case silence
        /// The receiver has gone.
        case receiverGone
    }

    /// The number of writes of a direction in one turn of the loop, so that small slices do not delay others.
    private static let writesPerTurn = 64

    /// The direction.
    let direction: FaultProxy.Direction
    private var lane: FaultLane
    private var buffer = RelayBuffer()
    /// The traffic for the log.
    private(set) var traffic = FaultProxy.Traffic()
    /// The way in which the sender ended; nil while it may send.
    private(set) var sourceEnd: SourceEnd?
    private var sourceIsGone = false
    /// Indicates whether delivery is over: the receiver got the end of the stream, or has gone.
    private(set) var isOver = false
    /// Indicates whether the receiver does not keep up.
    private(set) var isBlocked = false
    /// The time of the next examination; nil when only the sockets matter.
    private(set) var deadline: Duration?

    /// Creates a direction with its faults.
    init(_ direction: FaultProxy.Direction, faults: [ConnectionFault]) {
        self.direction = direction
        self.lane = FaultLane(faults)
    }

    /// Indicates whether input should be read.
    var wantsInput: Bool {
        guard self.sourceEnd == nil else { return false }
        return self.isOver || (self.buffer.hasSpace && !self.lane.isHolding)
    }

    /// Indicates whether no bytes will be delivered any more.
    var isIdle: Bool { self.isOver || (self.lane.isHolding && self.deadline == nil) }

    // MARK: Reading

    /// Reads the sender's bytes; returns true when there were bytes that will not be delivered.
    mutating func receive(from source: ProxySocket) -> Bool {
        var dropped = RelayBuffer()
        let received = self.isOver ? dropped.receive(from: source) : self.buffer.receive(from: source)
        switch received {
        case .bytes(let count):
            self.traffic.receivedByteCount += count
            return self.isOver
        // The error of a reset is reported once; a write may have received it, and reading then finds the end.
        case .end: self.sourceEnd = self.sourceIsGone ? .reset : .finished
        case .reset: self.sourceEnd = .reset
        case .nothing: break
        }
        return false
    }

    /// Records that the sender has gone; its earlier bytes can still be read.
    mutating func sourceWentAway() {
        self.sourceIsGone = true
        if self.sourceEnd != nil { self.sourceEnd = .reset }
    }

    // MARK: Writing

    /// Delivers the bytes that are due; every fault that applies is passed to `report` with the traffic up to it.
    mutating func deliver(
        to sink: ProxySocket, now: Duration, report: (ConnectionFault, FaultProxy.Traffic) -> Void
    ) -> Outcome {
        guard !self.isOver else { return self.sourceEnd == .reset ? .sourceReset : .goesOn }
        self.isBlocked = false
        self.deadline = nil
        for _ in 0..<Self.writesPerTurn {
            switch self.lane.next(available: self.buffer.count, now: now) {
            case .awaitInput: return self.endInput(sink)
            case .wait(let time):
                self.deadline = time
                return .goesOn
            case .hold: return .goesOn
            case .deliver(let count): if let outcome = self.write(count, to: sink, now: now) { return outcome }
            case .strike(let action):
                // Reported first, so that the fault is in the log before its consequence is seen.
                report(action, self.traffic)
                if let outcome = self.perform(action, sink) { return outcome }
            }
        }
        self.deadline = now
        return .goesOn
    }

    private mutating func endInput(_ sink: ProxySocket) -> Outcome {
        switch self.sourceEnd {
        case nil: return .goesOn
        case .reset: return .sourceReset
        case .finished:
            self.finish(sink)
            return .goesOn
        }
    }

    private mutating func finish(_ sink: ProxySocket) {
        sink.finishSending()
        self.isOver = true
        self.traffic.isFinished = true
        self.buffer.removeAll()
    }

    /// Writes once; nil when there is more to do.
    private mutating func write(_ count: Int, to sink: ProxySocket, now: Duration) -> Outcome? {
        switch self.buffer.send(count, to: sink) {
        case .bytes(let sent):
            self.lane.delivered(sent, now: now)
            self.traffic.deliveredByteCount += sent
            self.traffic.writeCount += 1
            return nil
        case .nothing:
            self.isBlocked = true
            return .goesOn
        case .gone:
            self.isOver = true
            self.buffer.removeAll()
            return .receiverGone
        }
    }

    /// Performs the action of a fault; nil when the direction continues.
    private mutating func perform(_ action: ConnectionFault, _ sink: ProxySocket) -> Outcome? {
        switch action {
        case .cut(_, .reset): return .reset
        case .cut:
            self.finish(sink)
            return .goesOn
        case .halfOpen: return .silence
        case .corrupt(_, let mask):
            self.buffer.corruptFirst(mask: mask)
            return nil
        case .stall, .slice, .throttle, .refuse, .silence, .delay: return nil
        }
    }
}
