// The log of a proxy's connections, and the callers that wait for its milestones.
//
// Written by the proxy's thread, read by its user; one lock guards it.
import PlatformC

/// Records connections and wakes waiting callers.
final class ProxyLog: Sendable {
    /// Counts over the proxy's life.
    struct Totals {
        var connections = 0
        var connected = 0
        var strikes = 0
        var toServerByteCount = 0
        var toClientByteCount = 0
        var endedConnections = 0
    }

    struct State: MilestoneCounting {
        var records: [Int: FaultProxy.ConnectionRecord] = [:]
        var totals = Totals()

        func reaches(_ milestone: FaultProxy.Milestone) -> Bool {
            switch milestone {
            case .connections(let count): self.totals.connections >= count
            case .connected(let count): self.totals.connected >= count
            case .strikes(let count): self.totals.strikes >= count
            case .deliveredBytes(let count, .toServer): self.totals.toServerByteCount >= count
            case .deliveredBytes(let count, .toClient): self.totals.toClientByteCount >= count
            case .endedConnections(let count): self.totals.endedConnections >= count
            }
        }
    }

    /// The counts, and the callers that wait for them.
    let milestones = MilestoneMonitor(State())
    private let maximumRecordCount: Int
    private let logLine: (@Sendable (String) -> Void)?

    /// Creates a log that keeps a number of records and reports events to `logLine`.
    init(maximumRecordCount: Int, logLine: (@Sendable (String) -> Void)?) {
        self.maximumRecordCount = max(1, maximumRecordCount)
        self.logLine = logLine
    }

    /// The kept records, by number.
    var records: [FaultProxy.ConnectionRecord] {
        self.milestones.withLock { state in state.records.values.sorted { $0.number < $1.number } }
    }

    /// Removes the records; the totals are kept.
    func removeRecords() { self.milestones.withLock { $0.records = [:] } }

    // MARK: Recording

    /// Counts a new connection and returns its number.
    func begin() -> Int {
        let number = self.milestones.change { state in
            state.totals.connections += 1
            let number = state.totals.connections
            state.records[number] = .init(number: number)
            state.records[number - self.maximumRecordCount] = nil
            return number
        }
        self.note(number, "accepted")
        return number
    }

    /// Records that the server was reached.
    func connect(_ number: Int) {
        self.milestones.change { state in
            state.totals.connected += 1
            state.records[number]?.isConnected = true
        }
        self.note(number, "connected")
    }

    /// Records the traffic of a direction since the last call.
    func relay(
        _ number: Int, _ direction: FaultProxy.Direction, from old: FaultProxy.Traffic, to new: FaultProxy.Traffic
    ) {
        guard old != new else { return }
        self.milestones.change { state in
            let count = new.deliveredByteCount - old.deliveredByteCount
            switch direction {
            case .toServer: state.totals.toServerByteCount += count
            case .toClient: state.totals.toClientByteCount += count
            }
            state.records[number]?[direction] = new
        }
        guard new.isFinished, !old.isFinished else { return }
        self.note(number, "finished", Self.place(direction, new.deliveredByteCount))
    }

    /// Records a fault that was applied.
    func strike(_ number: Int, _ strike: FaultProxy.Strike) {
        // The line comes first, so that a caller that waits for the fault finds it written.
        let place = strike.direction.map { Self.place($0, strike.byteOffset ?? 0) } ?? []
        self.note(number, "fault", place + [.init(name: "fault", value: .string(strike.action.name))])
        self.milestones.change { state in
            state.totals.strikes += 1
            state.records[number]?.strikes.append(strike)
        }
    }

    /// Ends a connection.
    func end(_ number: Int, _ end: FaultProxy.ConnectionEnd) {
        let record = self.milestones.withLock { $0.records[number] }
        var members: [JSONValue.Member] = [.init(name: "end", value: .string(end.name))]
        switch end {
        case .unreachable(let code):
            members.append(.init(name: "code", value: .number(String(code))))
            if let reason = strerror(code) {
                members.append(.init(name: "reason", value: .string(String(cString: reason))))
            }
        case .closed, .reset, .refused, .tooMany, .unknownHost, .replaced, .stopped: break
        }
        if let record {
            members += FaultProxy.Direction.allCases.map { direction in
                .init(
                    name: "\(direction.rawValue)Bytes", value: .number(String(record[direction].deliveredByteCount)))
            }
        }
        self.note(number, "ended", members)
        self.milestones.change { state in
            state.totals.endedConnections += 1
            state.records[number]?.end = end
        }
    }

    private static func place(_ direction: FaultProxy.Direction, _ byteCount: Int) -> [JSONValue.Member] {
        [
            .init(name: "direction", value: .string(direction.rawValue)),
            .init(name: "bytes", value: .number(String(byteCount))),
        ]
    }

    private func note(_ number: Int, _ what: String, _ details: [JSONValue.Member] = []) {
        guard let logLine = self.logLine else { return }
        let members: [JSONValue.Member] = [
            .init(name: "event", value: .string(what)), .init(name: "connection", value: .number(String(number))),
        ]
        logLine(JSONValue.object(members + details).text)
    }
}

extension FaultProxy.ConnectionEnd {
    /// The name in logs.
    fileprivate var name: String {
        switch self {
        case .closed: "closed"
        case .reset: "reset"
        case .refused: "refused"
        case .tooMany: "tooMany"
        case .unreachable: "unreachable"
        case .unknownHost: "unknownHost"
        case .replaced: "replaced"
        case .stopped: "stopped"
        }
    }
}
