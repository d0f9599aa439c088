// The decisions of one direction of a connection, without a socket.
import Testing

@testable import ChappieTestServer

/// The result of bytes that passed a lane.
private struct Passage: Equatable {
    var writes: [Int] = []
    var strikes: [ConnectionFault] = []
    var waits: [Duration] = []
    var end = FaultLane.Step.awaitInput
}

/// Passes bytes in pieces; a wait is over at once, on a clock that jumps.
private func pass(_ byteCount: Int, inPiecesOf size: Int = .max, _ faults: [ConnectionFault]) -> Passage {
    var lane = FaultLane(faults)
    var passage = Passage()
    var now = Duration.zero
    var (missing, available) = (byteCount, 0)
    while true {
        switch lane.next(available: available, now: now) {
        case .deliver(let count):
            passage.writes.append(count)
            available -= count
            lane.delivered(count, now: now)
        case .strike(let action): passage.strikes.append(action)
        case .wait(let time):
            passage.waits.append(time)
            now = time
        case .hold:
            passage.end = .hold
            return passage
        case .awaitInput:
            if missing == 0 { return passage }
            available = min(missing, size)
            missing -= available
        }
    }
}

@Suite struct FaultProxyLaneTests {
    private static let ends: [@Sendable (Int) -> ConnectionFault] = [
        { .cut(atByte: $0) }, { .cut(atByte: $0, with: .reset) }, { .halfOpen(atByte: $0) }, { .stall(atByte: $0) },
    ]

    @Test func withoutFaultsEverythingPassesAsItComes() {
        #expect(pass(10, []) == Passage(writes: [10]))
        #expect(pass(10, inPiecesOf: 4, []) == Passage(writes: [4, 4, 2]))
        #expect(pass(0, []) == Passage())
    }

    @Test(arguments: 0..<4, 1...5) func noBytePassesAnEnd(_ kind: Int, pieces: Int) {
        for offset in 0...11 {
            let action = Self.ends[kind](offset)
            let passage = pass(10, inPiecesOf: pieces, [action])
            #expect(passage.writes.reduce(0, +) == min(10, offset))
            #expect(passage.strikes == (offset <= 10 ? [action] : []))
            #expect(passage.end == (offset <= 10 ? .hold : .awaitInput))
        }
    }

    @Test func anEndDoesNotWaitForTheNextByte() {
        var lane = FaultLane([.cut(atByte: 3)])
        #expect(lane.next(available: 3, now: .zero) == .deliver(count: 3))
        lane.delivered(3, now: .zero)
        #expect(lane.next(available: 0, now: .zero) == .strike(.cut(atByte: 3)))
        #expect(lane.next(available: 5, now: .zero) == .hold)
        #expect(lane.isHolding)
    }

    @Test func undeliveredBytesAreOfferedAgain() {
        var lane = FaultLane([.cut(atByte: 6)])
        #expect(lane.next(available: 9, now: .zero) == .deliver(count: 6))
        lane.delivered(2, now: .zero)
        #expect(lane.position == 2)
        #expect(lane.next(available: 7, now: .zero) == .deliver(count: 4))
        lane.delivered(0, now: .zero)
        #expect(lane.next(available: 7, now: .zero) == .deliver(count: 4))
    }

    @Test func aStallEndsAtItsTimeAndNotBefore() {
        let action = ConnectionFault.stall(atByte: 2, for: .seconds(3))
        var lane = FaultLane([action])
        lane.delivered(2, now: .seconds(1))
        #expect(lane.next(available: 5, now: .seconds(1)) == .strike(action))
        #expect(lane.isHolding)
        #expect(lane.next(available: 5, now: .seconds(1)) == .wait(until: .seconds(4)))
        #expect(lane.next(available: 5, now: .milliseconds(3_999)) == .wait(until: .seconds(4)))
        #expect(lane.next(available: 5, now: .seconds(4)) == .deliver(count: 5))
        #expect(!lane.isHolding)
    }

    @Test func aByteIsCorruptedWhenItIsThere() {
        let action = ConnectionFault.corrupt(atByte: 4, mask: 1)
        for offset in 0...9 {
            #expect(pass(10, [.corrupt(atByte: offset)]).strikes.count == 1)
        }
        #expect(pass(4, [action]) == Passage(writes: [4]))
        #expect(pass(10, [action]) == Passage(writes: [4, 6], strikes: [action]))
    }

    @Test func aByteThatIsCutOffIsNotCorrupted() {
        let faults: [ConnectionFault] = [.corrupt(atByte: 4), .cut(atByte: 4)]
        #expect(pass(4, faults).strikes == [.cut(atByte: 4)])
        #expect(pass(10, faults).strikes == [.cut(atByte: 4)])
    }

