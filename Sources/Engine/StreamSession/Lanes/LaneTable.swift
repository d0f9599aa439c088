/// Decides how one WebSocket is shared: which member may send, which one receives a message or reads, and what is
/// dropped.
///
/// A member is one user of the socket. Each of its requests names a lane; the requests of a lane are sent one after the
/// other, and at most sixteen lanes have a response under way, which is the limit of the servers. A response whose
/// member has left continues at the server; its messages are dropped, and it occupies its lane to the end. A response
/// with added input (`response.steer`) keeps its lane behind its end, for a successor that is not requested, until that
/// has begun or all of the input is refused or waits for a request.
///
/// A message with an identifier that a response has announced (`LaneNames`) belongs to that response, whether or not it
/// names a lane. It is dropped when the response has ended or occupies another lane than the message names.
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the lock of the shared socket.
package struct LaneTable: Sendable {
    /// A user of the socket, named by a number that is never used twice.
    package struct Member: Hashable, Sendable {
        /// Counts from 1.
        package let number: Int
    }

    /// The outcome of sending a member's message.
    package enum Sending: Sendable, Equatable {
        /// It is sent at once.
        case now
        /// It is kept until `starts` names the member.
        case later
        /// The member has left, and its message is dropped.
        case never
    }

    /// The consequences of a message that has arrived.
    package struct Delivery: Sendable, Equatable {
        /// The members that get it, in order.
        package var recipients: [Member] = []
        /// The members whose kept messages are sent now, in order.
        package var starts: [Member] = []
        /// Indicates whether a piece cannot be assigned to one of several responses, which makes the socket unusable.
        package var breaksSocket = false
    }

    /// The consequences of a member's departure.
    package struct Departure: Sendable, Equatable {
        /// Indicates whether no member uses the socket any more.
        package var isLast = false
        /// Members whose requests would wait for responses that no member reads and that may never end.
        package var stranded: [Member] = []
        /// Indicates whether reading resumes that was held up for the member that left.
        package var resumesReading = false
    }

    /// The action of a member that wants events and has none.
    package enum Waiting: Sendable, Equatable {
        /// It reads for all members.
        case reads
        /// It waits for the reader.
        case sleeps
    }

    struct Entry {
        enum Request: Equatable {
            case none
            case waiting
            case running
        }

        /// The lane of the newest request.
        var lane = ""
        var request = Request.none
        var responseCount = 0
        /// The number of times that the server has accepted added input whose successor has not begun.
        var acceptedCount = 0
    }

    /// A response under way.
    struct Occupant {
        /// The member that requested it; nil when it has left.
        var member: Member?
        /// Indicates whether any message of it has arrived.
        var isAnswered = false
        /// The number of the response; the responses of a socket are counted.
        let number: Int
        /// Indicates whether it is a successor that has not begun, and may not come: the response before it has ended
        /// with added input.
        var isAwaited = false
    }

    /// The maximum number of lanes of a socket that have a response under way.
    package static let maximumRunningCount = 16

    var entries: [Member: Entry] = [:]
    var waitingRequests: [Member] = []
    var occupants: [String: Occupant] = [:]
    var steering: [Member] = []
    private var memberCount = 0
    private var responseCount = 0
    private var names = LaneNames()
    /// Indicates whether every piece of a response has named its lane so far.
    private var areLanesNamed = true
    /// Indicates whether a response has ended.
    private var hasEnded = false

    var reader: Member?
    var sleepers: [Member] = []
    var unreadByteCounts: [Member: Int] = [:]
    var full: Set<Member> = []
    let highWatermark: Int
    let lowWatermark: Int

    /// Creates the table of a socket without members.
    ///
    /// Reading stops when a member has `highWatermark` unread bytes, and resumes when it has `lowWatermark` or fewer.
    ///
    /// Marks out of range become the nearest that let reading resume: 1 and more, and 0 up to one below that.
    package init(highWatermark: Int, lowWatermark: Int) {
        self.highWatermark = max(1, highWatermark)
        self.lowWatermark = min(max(0, lowWatermark), self.highWatermark - 1)
    }

    // MARK: Members

    /// Adds a member.
    package mutating func joined() -> Member {
        self.memberCount += 1
        let member = Member(number: self.memberCount)
        self.entries[member] = Entry()
        return member
    }

    /// Returns whether a request on a lane would wait for a response that no member reads.
    package func isAbandoned(lane: String) -> Bool {
        if let occupant = self.occupants[lane] { return occupant.member == nil }
        return self.occupants.count == Self.maximumRunningCount && self.occupants.values.contains { $0.member == nil }
    }

    /// Returns whether a member's request waits for its turn.
    package func isWaitingForTurn(_ member: Member) -> Bool { self.entries[member]?.request == .waiting }

    /// Returns whether a member has had a response and has requested none since.
    package func isIdle(_ member: Member) -> Bool {
        guard let entry = self.entries[member] else { return false }
        return entry.request == .none && entry.responseCount > 0
    }

    /// Indicates whether the socket has no members.
    package var isUnused: Bool { self.entries.isEmpty }

    /// Indicates whether a response is under way.
    package var isBusy: Bool { !self.occupants.isEmpty }

    /// Removes a member.
    package mutating func left(_ member: Member) -> Departure {
        let isSteered = self.awaitsSuccessor(member)
        guard let entry = self.entries.removeValue(forKey: member) else { return Departure() }
        self.waitingRequests.removeAll { $0 == member }
        self.steering.removeAll { $0 == member }
        self.sleepers.removeAll { $0 == member }
        self.unreadByteCounts[member] = nil
        var departure = Departure(isLast: self.entries.isEmpty)
        departure.resumesReading = self.full.remove(member) != nil && self.full.isEmpty
        if entry.request == .none, isSteered, self.occupants[entry.lane] == nil {
            // The server may still answer added input with a response that was not requested: no other member may read
            // it.
            self.responseCount += 1
            self.occupants[entry.lane] = Occupant(member: nil, number: self.responseCount)
            return departure
        }
        guard entry.request == .running else { return departure }
        self.occupants[entry.lane]?.member = nil
        let isHopeless =
            self.occupants.count == Self.maximumRunningCount && self.occupants.values.allSatisfy { $0.member == nil }
        departure.stranded = self.waitingRequests.filter { isHopeless || self.entries[$0]?.lane == entry.lane }
        return departure
    }

    // MARK: Sending

    /// Records a member's request for a response on a lane, and returns whether it may be sent.
    package mutating func requested(_ member: Member, on lane: String) -> Sending {
        guard let entry = self.entries[member] else { return .never }
        switch entry.request {
        case .waiting: return .later
        case .running:
            // The member has a response under way already: the server decides about one more.
            self.expectsNoSuccessor(member)
            return .now
        case .none: break
        }
        self.entries[member]?.request = .waiting
        self.entries[member]?.lane = lane
        self.waitingRequests.append(member)
        return self.startRequests() == [member] ? .now : .later
    }

    /// Records that a member adds input to its response, and returns whether it may be sent.
    package mutating func steered(_ member: Member) -> Sending {
        guard let entry = self.entries[member] else { return .never }
        self.steering.append(member)
        return entry.request == .waiting ? .later : .now
    }

    /// Starts the waiting requests that a change has unblocked, and returns their members in order.
    private mutating func startRequests() -> [Member] {
        var started: [Member] = []
        for member in self.waitingRequests where self.occupants.count < Self.maximumRunningCount {
            guard let lane = self.entries[member]?.lane, self.occupants[lane] == nil else { continue }
            self.responseCount += 1
            self.occupants[lane] = Occupant(member: member, number: self.responseCount)
            self.entries[member]?.request = .running
            self.expectsNoSuccessor(member)
            started.append(member)
        }
        self.waitingRequests.removeAll { started.contains($0) }
        return started
    }

    // MARK: Receiving

    /// Returns the consequences of a message that has arrived.
    ///
    /// A message that names no lane belongs to the response that has its identifier, to the lane without a name, or to
    /// the only response under way: some servers do not repeat the name. When a response has named the lane of every
    /// piece, and a response has ended, a piece without a lane may be a remainder of that one.
    package mutating func received(_ message: LaneMessage) -> Delivery {
        let isPiece = [.created, .content, .end].contains(message.kind)
        let wereLanesNamed = self.areLanesNamed
        if isPiece, message.lane == nil { self.areLanesNamed = false }
        if !message.isAnnouncement, message.name != 0, case .response(let number) = self.names[message.name] {
            let lane = self.occupants.first { $0.value.number == number }?.key
            guard let lane, message.lane == nil || message.lane == lane else { return Delivery() }
            return self.deliver(message.kind, to: lane)
        }
        guard let lane = message.lane ?? self.laneOfUnnamed else { return self.deliverWithoutLane(message.kind) }
        if isPiece, message.lane == nil, lane != "", wereLanesNamed, self.hasEnded, !message.isAnnouncement {
            self.areLanesNamed = true
            return Delivery()
        }
        if message.isAnnouncement, message.name != 0, let occupant = self.occupants[lane],
            !occupant.isAwaited || message.kind == .created
        {
            let running = self.occupants.values
            self.names.announce(message.name, by: occupant.number) { known in running.contains { $0.number == known } }
        }
        return self.deliver(message.kind, to: lane)
    }

    /// The lane of a message that names none.
    private var laneOfUnnamed: String? {
        if self.occupants[""] != nil { return "" }
        return self.occupants.count == 1 ? self.occupants.keys.first : nil
    }

    private mutating func deliverWithoutLane(_ kind: LaneMessage.Kind) -> Delivery {
        switch kind {
        case .created, .content, .end:
            return Delivery(breaksSocket: !self.occupants.isEmpty)
        case .news, .unreadable:
            return Delivery(recipients: self.runningMembers)
        case .answer(let answer):
            return self.memberSteering(before: answer).map { self.deliver(answer, to: $0) } ?? Delivery()
        case .error:
            return self.deliverErrorWithoutLane()
        }
    }

    private mutating func deliver(_ kind: LaneMessage.Kind, to lane: String) -> Delivery {
        // A remainder of a response that has ended is dropped.
        guard let occupant = self.occupants[lane], !(occupant.isAwaited && kind == .content) else { return Delivery() }
        var delivery = Delivery(recipients: [occupant.member].compactMap { $0 })
        switch kind {
        case .created:
            self.occupants[lane]?.isAnswered = true
            self.occupants[lane]?.isAwaited = false
            // It commits what the server has accepted.
            if let member = occupant.member { self.entries[member]?.acceptedCount = 0 }
        case .content, .unreadable:
            self.occupants[lane]?.isAnswered = true
        case .answer(let answer):
            if let member = occupant.member { return self.deliver(answer, to: member) }
        case .news:
            break
        case .end where occupant.member.map(self.awaitsSuccessor) == true:
            // Late events of this response are not those of the next one.
            self.hasEnded = true
            self.responseCount += 1
            self.occupants[lane] = Occupant(member: occupant.member, number: self.responseCount, isAwaited: true)
        case .end, .error:
            delivery.starts = self.ended(on: lane)
        }
        return delivery
    }

    /// Frees a lane; returns the members whose kept messages are sent now.
    private mutating func ended(on lane: String) -> [Member] {
        let occupant = self.occupants.removeValue(forKey: lane)
        self.hasEnded = true
        if let member = occupant?.member {
            self.entries[member]?.request = .none
            self.entries[member]?.responseCount += 1
        }
        return self.startRequests()
    }

    // MARK: Added input

    /// Returns whether a successor of a member's response may come by itself.
    private func awaitsSuccessor(_ member: Member) -> Bool {
        self.entries[member].map { $0.acceptedCount > 0 } == true || self.steering.contains(member)
    }

    /// Records that a member's own request replaces a successor that might come.
    private mutating func expectsNoSuccessor(_ member: Member) {
        self.steering.removeAll { $0 == member }
        self.entries[member]?.acceptedCount = 0
        if let lane = self.entries[member]?.lane, self.occupants[lane]?.member == member {
            self.occupants[lane]?.isAwaited = false
        }
    }

    /// Returns the member that an answer without a lane is for: the one that has waited for it the longest.
    private func memberSteering(before answer: LaneMessage.SteeringAnswer) -> Member? {
        let accepted = self.entries.filter { $0.value.acceptedCount > 0 }.keys.min { $0.number < $1.number }
        return switch answer {
        case .accepted: self.steering.first
        case .pending: accepted ?? self.steering.first
        case .failed: self.steering.first ?? accepted
        }
    }

    /// Delivers an answer to added input; the lane is free when no successor will come to a response that has ended.
    private mutating func deliver(_ answer: LaneMessage.SteeringAnswer, to member: Member) -> Delivery {
        var delivery = Delivery(recipients: [member])
        let (unanswered, accepted) = (self.steering.firstIndex(of: member), self.entries[member]?.acceptedCount ?? 0)
        switch answer {
        case .accepted:
            guard let unanswered else { break }
            self.steering.remove(at: unanswered)
            self.entries[member]?.acceptedCount += 1
        case .pending where accepted > 0: self.entries[member]?.acceptedCount -= 1
        case .pending, .failed:
            if let unanswered {
                self.steering.remove(at: unanswered)
            } else if accepted > 0 {
                self.entries[member]?.acceptedCount -= 1
            }
        }
        let lane = self.entries[member]?.lane ?? ""
        if let occupant = self.occupants[lane], occupant.member == member, occupant.isAwaited,
            !self.awaitsSuccessor(member)
        {
            delivery.starts = self.ended(on: lane)
        }
        return delivery
    }

    /// Delivers an error that names no lane: it refuses the oldest unanswered request, or else concerns all of them.
    private mutating func deliverErrorWithoutLane() -> Delivery {
        let lanes = self.occupants.sorted { $0.value.number < $1.value.number }
        let refused = lanes.first { !$0.value.isAnswered }.map { [$0] } ?? lanes
        var delivery = Delivery()
        for (lane, _) in refused {
            let part = self.deliver(.error, to: lane)
            delivery.recipients += part.recipients
            delivery.starts += part.starts
        }
        return delivery
    }

    private var runningMembers: [Member] {
        self.occupants.values.sorted { $0.number < $1.number }.compactMap(\.member)
    }
}
