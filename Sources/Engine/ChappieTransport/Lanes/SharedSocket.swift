import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// A WebSocket with several lanes, and the events that have arrived for each.
///
/// `LaneTable` decides, and this class performs. The connection is read by one member at a time, the reader, while it
/// waits for its own lane. Its role passes on when it has its event, and all data that it has read is kept.
/// - Safety: `decoder` is touched by the reader only, and the role is given and taken under the lock.
final class SharedSocket: @unchecked Sendable {
    /// The way in which a member leaves.
    enum Leaving {
        /// With a closing handshake.
        case closing
        /// At once.
        case cancelling
    }

    /// The reason why a sleeping member continues.
    enum Wake {
        /// The state has changed: it has events, or has become the reader.
        case look
        /// Its time is over.
        case deadline
        /// Its task was cancelled.
        case cancelled
    }

    /// A member that sleeps.
    struct Sleeper {
        let continuation: CheckedContinuation<Wake, Never>
        let deadline: Duration?
    }

    /// The socket's data about a member, beside the table.
    struct User {
        let startedAt: Duration
        var inbox = LaneInbox()
        /// Messages that wait for the member's turn.
        var held: [(message: [UInt8], kind: OutboundKind)] = []
        var sleeper: Sleeper?
        /// Indicates whether the task that waits was cancelled.
        var isInterrupted = false
        var hasLeft = false
        var lastMessageAt: Duration?
        var turnCameAt: Duration?
        var receivedByteCount = 0
        var sentByteCount = 0
    }

    /// The state that the lock guards.
    struct State {
        var table: LaneTable
        var users: [LaneTable.Member: User] = [:]
        var head: ResponseHead?
        var end: TransportEnd?
        var isClosed = false
        /// The members that have sent a ping without an answer, in order.
        var pingers: [LaneTable.Member] = []
        /// The reader's wait.
        var pause: Task<Void, Never>?
        /// The time at which the reader's wait ends by itself.
        var pauseEnd: Duration?
        /// Indicates whether the reader is to check again.
        var isPoked = false
    }

    /// The work that is done after the lock is released.
    struct Errands {
        var wakes: [(CheckedContinuation<Wake, Never>, Wake)] = []
        var sends: [(message: [UInt8], kind: OutboundKind)] = []
        var pause: Task<Void, Never>?
        var breaksSocket = false
    }

    let connection: any TransportConnection
    let clock: ClientClock
    let startedAt: Duration
    let state: LockedValue<State>
    var decoder: ResponseEventDecoder
    private let maximumAge: Duration?

    /// Shares a connection that was just requested.
    init(_ connection: any TransportConnection, limits: TransportLimits, clock: ClientClock, maximumAge: Duration?) {
        self.connection = connection
        self.clock = clock
        self.startedAt = clock.now()
        self.maximumAge = maximumAge
        self.decoder = ResponseEventDecoder(maximumByteCount: limits.messageByteCount)
        self.state = LockedValue(
            State(table: LaneTable(highWatermark: limits.highWatermark, lowWatermark: limits.lowWatermark)))
    }

    /// The identity that all connections of this socket have in common.
    var identity: ObjectIdentifier { ObjectIdentifier(self.connection) }

    /// Indicates whether the socket can still be used.
    var isOpen: Bool { self.state.withLock { Self.isOpen($0) } }

    private static func isOpen(_ state: State) -> Bool {
        !state.isClosed && state.end == nil && state.head.map { $0.statusCode == 101 } ?? true
    }

    /// Indicates whether the socket has reached its maximum age.
    var isTooOld: Bool { self.maximumAge.map { self.clock.now() - self.startedAt >= $0 } ?? false }

    // MARK: Members

    /// Adds a member; returns nil when the socket takes none, or none on this lane.
    func join(lane: String) -> LaneConnection? {
        guard !self.isTooOld else { return nil }
        let now = self.clock.now()
        let member = self.state.withLock { state -> LaneTable.Member? in
            guard Self.isOpen(state), !state.table.isAbandoned(lane: lane) else { return nil }
            return Self.add(to: &state, at: now)
        }
        return member.map { LaneConnection(self, member: $0) }
    }

    /// Adds the member for which the socket was made.
    func joinFirst() -> LaneConnection {
        let member = self.state.withLock { Self.add(to: &$0, at: self.startedAt) }
        return LaneConnection(self, member: member)
    }

    private static func add(to state: inout State, at now: Duration) -> LaneTable.Member {
        let member = state.table.joined()
        var user = User(startedAt: now)
        if let head = state.head { user.inbox.append(.opened(head)) }
        state.users[member] = user
        return member
    }