    @Test func faultsStrikeInTheOrderOfTheirBytesAndThenOfThePlan() {
        let faults: [ConnectionFault] = [
            .cut(atByte: 9), .stall(atByte: 5, for: .seconds(1)), .corrupt(atByte: 0),
            .slice(byteCount: 2, fromByte: 5),
            .corrupt(atByte: 5, mask: 3), .corrupt(atByte: 5, mask: 1),
        ]
        let passage = pass(20, faults)
        #expect(passage.strikes == [faults[2], faults[1], faults[3], faults[4], faults[5], faults[0]])
        #expect(passage.writes == [5, 2, 2])
        #expect(passage.waits == [.seconds(1)])
    }

    @Test(arguments: [1, 2, 7, 100]) func slicesAreAsLargeAsTheyMayBe(_ size: Int) {
        let writes = pass(30, [.slice(byteCount: size)]).writes
        #expect(writes.dropLast().allSatisfy { $0 == min(size, 30) })
        #expect(writes.reduce(0, +) == 30)
        #expect(pass(30, inPiecesOf: 3, [.slice(byteCount: 10)]).writes == Array(repeating: 3, count: 10))
    }

    @Test func aLaterSliceReplacesTheEarlierOne() {
        let faults: [ConnectionFault] = [.slice(byteCount: 1), .slice(byteCount: 4, fromByte: 3)]
        #expect(pass(12, faults).writes == [1, 1, 1, 4, 4, 1])
    }

    @Test func theRateIsKept() throws {
        // Ten bytes a hundredth of a second.
        let fast = pass(35, [.throttle(bytesPerSecond: 1000)])
        #expect(fast.writes == [10, 10, 10, 5])
        #expect(fast.waits == [10, 20, 30].map { .milliseconds($0) })
        // Below a hundred bytes a second they come one by one.
        let slow = pass(3, [.throttle(bytesPerSecond: 0.5)])
        #expect(slow.writes == [1, 1, 1])
        #expect(slow.waits == [.seconds(2), .seconds(4)])
        let late = pass(25, [.throttle(bytesPerSecond: 1000, fromByte: 20)])
        #expect(late.writes == [20, 5])
        #expect(pass(20, [.throttle(bytesPerSecond: 1000), .slice(byteCount: 4)]).writes == [4, 4, 4, 4, 4])
    }

    @Test func aPauseOfTheSenderIsNotMadeUpFor() {
        for pause in [Duration.milliseconds(11), .seconds(9)] {
            var lane = FaultLane([.throttle(bytesPerSecond: 1000)])
            #expect(lane.next(available: 10, now: .zero) == .strike(.throttle(bytesPerSecond: 1000)))
            #expect(lane.next(available: 10, now: .zero) == .deliver(count: 10))
            lane.delivered(10, now: .zero)
            #expect(lane.next(available: 0, now: .zero) == .awaitInput)
            #expect(lane.next(available: 10, now: pause) == .deliver(count: 10))
            lane.delivered(10, now: pause)
            #expect(lane.next(available: 10, now: pause) == .wait(until: pause + .milliseconds(10)))
        }
    }

    @Test func aWakeUpThatComesALittleLateIsMadeUpFor() {
        var lane = FaultLane([.throttle(bytesPerSecond: 1000)])
        _ = lane.next(available: 30, now: .zero)
        lane.delivered(10, now: .zero)
        #expect(lane.next(available: 20, now: .milliseconds(14)) == .deliver(count: 10))
        lane.delivered(10, now: .milliseconds(14))
        #expect(lane.next(available: 10, now: .milliseconds(14)) == .wait(until: .milliseconds(20)))
        // One that comes very late is not.
        lane.delivered(10, now: .seconds(1))
        #expect(lane.next(available: 10, now: .seconds(1)) == .wait(until: .milliseconds(1010)))
    }

    @Test func addedFaultsCountFromTheirOrigin() {
        var lane = FaultLane([.cut(atByte: 9)])
        lane.delivered(2, now: .zero)
        lane.add([.cut(atByte: .max), .halfOpen(atByte: 3)], from: 2)
        #expect(!lane.strikes(at: 4))
        #expect(lane.strikes(at: 5))
        #expect(lane.next(available: 20, now: .zero) == .deliver(count: 3))
        lane.delivered(3, now: .zero)
        #expect(lane.next(available: 17, now: .zero) == .strike(.halfOpen(atByte: 3)))
    }

    @Test func offsetBeyondAllBytesNeverApplies() {
        #expect(pass(10, [.cut(atByte: .max), .corrupt(atByte: .max)]) == Passage(writes: [10]))
    }
}
