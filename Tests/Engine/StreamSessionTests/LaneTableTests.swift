import Testing

@testable import StreamSession

extension LaneTable {
    /// A member that will send a request on a lane.
    fileprivate mutating func joined(lane: String) -> Member {
        let member = self.joined()
        self.entries[member]?.lane = lane
        return member
    }

    /// Sends a request on the member's previous lane.
    fileprivate mutating func requested(_ member: Member) -> Sending {
        self.requested(member, on: self.entries[member]?.lane ?? "")
    }
}

@Suite struct LaneTableTests {
    /// A table with members on lanes, in order.
    private static func table(_ lanes: String...) -> (LaneTable, [LaneTable.Member]) {
        var table = LaneTable(highWatermark: 100, lowWatermark: 20)
        let members = lanes.map { table.joined(lane: $0) }
        return (table, members)
    }

    private static func message(_ lane: String?, _ kind: LaneMessage.Kind) -> LaneMessage {
        LaneMessage(lane: lane, kind: kind)
    }

    private static let kinds: [LaneMessage.Kind] = [
        .created, .content, .end, .error, .news, .answer(.accepted), .unreadable,
    ]

    // MARK: Sending

    @Test func aRequestGoesOutWhenItsLaneIsFree() {
        var (table, members) = Self.table("a", "a", "b")
        #expect(table.requested(members[0]) == .now)
        #expect(table.requested(members[1]) == .later)
        #expect(table.requested(members[1]) == .later)
        #expect(table.requested(members[2]) == .now)
        #expect(members.map { table.isWaitingForTurn($0) } == [false, true, false])
        #expect(table.received(Self.message("b", .end)) == .init(recipients: [members[2]]))
        #expect(table.received(Self.message("a", .content)) == .init(recipients: [members[0]]))
        #expect(table.received(Self.message("a", .end)) == .init(recipients: [members[0]], starts: [members[1]]))
        #expect(table.received(Self.message("a", .end)) == .init(recipients: [members[1]]))
        #expect(!table.isBusy)
    }

    @Test func sixteenLanesRunAndTheOthersWaitInOrder() {
        var table = LaneTable(highWatermark: 100, lowWatermark: 20)
        let members = (1...20).map { table.joined(lane: "l\($0)") }
        #expect(members.map { table.requested($0) } == (1...20).map { $0 <= 16 ? .now : .later })
        for (index, ended) in [5, 0, 15].enumerated() {
            let delivery = table.received(Self.message("l\(ended + 1)", .end))
            #expect(delivery == .init(recipients: [members[ended]], starts: [members[16 + index]]))
        }
    }

    @Test func waitingLaneDoesNotDelayLaterLanes() {
        var table = LaneTable(highWatermark: 100, lowWatermark: 20)
        let members = ["a", "a"].map { table.joined(lane: $0) } + (1...15).map { table.joined(lane: "l\($0)") }
        let last = table.joined(lane: "last")
        for member in members { _ = table.requested(member) }
        #expect(table.requested(last) == .later)
        // The second on its lane is older, and still has to wait.
        #expect(table.received(Self.message("l1", .end)).starts == [last])
        #expect(table.received(Self.message("a", .error)).starts == [members[1]])
    }

    @Test func steeringNeedsNoTurn() {
        var (table, members) = Self.table("a", "a")
        #expect(table.steered(members[0]) == .now)
        _ = table.requested(members[0])
        _ = table.requested(members[1])
        #expect(table.steered(members[0]) == .now)
        #expect(table.steered(members[1]) == .later)
        // The member has a response under way already.
        #expect(table.requested(members[0]) == .now)
    }

    @Test func departedMemberSendsNoRequest() {
        var (table, members) = Self.table("a", "b")
        #expect(table.left(members[0]) == .init(isLast: false))
        #expect(table.requested(members[0]) == .never)
        #expect(table.steered(members[0]) == .never)
        #expect(table.left(members[0]) == .init())
        #expect(!table.isIdle(members[0]))
        #expect(!table.isWaitingForTurn(members[0]))
        #expect(table.left(members[1]) == .init(isLast: true))
        #expect(table.isUnused)
    }

