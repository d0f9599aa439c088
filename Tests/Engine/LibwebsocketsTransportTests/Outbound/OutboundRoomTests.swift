// The wait for room for a message, without a socket.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite(.timeLimit(.minutes(10))) struct OutboundRoomTests {
    private let arena = InboundArena(limits: TransportLimits())

    /// Returns whether a message would have to wait: a caller whose task is cancelled gets room, or else is told so.
    private func isFull(for byteCount: Int, upTo watermark: Int = 10) async -> Bool {
        let task = Task { await self.arena.outbound.admit(byteCount: byteCount, upTo: watermark) }
        task.cancel()
        let outcome = await task.value
        if outcome == .queued { self.arena.outbound.noteWritten(byteCount: byteCount) }
        return outcome == .cancelled
    }

    @Test func messagesAreAdmittedUpToTheWatermark() async {
        #expect(await self.arena.outbound.admit(byteCount: 4, upTo: 10) == .queued)
        #expect(await self.arena.outbound.admit(byteCount: 6, upTo: 10) == .queued)
        #expect(await self.isFull(for: 1))
        self.arena.outbound.noteWritten(byteCount: 10)
        #expect(await !self.isFull(for: 10))
    }

    /// A message above the watermark is sent by itself.
    @Test func aLongMessageIsAdmittedWhenNoneWaits() async {
        #expect(await self.isFull(for: 11) == false)
        #expect(await self.arena.outbound.admit(byteCount: 1, upTo: 10) == .queued)
        #expect(await self.isFull(for: 11))
    }

    @Test func aWaitingSenderIsAdmittedWhenTheOthersAreWritten() async {
        #expect(await self.arena.outbound.admit(byteCount: 10, upTo: 10) == .queued)
        let senders = (0..<3).map { _ in Task { await self.arena.outbound.admit(byteCount: 3, upTo: 10) } }
        self.arena.outbound.noteWritten(byteCount: 10)
        for sender in senders { #expect(await sender.value == .queued) }
        #expect(await self.isFull(for: 2))
    }

    @Test func aCallerThatDoesNotWaitChangesNothingWithoutRoom() async {
        let room = self.arena.outbound
        #expect(room.admitAtOnce(byteCount: 4, upTo: 10) == .queued)
        #expect(room.admitAtOnce(byteCount: 7, upTo: 10) == nil)
        #expect(room.admitAtOnce(byteCount: 6, upTo: 10) == .queued)
        let sender = Task.immediate { await room.admit(byteCount: 1, upTo: 10) }
        // Not before the caller that waits.
        #expect(room.admitAtOnce(byteCount: 0, upTo: 10) == nil)
        room.noteWritten(byteCount: 10)
        #expect(await sender.value == .queued)
        room.close()
        #expect(room.admitAtOnce(byteCount: 1, upTo: 10) == .ended)
    }

    /// A caller that waits is resumed when half of the room is free, and not before.
    @Test func aSenderWaitsForHalfOfTheRoom() async {
        let room = self.arena.outbound
        for _ in 0..<10 { #expect(await room.admit(byteCount: 1, upTo: 10) == .queued) }
        let sender = Task.immediate { await room.admit(byteCount: 1, upTo: 10) }
        room.noteWritten(byteCount: 4)
        // A later caller finds no room before it.
        #expect(await self.isFull(for: 1))
        room.noteWritten(byteCount: 1)
        #expect(await sender.value == .queued)
        #expect(await !self.isFull(for: 4))
        #expect(await self.isFull(for: 5))
    }

    /// However small the watermark and however long the message, a caller goes on when all before it is written.
    @Test(arguments: [(1, 1), (1, 7), (3, 2), (3, 3), (10, 10), (10, 11)])
    func aSenderGoesOnWhenAllIsWritten(watermark: Int, byteCount: Int) async {
        let room = self.arena.outbound
        #expect(await room.admit(byteCount: 100, upTo: watermark) == .queued)
        let sender = Task.immediate { await room.admit(byteCount: byteCount, upTo: watermark) }
        for _ in 0..<100 { room.noteWritten(byteCount: 1) }
        #expect(await sender.value == .queued)
    }

    /// Callers behind one that is cancelled while it waits are not forgotten.
    @Test func aCancelledSenderLeavesTheOthersTheirTurn() async {
        let room = self.arena.outbound
        #expect(await room.admit(byteCount: 10, upTo: 10) == .queued)
        let senders = (0..<3).map { _ in Task.immediate { await room.admit(byteCount: 2, upTo: 10) } }
        senders[0].cancel()
        #expect(await senders[0].value == .cancelled)
        room.noteWritten(byteCount: 5)
        #expect(await senders[1].value == .queued)
        #expect(await senders[2].value == .queued)
        #expect(await self.isFull(for: 2))
    }

    @Test(arguments: [
        TransportEnd.closed(code: 1000, reason: ""), .failed(TransportFailure(phase: .stream, cause: .connectionLost)),
    ])
    func waitingAndLaterSendersReceiveTheEnd(_ end: TransportEnd) async {
        #expect(await self.arena.outbound.admit(byteCount: 10, upTo: 10) == .queued)
        let sender = Task { await self.arena.outbound.admit(byteCount: 1, upTo: 10) }
        self.arena.finish(end)
        #expect(await sender.value == .ended)
        #expect(await self.arena.outbound.admit(byteCount: 0, upTo: 10) == .ended)
    }

    @Test func abortedExchangesTakeNoMessages() async {
        #expect(await self.arena.outbound.admit(byteCount: 10, upTo: 10) == .queued)
        let sender = Task { await self.arena.outbound.admit(byteCount: 1, upTo: 10) }
        self.arena.abort(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
        #expect(await sender.value == .ended)
    }

    /// The sender goes on on the main actor, behind the close: its message is refused, and not left behind.
    @MainActor @Test func waitingSenderThatResumesAfterTheCloseIsRefused() async {
        let room = OutboundRoom(byteCountLimit: 100)
        let order = LockedValue<[String]>([])
        let note = { @Sendable (event: String) in order.withLock { $0.append(event) } }
        #expect(room.admitAtOnce(byteCount: 10, upTo: 10) { note("first") } == .queued)
        let sender = Task.immediate { await room.admit(byteCount: 1, upTo: 10) { note("waiting") } }
        // There is room for it now.
        room.noteWritten(byteCount: 10)
        room.close { note("end") }
        room.close { note("end again") }
        #expect(room.admitAtOnce(byteCount: 1, upTo: 10) { note("late") } == .ended)
        #expect(await sender.value == .ended)
        #expect(order.withLock { $0 } == ["first", "end"])
    }

    /// Answers to the messages before a violation are still sent.
    @Test func aViolationOfThePeerLeavesRoomForAnswers() async {
        self.arena.finish(.failed(TransportFailure(phase: .stream, cause: .protocolViolation(closeCode: 1002))))
        #expect(await self.arena.outbound.admit(byteCount: 10, upTo: 10) == .queued)
        let sender = Task { await self.arena.outbound.admit(byteCount: 1, upTo: 10) }
        self.arena.outbound.close()
        #expect(await sender.value == .ended)
    }
}

extension OutboundRoom {
    fileprivate func admitAtOnce(byteCount: Int, upTo watermark: Int) -> SendOutcome? {
        self.admitAtOnce(byteCount: byteCount, upTo: watermark) {}
    }

    nonisolated(nonsending) fileprivate func admit(byteCount: Int, upTo watermark: Int) async -> SendOutcome {
        await self.admit(byteCount: byteCount, upTo: watermark) {}
    }
}

@Suite(.timeLimit(.minutes(10))) struct PingAnswerTests {
    @Test func thePingBeyondTheLimitIsTheOldest() async {
        var pings = OutstandingPings()
        let oldest = PingAnswer()
        for index in 0...OutstandingPings.limit {
            pings.sent([UInt8(index)], for: PingTicket(index == 0 ? oldest : PingAnswer()))
        }
        #expect(await oldest.value() == .timedOut)
    }

    @Test func anAnswerIsAwaited() async {
        let answer = PingAnswer()
        async let value = answer.value()
        answer.resolve(.measured(.seconds(3)))
        answer.resolve(.timedOut)
        #expect(await value == .measured(.seconds(3)))
    }

    @Test func aDroppedTicketHasNoAnswer() async {
        let answer = PingAnswer()
        do { _ = PingTicket(answer) }
        #expect(await answer.value() == .ended)
    }

    @Test func aCancelledTaskDoesNotWait() async {
        let answer = PingAnswer()
        let ticket = PingTicket(answer)
        let task = Task { await answer.value() }
        task.cancel()
        #expect(await task.value == .ended)
        withExtendedLifetime(ticket) {}
    }

    @Test func anAnswerSettlesTheOlderPings() async throws {
        var pings = OutstandingPings()
        let answers = (0..<3).map { _ in PingAnswer() }
        for (index, answer) in answers.enumerated() { pings.sent([UInt8(index)], for: PingTicket(answer)) }
        pings.sent([9])
        // The consumer is told of its own pings alone.
        let told = [[1], [9], [9]].map { pings.settle(with: $0) }
        #expect(told == [false, true, false])
        for answer in answers {
            let value = await answer.value()
            guard case .measured = value else {
                Issue.record("\(value)")
                continue
            }
        }
    }
}
