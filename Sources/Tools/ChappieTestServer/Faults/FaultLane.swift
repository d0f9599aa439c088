// One direction of a connection: the places where its bytes stop, wait, or change.
//
// Pure. Time comes in as a value; the relay of a proxy, or the writer of an attempt, performs the steps.

/// Decides the next step of one direction.
///
/// Its owner is the relay or the writer of that direction.
struct FaultLane: Sendable {
    /// The next step.
    enum Step: Equatable, Sendable {
        /// Wait for more bytes.
        case awaitInput
        /// Deliver `count` bytes and report with `delivered` the number that was written.
        case deliver(count: Int)
        /// Wait until that time.
        case wait(until: Duration)
        /// Wait without end.
        case hold
        /// Apply a fault at the current byte; its effect outside of the lane is the owner's task.
        case strike(ConnectionFault)
    }

    private enum State {
        case relaying
        case stalled(until: Duration)
        /// Stalled without end, or cut, reset, half-open.
        case over
    }

    /// The pace of a throttled lane.
    private struct Pace {
        /// The lateness of a wake-up that is still caught up; after a longer pause the pace begins anew.
        private static let tolerance = Duration.milliseconds(50)
        private static let piecesPerSecond = 100.0

        let bytesPerSecond: Double
        private(set) var next: Duration
        private var isIdle = true

        init(bytesPerSecond: Double, now: Duration) {
            self.bytesPerSecond = bytesPerSecond
            self.next = now
        }

        /// The number of bytes of one write: those of a hundredth of a second, or one.
        var pieceByteCount: Int { Int(min(max(1, self.bytesPerSecond / Self.piecesPerSecond), 1e9)) }

        /// Records that there were no bytes to deliver: the time until there are some is not counted.
        mutating func idled() { self.isIdle = true }

        mutating func delivered(_ count: Int, now: Duration) {
            let isLate = now - self.next > (self.isIdle ? .zero : Self.tolerance)
            if isLate { self.next = now }
            self.isIdle = false
            self.next += .seconds(Double(count) / self.bytesPerSecond)
        }
    }

    private var state = State.relaying
    private var faults: ArraySlice<(offset: Int, fault: ConnectionFault)> = []
    private var sliceByteCount = Int.max
    private var pace: Pace?

    /// The number of delivered bytes.
    private(set) var position = 0

    /// Creates a lane with the faults of one direction of a connection, in the order of the plan.
    init(_ faults: [ConnectionFault]) { self.add(faults) }

    /// Adds faults whose bytes count from the byte at `origin`.
    mutating func add(_ faults: [ConnectionFault], from origin: Int = 0) {
        let added = faults.compactMap { fault -> (offset: Int, fault: ConnectionFault)? in
            let (offset, overflow) = (fault.byteOffset ?? 0).addingReportingOverflow(origin)
            return overflow ? nil : (offset, fault)
        }
        // `sort` need not be stable; the index makes it so. A changed byte has to be available first, which no other
        // action waits for, so it comes last.
        let sorted = (self.faults + added).enumerated().sorted { first, second in
            let (left, right) = (Self.key(first.element), Self.key(second.element))
            return left == right ? first.offset < second.offset : left < right
        }
        self.faults = sorted.map(\.element)[...]
    }

    private static func key(_ entry: (offset: Int, fault: ConnectionFault)) -> (Int, Int) {
        if case .corrupt = entry.fault { return (entry.offset, 1) }
        return (entry.offset, 0)
    }

    /// Returns whether a fault applies once the bytes up to a position are delivered.
    func strikes(at position: Int) -> Bool { self.faults.first.map { $0.offset <= position } ?? false }

    /// Indicates whether the lane is in a stall or over, so that its input is not read.
    var isHolding: Bool {
        switch self.state {
        case .relaying: false
        case .stalled, .over: true
        }
    }

    /// Returns the next step, with `available` bytes at hand.
    mutating func next(available: Int, now: Duration) -> Step {
        switch self.state {
        case .over: return .hold
        case .stalled(let until):
            if now < until { return .wait(until: until) }
            self.state = .relaying
        case .relaying: break
        }
        if let (offset, fault) = self.faults.first, offset <= self.position {
            if case .corrupt = fault, available == 0 { return .awaitInput }
            self.faults.removeFirst()
            self.strike(fault, now: now)
            return .strike(fault)
        }
        if available == 0 {
            self.pace?.idled()
            return .awaitInput
        }
        if let pace = self.pace, now < pace.next { return .wait(until: pace.next) }
        let distance = self.faults.first.map { $0.offset - self.position } ?? Int.max
        let count = min(available, distance, self.sliceByteCount, self.pace?.pieceByteCount ?? Int.max)
        return .deliver(count: count)
    }

    private mutating func strike(_ action: ConnectionFault, now: Duration) {
        switch action {
        case .cut, .halfOpen: self.state = .over
        case .stall(_, let duration): self.state = duration.map { .stalled(until: now + $0) } ?? .over
        case .slice(let count, _): self.sliceByteCount = count
        case .throttle(let rate, _): self.pace = Pace(bytesPerSecond: rate, now: now)
        case .corrupt, .refuse, .silence, .delay: break
        }
    }

    /// Counts bytes that were delivered.
    mutating func delivered(_ count: Int, now: Duration) {
        self.position += count
        self.pace?.delivered(count, now: now)
    }
}