    @Test func aMemberMayAskOnAnotherLane() {
        var (table, members) = Self.table("a", "a")
        _ = table.requested(members[0])
        #expect(table.received(Self.message("a", .end)) == .init(recipients: [members[0]]))
        #expect(table.requested(members[0], on: "b") == .now)
        #expect(table.requested(members[1]) == .now)
        #expect(table.received(Self.message("b", .content)) == .init(recipients: [members[0]]))
        #expect(table.received(Self.message("a", .content)) == .init(recipients: [members[1]]))
    }

    @Test func aMemberIsIdleBetweenItsResponses() {
        var (table, members) = Self.table("a")
        #expect(!table.isIdle(members[0]))
        _ = table.requested(members[0])
        #expect(!table.isIdle(members[0]))
        _ = table.received(Self.message("a", .end))
        #expect(table.isIdle(members[0]))
        _ = table.requested(members[0])
        #expect(!table.isIdle(members[0]))
    }

    // MARK: Receiving

    @Test(arguments: Self.kinds) func aMessageGoesToTheLaneThatItNames(_ kind: LaneMessage.Kind) {
        var (table, members) = Self.table("a", "b", "")
        for member in members { _ = table.requested(member) }
        #expect(table.received(Self.message("b", kind)) == .init(recipients: [members[1]]))
        #expect(table.received(Self.message("unknown", kind)) == .init())
        // Without a name it belongs to the nameless lane.
        #expect(table.received(Self.message(nil, kind)) == .init(recipients: [members[2]]))
    }

    @Test(arguments: Self.kinds) func onlyRunningResponseReceivesUnnamedMessages(_ kind: LaneMessage.Kind) {
        var (table, members) = Self.table("a", "b")
        _ = table.requested(members[1])
        #expect(table.received(Self.message(nil, kind)) == .init(recipients: [members[1]]))
    }

    @Test(arguments: Self.kinds) func messageOfNoResponseIsDropped(_ kind: LaneMessage.Kind) {
        var (table, _) = Self.table("a", "b")
        #expect(table.received(Self.message(nil, kind)) == .init())
        #expect(table.received(Self.message("a", kind)) == .init())
    }

    @Test func ambiguousMessageFailsTheSocket() {
        var (table, members) = Self.table("a", "b", "c")
        for member in members.dropLast() { _ = table.requested(member) }
        #expect(table.received(Self.message(nil, .content)) == .init(breaksSocket: true))
        #expect(table.received(Self.message(nil, .end)) == .init(breaksSocket: true))
        let both = Array(members.dropLast())
        #expect(table.received(Self.message(nil, .news)) == .init(recipients: both))
        #expect(table.received(Self.message(nil, .unreadable)) == .init(recipients: both))
        #expect(table.received(Self.message(nil, .answer(.accepted))) == .init())
        _ = table.steered(members[1])
        _ = table.steered(members[0])
        #expect(table.received(Self.message("b", .answer(.accepted))) == .init(recipients: [members[1]]))
        #expect(table.received(Self.message(nil, .answer(.accepted))) == .init(recipients: [members[0]]))
        #expect(table.received(Self.message(nil, .answer(.accepted))) == .init())
    }

    @Test func anErrorWithoutALaneIsTheOldestUnansweredRequests() {
        var (table, members) = Self.table("a", "b", "c", "d")
        for member in members.dropLast() { _ = table.requested(member) }
        _ = table.received(Self.message("a", .content))
        // News answers no request.
        _ = table.received(Self.message("b", .news))
        #expect(table.received(Self.message(nil, .error)) == .init(recipients: [members[1]]))
        _ = table.received(Self.message("c", .content))
        // Now it can only concern the socket.
        #expect(table.received(Self.message(nil, .error)) == .init(recipients: [members[0], members[2]]))
        #expect(!table.isBusy)
    }

    // MARK: Leaving

    @Test(arguments: Self.kinds) func messagesOfADepartedMemberAreDroppedToTheirEnd(_ kind: LaneMessage.Kind) {
        var (table, members) = Self.table("a", "b")
        for member in members { _ = table.requested(member) }
        #expect(table.left(members[0]) == .init())
        #expect(table.received(Self.message("a", kind)) == .init())
        let isOver = kind == .end || kind == .error
        #expect(table.isAbandoned(lane: "a") == !isOver)
        #expect(!table.isAbandoned(lane: "b"))
        #expect(!table.isAbandoned(lane: "c"))
    }