    /// Removes a member.
    func leave(_ member: LaneTable.Member, _ leaving: Leaving) {
        let end: TransportEnd =
            switch leaving {
            case .closing: .closed(code: 1000, reason: "")
            case .cancelling: .failed(TransportFailure(phase: .stream, cause: .cancelled))
            }
        var errands = Errands()
        let isLast = self.state.withLock { state in
            guard let user = state.users[member], !user.hasLeft else { return false }
            let departure = state.table.left(member)
            Self.end(member, with: end, of: &state, &errands)
            for stranded in departure.stranded {
                _ = state.table.left(stranded)
                let failure = TransportFailure(phase: .send, cause: .connectionLost)
                Self.end(stranded, with: .failed(failure), of: &state, &errands)
            }
            // The reader may be the member that has left.
            state.isPoked = true
            errands.pause = state.pause
            guard departure.isLast || state.table.isUnused, !state.isClosed else { return false }
            state.isClosed = true
            return true
        }
        if isLast { self.shut(leaving) }
        self.run(errands)
    }

    /// Closes the socket; at once if a response is under way, which then ends at the server too.
    private func shut(_ leaving: Leaving) {
        let isBusy = self.state.withLock { $0.table.isBusy }
        switch leaving {
        case .closing where !isBusy: self.connection.close()
        case .closing, .cancelling: self.connection.cancel()
        }
    }

    /// Makes the end of the connection the only event of a member.
    private static func end(
        _ member: LaneTable.Member, with end: TransportEnd, of state: inout State, _ errands: inout Errands
    ) {
        state.pingers.removeAll { $0 == member }
        state.users[member]?.hasLeft = true
        state.users[member]?.held = []
        state.users[member]?.inbox.removeAll()
        state.users[member]?.inbox.append(.ended(end))
        self.wake(member, .look, of: &state, &errands)
    }

    /// Forgets a member whose connection is gone.
    func forget(_ member: LaneTable.Member) {
        self.leave(member, .cancelling)
        self.state.withLock { $0.users[member] = nil }
    }

    // MARK: Sending

    /// Sends a member's message, or keeps it until the member's turn.
    func send(_ message: [UInt8], as kind: OutboundKind, by member: LaneTable.Member) {
        let request = kind == .text ? LaneRequest(message) : nil
        let goesNow = self.state.withLock { state in
            guard Self.isOpen(state), state.head != nil else { return false }
            let sending =
                request.map { state.table.requested(member, on: $0.lane ?? "") } ?? state.table.steered(member)
            switch sending {
            case .now: state.users[member]?.sentByteCount += message.count
            case .later: state.users[member]?.held.append((message, kind))
            case .never: break
            }
            return sending == .now
        }
        if goesNow { self.connection.send(message, as: kind) }
    }

    /// Sends a ping for a member.
    func ping(by member: LaneTable.Member) {
        let isSent = self.state.withLock { state in
            guard Self.isOpen(state), state.head != nil, state.users[member]?.hasLeft == false else { return false }
            state.pingers.append(member)
            return true
        }
        if isSent { self.connection.ping() }
    }

    /// Fails the socket for all members.
    func fail(code: UInt16) { self.connection.fail(code: code) }

    // MARK: After the lock

    /// Performs the work that was determined under the lock.
    func run(_ errands: Errands) {
        errands.pause?.cancel()
        for (message, kind) in errands.sends { self.connection.send(message, as: kind) }
        for (continuation, wake) in errands.wakes { continuation.resume(returning: wake) }
        if errands.breaksSocket { self.connection.fail(code: 1002) }
    }

    /// Lets a sleeping member continue.
    static func wake(_ member: LaneTable.Member, _ wake: Wake, of state: inout State, _ errands: inout Errands) {
        guard let sleeper = state.users[member]?.sleeper.take() else { return }
        errands.wakes.append((sleeper.continuation, wake))
    }

    // MARK: Counters

    /// Returns a member's counters: its own, and the socket's since the member came.
    func statistics(of member: LaneTable.Member) -> TransportStatistics {
        let socket = self.connection.statistics
        return self.state.withLock { state in
            guard let user = state.users[member] else { return socket }
            let offset = user.startedAt - self.startedAt
            let since = { (moment: Duration?) -> Duration? in moment.flatMap { $0 < offset ? nil : $0 - offset } }
            var statistics = TransportStatistics()
            statistics.receivedByteCount = user.receivedByteCount
            statistics.sentByteCount = user.sentByteCount
            statistics.resolved = since(socket.resolved)
            statistics.connected = since(socket.connected)
            statistics.opened = since(socket.opened)
            statistics.isTLSResumed = socket.isTLSResumed
            statistics.lastReceived = since(socket.lastReceived)
            statistics.lastPinged = since(socket.lastPinged)
            // Data on another lane is no sign of life of this lane's response.
            statistics.lastHeard = [user.lastMessageAt.map { $0 - user.startedAt }, statistics.lastPinged]
                .compactMap { $0 }.max()
            statistics.isWaitingForTurn = state.table.isWaitingForTurn(member)
            statistics.requestSent = user.sentByteCount > 0 && socket.requestSent
            statistics.turnCame = user.turnCameAt.map { $0 - user.startedAt }
            return statistics
        }
    }
}
