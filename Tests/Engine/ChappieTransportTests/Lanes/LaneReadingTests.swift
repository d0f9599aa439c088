// The reader of a shared socket, while members come and leave.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite(.timeLimit(.minutes(10))) struct LaneReadingTests {
    private typealias Lanes = LaneTransportTests

    private let clock = ManualClock()

    /// Connections on lanes of one socket, each with a response under way.
    private func lanes(
        _ count: Int, _ change: (inout TransportRequest) -> Void = { _ in }
    ) -> (socket: ManualSocket, lanes: [any TransportConnection]) {
        let sockets = ManualTransport(clock: self.clock)
        let transport = LaneTransport(sockets, clock: self.clock.turnClock, maximumAge: nil)
        let lanes = (0..<count).map { index in
            var request = Lanes.request("l\(index)")
            change(&request)
            return transport.connect(request)
        }
        sockets.sockets[0].push(.opened(101))
        for (index, lane) in lanes.enumerated() {
            _ = lane.next()
            lane.send(Lanes.create("l\(index)"), as: .text)
        }
        return (sockets.sockets[0], lanes)
    }

    private func event(_ lane: Int, _ number: Int = 0) -> ManualSocket.Event {
        .text(Lanes.event("l\(lane)", "x", #","n":\#(number)"#))
    }

    @Test func oneWaitingLaneReadsForAllLanes() async {
        let (socket, lanes) = self.lanes(2)
        async let first = lanes[0].wait(for: nil)
        await socket.waits.wait()
        async let second = lanes[1].wait(for: nil)
        socket.push(self.event(1), self.event(0))
        #expect(await first == .ready)
        #expect(await second == .ready)
        #expect(lanes.map { Lanes.told($0).count } == [1, 1])
    }

    @Test func cancelledReaderLosesNoEvents() async {
        for _ in 0..<200 {
            let (socket, lanes) = self.lanes(2)
            let first = Task { await lanes[0].wait(for: nil) }
            await socket.waits.wait()
            let second = Task { await lanes[1].wait(for: nil) }
            first.cancel()
            #expect(await first.value == .cancelled)
            socket.push(self.event(0), self.event(1))
            #expect(await second.value == .ready)
            #expect(lanes.map { Lanes.told($0).count } == [1, 1])
        }
    }

    @Test func aSleeperIsCancelledByItself() async {
        let (socket, lanes) = self.lanes(2)
        let first = Task { await lanes[0].wait(for: nil) }
        await socket.waits.wait()
        let second = Task { await lanes[1].wait(for: nil) }
        second.cancel()
        #expect(await second.value == .cancelled)
        socket.push(self.event(0))
        #expect(await first.value == .ready)
        #expect(await lanes[0].wait(for: .seconds(1)) == .ready)
    }

    @Test func theReaderKeepsTheTimeOfTheOthers() async {
        let (socket, lanes) = self.lanes(3)
        let first = Task { await lanes[0].wait(for: nil) }
        await socket.waits.wait()
        let start = self.clock.now
        #expect(await lanes[1].wait(for: .seconds(5)) == .deadlinePassed)
        #expect(self.clock.now - start >= .seconds(5))
        #expect(await lanes[2].wait(for: .seconds(1)) == .deadlinePassed)
        socket.push(self.event(0))
        #expect(await first.value == .ready)
    }

    @Test func aWaitEndsWhenItsLaneIsCancelled() async {
        for canceled in 0...1 {
            let (socket, lanes) = self.lanes(2)
            let waits = lanes.map { lane in Task { await lane.wait(for: nil) } }
            await socket.waits.wait()
            lanes[canceled].cancel()
            #expect(await waits[canceled].value == .ready)
            #expect(Lanes.told(lanes[canceled]) == ["cancelled"])
            socket.push(self.event(1 - canceled))
            #expect(await waits[1 - canceled].value == .ready)
        }
    }

    @Test func readingStopsForAFullLaneAndGoesOn() async {
        let (socket, lanes) = self.lanes(2) { ($0.limits.highWatermark, $0.limits.lowWatermark) = (100, 10) }
        for number in 0..<20 { socket.push(self.event(0, number)) }
        socket.push(self.event(1))
        #expect(lanes[1].next() == nil)
        #expect(socket.readCount < 10)
        async let second = lanes[1].wait(for: nil)
        var numbers: [String] = []
        while numbers.count < 20 { numbers += Lanes.told(lanes[0]) }
        #expect(numbers == (0..<20).map { Lanes.event("l0", "x", #","n":\#($0)"#) })
        #expect(await second == .ready)
        #expect(Lanes.told(lanes[1]).count == 1)
    }

    @Test func leavingFullLaneUnblocksTheOthers() async {
        let (socket, lanes) = self.lanes(2) { ($0.limits.highWatermark, $0.limits.lowWatermark) = (1, 0) }
        socket.push(self.event(0), self.event(0), self.event(1))
        #expect(lanes[1].next() == nil)
        async let second = lanes[1].wait(for: nil)
        lanes[0].cancel()
        #expect(await second == .ready)
        #expect(Lanes.told(lanes[1]).count == 1)
    }

    @Test func everyLaneReceivesItsEventsInOrderWithChangingReaders() async {
        let count = 400
        let (socket, lanes) = self.lanes(8) { ($0.limits.highWatermark, $0.limits.lowWatermark) = (400, 100) }
        await withTaskGroup(of: Void.self) { group in
            for (index, lane) in lanes.enumerated() {
                group.addTask {
                    var received: [String] = []
                    var turns = index
                    while received.count < count {
                        turns += 1
                        let wait = Task { await lane.wait(for: nil) }
                        if turns % 3 == 0 { wait.cancel() }
                        _ = await wait.value
                        received += Lanes.told(lane)
                    }
                    #expect(received == (0..<count).map { Lanes.event("l\(index)", "x", #","n":\#($0)"#) })
                }
            }
            group.addTask {
                for number in 0..<count {
                    for lane in 0..<8 { socket.push(self.event((lane * 5 + number) % 8, number)) }
                    await Task.yield()
                }
            }
        }
    }
}