    /// A server may answer a steering message with an unrequested response.
    @Test func laneOfADepartedMemberThatSteeredIsAbandonedUntilItsNextResponseEnds() {
        var (table, members) = Self.table("a", "b")
        _ = table.requested(members[0])
        _ = table.steered(members[0])
        _ = table.received(Self.message("a", .answer(.accepted)))
        _ = table.received(Self.message("a", .end))
        #expect(!table.isAbandoned(lane: "a"))
        #expect(table.left(members[0]) == .init())
        #expect(table.isAbandoned(lane: "a"))
        #expect(!table.isAbandoned(lane: "b"))
        #expect(table.received(Self.message("a", .content)) == .init())
        #expect(table.received(Self.message("a", .end)) == .init())
        #expect(!table.isAbandoned(lane: "a"))
    }

    /// A complete response with accepted input is followed by a response that was not requested (openai-python 3.57.0,
    /// `response_steer_event.py`: "Normal completion can also be followed by an automatic successor").
    @Test func laneOfASteeredResponseStaysItsOwnForTheSuccessor() {
        var (table, members) = Self.table("a", "a")
        _ = table.requested(members[0])
        #expect(table.requested(members[1]) == .later)
        _ = table.received(LaneMessage(lane: "a", kind: .created, name: 1, isAnnouncement: true))
        _ = table.received(LaneMessage(lane: "a", kind: .content, name: 2, isAnnouncement: true))
        _ = table.steered(members[0])
        #expect(table.received(Self.message("a", .end)) == .init(recipients: [members[0]]))
        // The answer may cross the end.
        #expect(table.received(Self.message("a", .answer(.accepted))) == .init(recipients: [members[0]]))
        // What is left of the first response is no part of the second.
        #expect(table.received(Self.message("a", .content)) == .init())
        #expect(table.received(LaneMessage(lane: "a", kind: .content, name: 2)) == .init())
        #expect(table.received(LaneMessage(lane: "a", kind: .content, name: 2, isAnnouncement: true)) == .init())
        #expect(table.received(LaneMessage(lane: nil, kind: .end, name: 1)) == .init())
        let created = LaneMessage(lane: "a", kind: .created, name: 3, isAnnouncement: true)
        #expect(table.received(created) == .init(recipients: [members[0]]))
        #expect(table.received(Self.message("a", .content)) == .init(recipients: [members[0]]))
        #expect(!table.isIdle(members[0]))
        #expect(table.received(Self.message("a", .end)) == .init(recipients: [members[0]], starts: [members[1]]))
        #expect(table.isIdle(members[0]))
    }

    /// Without a successor the next request of the lane begins as soon as that is certain.
    @Test(arguments: [LaneMessage.SteeringAnswer.pending, .failed], [false, true])
    func laneOfASteeredResponseIsFreeWhenNoSuccessorComes(settlement: LaneMessage.SteeringAnswer, isUnnamed: Bool) {
        var (table, members) = Self.table("a", "a")
        _ = table.requested(members[0])
        _ = table.requested(members[1])
        for _ in 0..<2 { _ = table.steered(members[0]) }
        _ = table.received(Self.message("a", .answer(.accepted)))
        _ = table.received(Self.message("a", .end))
        let lane = isUnnamed ? nil : "a"
        #expect(table.received(Self.message(lane, .answer(settlement))) == .init(recipients: [members[0]]))
        #expect(
            table.received(Self.message(lane, .answer(settlement)))
                == .init(recipients: [members[0]], starts: [members[1]]))
        #expect(table.isIdle(members[0]))
        _ = table.left(members[0])
        #expect(!table.isAbandoned(lane: "a"))
    }

    @Test func lanesOfOthersAreFreeBehindASteeredResponse() {
        var (table, members) = Self.table("a", "b", "b")
        for member in members { _ = table.requested(member) }
        _ = table.steered(members[0])
        _ = table.received(Self.message("a", .answer(.accepted)))
        #expect(table.received(Self.message("b", .end)) == .init(recipients: [members[1]], starts: [members[2]]))
        // An error ends the wait as well.
        _ = table.received(Self.message("a", .end))
        #expect(table.received(Self.message("a", .error)) == .init(recipients: [members[0]]))
        #expect(table.isIdle(members[0]))
    }

    @Test func aLaterRequestOfTheSameMemberIsItsOwn() {
        var (table, members) = Self.table("a", "b")
        _ = table.requested(members[0])
        _ = table.steered(members[0])
        _ = table.received(Self.message("a", .end))
        _ = table.requested(members[0])
        _ = table.received(Self.message("a", .end))
        _ = table.left(members[0])
        #expect(!table.isAbandoned(lane: "a"))
    }

    @Test func slotIsFreeWhenADepartedMembersResponseEnds() {
        var table = LaneTable(highWatermark: 100, lowWatermark: 20)
        let members = (1...17).map { table.joined(lane: "l\($0)") }
        for member in members { _ = table.requested(member) }
        _ = table.left(members[0])
        // Another socket is better for a newcomer.
        #expect(table.isAbandoned(lane: "new"))
        #expect(table.received(Self.message("l1", .end)) == .init(starts: [members[16]]))
        #expect(!table.isAbandoned(lane: "new"))
    }

    @Test func requestsBehindAnUnreadResponseAreStranded() {
        var (table, members) = Self.table("a", "a", "b", "b")
        for member in members { _ = table.requested(member) }
        #expect(table.left(members[0]) == .init(stranded: [members[1]]))
        // A member that only waited leaves no state.
        #expect(table.left(members[3]) == .init())
        #expect(table.received(Self.message("b", .end)) == .init(recipients: [members[2]]))
    }

    @Test func waitingLaneIsStrandedWhenNoResponseIsRead() {
        var table = LaneTable(highWatermark: 100, lowWatermark: 20)
        let members = (1...17).map { table.joined(lane: "l\($0)") }
        for member in members { _ = table.requested(member) }
        for member in members.prefix(15) { #expect(table.left(member) == .init()) }
        #expect(table.left(members[15]) == .init(stranded: [members[16]]))
    }

    // MARK: Reading

    @Test func firstWaiterReadsAndTheNextFollows() {
        var (table, members) = Self.table("a", "b", "c")
        #expect(table.waits(members[0]) == .reads)
        #expect(table.waits(members[0]) == .reads)
        #expect(table.waits(members[1]) == .sleeps)
        #expect(table.waits(members[2]) == .sleeps)
        #expect(table.waits(members[1]) == .sleeps)
        #expect(table.takesRole(members[2]) == false)
        #expect(table.stoppedWaiting(members[1]) == nil)
        #expect(table.stoppedWaiting(members[0]) == members[2])
        #expect(table.waits(members[2]) == .reads)
        #expect(table.waits(members[0]) == .sleeps)
        table.stoppedSleeping(members[0])
        #expect(table.stoppedWaiting(members[2]) == nil)
        #expect(table.takesRole(members[1]) == true)
        #expect(table.waits(members[0]) == .sleeps)
        #expect(table.stoppedWaiting(members[1]) == members[0])
    }

    @Test func aReaderThatLeavesPassesTheRoleOn() {
        var (table, members) = Self.table("a", "b", "c")
        for member in members { _ = table.waits(member) }
        _ = table.left(members[0])
        _ = table.left(members[1])
        #expect(table.stoppedWaiting(members[0]) == members[2])
    }

    @Test func readingStopsAtTheHighWatermarkAndGoesOnAtTheLow() {
        var (table, members) = Self.table("a", "b")
        table.put(99, for: members[0])
        #expect(table.mayRead)
        table.put(1, for: members[0])
        table.put(200, for: members[1])
        #expect(!table.mayRead)
        #expect(table.took(members[0], leaving: 21) == false)
        #expect(table.took(members[0], leaving: 20) == false)
        #expect(!table.mayRead)
        #expect(table.took(members[1], leaving: 0) == true)
        #expect(table.mayRead)
        #expect(table.took(members[1], leaving: 0) == false)
    }

    @Test func departedMemberNoLongerPausesReading() {
        var (table, members) = Self.table("a", "b", "c")
        table.put(100, for: members[0])
        table.put(100, for: members[1])
        #expect(table.left(members[0]) == .init())
        #expect(table.left(members[1]) == .init(resumesReading: true))
        #expect(table.mayRead)
        table.put(1000, for: members[1])
        #expect(table.took(members[1], leaving: 0) == false)
        #expect(table.mayRead)
    }

    @Test(arguments: [(0, 0), (1, 0), (1, 1), (10, 20), (10, -1), (1, .min), (.min, .min), (.min, .max), (.max, .max)])
    func oddWatermarksLetReadingGoOn(_ high: Int, _ low: Int) {
        var table = LaneTable(highWatermark: high, lowWatermark: low)
        let member = table.joined(lane: "a")
        table.put(max(1, high), for: member)
        #expect(!table.mayRead)
        #expect(table.took(member, leaving: 0) == true)
        #expect(table.mayRead)
    }

    // MARK: Identifiers

    /// An event that announces an identifier.
    private static func announcement(_ lane: String?, _ name: UInt64) -> LaneMessage {
        LaneMessage(lane: lane, kind: .content, name: name, isAnnouncement: true)
    }

    @Test func anEventWithoutALaneIsItsItems() {
        var (table, members) = Self.table("a", "b")
        for member in members { _ = table.requested(member) }
        _ = table.received(Self.announcement("a", 1))
        _ = table.received(Self.announcement("b", 2))
        for (name, member) in [(UInt64(2), members[1]), (1, members[0])] {
            #expect(table.received(LaneMessage(lane: nil, kind: .content, name: name)) == .init(recipients: [member]))
        }
        // Its lane is unknown.
        #expect(table.received(LaneMessage(lane: nil, kind: .content, name: 3)).breaksSocket)
        // The end of the named response ends no other.
        #expect(table.received(LaneMessage(lane: nil, kind: .end, name: 2)) == .init(recipients: [members[1]]))
        #expect(table.received(LaneMessage(lane: nil, kind: .content, name: 2)) == .init())
    }

    @Test(arguments: [LaneMessage.Kind.content, .end], ["a", nil])
    func lateMessageOfAnEndedResponseIsDropped(_ kind: LaneMessage.Kind, lane: String?) {
        var (table, members) = Self.table("a", "a")
        for member in members { _ = table.requested(member) }
        _ = table.received(Self.announcement("a", 1))
        #expect(table.received(LaneMessage(lane: "a", kind: .end, name: 1)).starts == [members[1]])
        #expect(table.received(LaneMessage(lane: lane, kind: kind, name: 1)) == .init())
        #expect(table.isBusy)
        // A server that gives every response the same identifier announces it anew.
        #expect(table.received(Self.announcement("a", 1)) == .init(recipients: [members[1]]))
        #expect(table.received(LaneMessage(lane: lane, kind: kind, name: 1)) == .init(recipients: [members[1]]))
    }

    @Test func identifierSharedByTwoLanesIsIgnored() {
        var (table, members) = Self.table("a", "b")
        for member in members { _ = table.requested(member) }
        for (lane, member) in zip(["a", "b", "a"], members + members) {
            #expect(table.received(Self.announcement(lane, 1)) == .init(recipients: [member]))
            #expect(table.received(LaneMessage(lane: lane, kind: .content, name: 1)) == .init(recipients: [member]))
        }
        #expect(table.received(LaneMessage(lane: nil, kind: .content, name: 1)).breaksSocket)
    }

    @Test func eventOnAnotherLaneThanItsItemIsDropped() {
        var (table, members) = Self.table("a", "b")
        for member in members { _ = table.requested(member) }
        _ = table.received(Self.announcement("a", 1))
        #expect(table.received(LaneMessage(lane: "b", kind: .content, name: 1)) == .init())
    }

    @Test func unnamedPieceIsDroppedAfterAResponseOnNamedLanes() {
        var (table, members) = Self.table("a", "b")
        for member in members { _ = table.requested(member) }
        _ = table.received(Self.message("a", .content))
        _ = table.received(Self.message("a", .end))
        #expect(table.received(Self.message(nil, .content)) == .init())
        #expect(table.received(Self.message(nil, .end)) == .init())
        #expect(table.received(Self.message("b", .content)) == .init(recipients: [members[1]]))
        #expect(table.received(Self.message("b", .end)) == .init(recipients: [members[1]]))
    }

    @Test func aServerThatDoesNotRepeatTheLaneIsRead() {
        var (table, members) = Self.table("a", "b")
        for member in members {
            #expect(table.requested(member) == .now)
            for kind in [LaneMessage.Kind.content, .end] {
                #expect(table.received(Self.message(nil, kind)) == .init(recipients: [member]))
            }
        }
    }

    @Test func theNewestIdentifiersAreRemembered() {
        var names = LaneNames()
        for name in 1...UInt64(LaneNames.maximumCount + 2) { names.announce(name, by: Int(name)) { _ in false } }
        #expect(names[1] == .unknown)
        #expect(names[2] == .unknown)
        #expect(names[3] == .response(3))
        #expect(names[UInt64(LaneNames.maximumCount + 2)] == .response(LaneNames.maximumCount + 2))
    }
}
