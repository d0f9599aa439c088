// The arena between the service thread and a consumer, without either of them.

import PlatformC
import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

extension InboundArena {
    /// Creates an arena whose statistics count from the clock's zero.
    convenience init(limits: TransportLimits) { self.init(limits: limits, started: Moment(nanoseconds: 0)) }

    /// Appends a message, or, without a piece, a run of a body.
    @discardableResult
    func append(
        _ text: String, as piece: MessagePiece? = MessagePiece(kind: .text), at moment: Duration = .zero
    ) -> Appended {
        var reserve: InboundBuffer?
        var arrival = Arrival(moment: Moment(nanoseconds: 0) + moment, byteCount: text.utf8.count)
        return Array(text.utf8).withUnsafeBytes { bytes in
            guard let piece else { return self.append(bytes, of: &arrival, reserve: &reserve) }
            let record = InboundBuffer.Record(content: .message(piece), offset: 0, count: bytes.count)
            return self.append([record], in: bytes, of: &arrival, reserve: &reserve)
        }
    }

    /// Appends a run of a body at the clock's zero.
    @discardableResult
    func append(_ bytes: UnsafeRawBufferPointer, reserve: inout InboundBuffer?) -> Appended {
        var arrival = Arrival(moment: Moment(nanoseconds: 0), byteCount: bytes.count)
        return self.append(bytes, of: &arrival, reserve: &reserve)
    }

    /// Takes one buffer, without giving one.
    func take() -> Batch? { self.take(giving: nil) }

    func wait(until deadline: Moment?) async -> TransportWaitOutcome {
        await self.wait(until: deadline) {}
    }

    /// Indicates whether reading must wait for the consumer.
    var isPaused: Bool { self.room == 0 }
}

extension InboundArena.Batch {
    /// The records of the buffer, as text.
    var texts: [String] { self.buffer?.texts ?? [] }
}

extension InboundBuffer {
    /// Appends a piece of a message, or, without one, a run of a body.
    func append(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) {
        guard let piece else { return self.append(bytes) }
        self.append([Record(content: .message(piece), offset: 0, count: bytes.count)], of: bytes)
    }

    /// The bytes of each record, as text.
    var texts: [String] { self.records.map { String(decoding: self.bytes(of: $0), as: UTF8.self) } }
}

@Suite struct InboundArenaTests {
    private static func arena(high: Int = 1 << 20, low: Int = 1 << 18) -> InboundArena {
        var limits = TransportLimits()
        limits.highWatermark = high
        limits.lowWatermark = low
        return InboundArena(limits: limits)
    }

    @Test func appendedBytesAreTakenOnceInOrder() throws {
        let arena = Self.arena()
        #expect(arena.take() == nil)
        arena.open(ResponseHead(statusCode: 101), coding: .none)
        arena.append("a")
        arena.append("bc")
        arena.finish(.closed(code: 1000, reason: ""))
        let batch = try #require(arena.take())
        #expect(batch.head == ResponseHead(statusCode: 101))
        #expect(batch.texts == ["a", "bc"])
        #expect(batch.end == .closed(code: 1000, reason: ""))
        #expect(arena.take() == nil)
    }

    @Test func theHeadComesWithItsCodingAndOnce() throws {
        let arena = Self.arena()
        arena.open(ResponseHead(statusCode: 200), coding: .content("gzip"))
        #expect(try #require(arena.take()).coding == .content("gzip"))
        arena.append("a", as: nil)
        #expect(try #require(arena.take()).head == nil)
    }

    @Test func onlyTheFirstEndIsReported() throws {
        let arena = Self.arena()
        #expect(arena.finish(.complete))
        #expect(!arena.finish(.closed(code: 1006, reason: "")))
        arena.abort(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
        #expect(try #require(arena.take()).end == .complete)
        #expect(arena.take() == nil)
    }

    @Test func noBytesAreTakenAfterTheEnd() throws {
        let arena = Self.arena()
        arena.finish(.complete)
        arena.append("late")
        #expect(!arena.isPaused)
        arena.open(ResponseHead(statusCode: 200), coding: .none)
        let batch = try #require(arena.take())
        #expect(batch.buffer == nil)
        #expect(batch.head == nil)
    }

    @Test func abortDropsUnreadBytes() throws {
        let arena = Self.arena()
        arena.append("a")
        let end = TransportEnd.failed(TransportFailure(phase: .stream, cause: .cancelled))
        arena.abort(end)
        let batch = try #require(arena.take())
        #expect(batch.buffer == nil)
        #expect(batch.end == end)
    }

    @Test(arguments: [(-1, false), (0, true), (1, true)])
    func readingPausesAtTheHighWatermark(_ excess: Int, _ pauses: Bool) {
        let record = MemoryLayout<InboundBuffer.Record>.stride
        let arena = Self.arena(high: 100 + record, low: 10)
        arena.append(String(repeating: "x", count: 100 + excess))
        #expect(arena.isPaused == pauses)
    }

    @Test func roomIsTheDistanceToTheHighWatermark() {
        let record = MemoryLayout<InboundBuffer.Record>.stride
        let arena = Self.arena(high: 100 + record, low: 10)
        #expect(arena.room == 100 + record)
        arena.append(String(repeating: "x", count: 60), as: nil)
        #expect(arena.room == 40)
        _ = arena.take()
        // What the consumer has in hand counts until it says how much of it is left.
        #expect(arena.room == 40)
        #expect(!arena.shouldResume(withUnread: 50))
        #expect(arena.room == 50 + record)
        arena.append(String(repeating: "x", count: 50), as: nil)
        #expect(arena.room == 0)
    }

    @Test func readHasRoomForAByteAtAZeroWatermark() {
        let arena = Self.arena(high: 0, low: 0)
        #expect(arena.room == 1)
    }

    @Test func manyTinyRecordsPauseToo() {
        let arena = Self.arena(high: 10_000, low: 10)
        var count = 0
        while !arena.isPaused {
            arena.append("x")
            count += 1
        }
        #expect(count < 10_000 / MemoryLayout<InboundBuffer.Record>.stride)
    }

    @Test func readingGoesOnOnceAtTheLowWatermark() {
        let arena = Self.arena(high: 100, low: 40)
        #expect(!arena.shouldResume(withUnread: 0))
        arena.append(String(repeating: "x", count: 100), as: nil)
        #expect(!arena.shouldResume(withUnread: 0))
        _ = arena.take()
        #expect(!arena.shouldResume(withUnread: 41))
        #expect(arena.shouldResume(withUnread: 40))
        #expect(!arena.shouldResume(withUnread: 39))
        #expect(!arena.isPaused)
    }

    @Test(arguments: [(0, 0), (-5, -5), (10, 50), (10, -1), (Int.max, Int.max)])
    func anyWatermarksLetTheConsumerCatchUp(_ high: Int, _ low: Int) {
        let arena = Self.arena(high: high, low: low)
        arena.append("0123456789")
        let pauses = arena.isPaused
        #expect(pauses == (high != .max))
        _ = arena.take()
        #expect(arena.shouldResume(withUnread: 0) == pauses)
    }

    // MARK: Several buffers

    private static let smallByteCount = InboundBuffer.smallByteCount
    private static let largeByteCount = InboundBuffer.largeByteCount

    private static func text(_ letter: Character, _ count: Int) -> String { String(repeating: letter, count: count) }

    @Test(arguments: [
        ([smallByteCount], [1]), ([smallByteCount + 1], [1]), ([smallByteCount - 1, 1, 1], [2, 1]),
        ([smallByteCount, largeByteCount], [1, 1]), ([smallByteCount, largeByteCount - 1, 1, 1], [1, 2, 1]),
        ([largeByteCount, largeByteCount, largeByteCount], [1, 1, 1]),
    ])
    func messageThatDoesNotFitGoesIntoAnotherBuffer(_ byteCounts: [Int], _ recordCounts: [Int]) throws {
        let arena = Self.arena()
        for byteCount in byteCounts { arena.append(Self.text("x", byteCount)) }
        arena.finish(.complete)
        var texts: [String] = []
        for (index, recordCount) in recordCounts.enumerated() {
            let batch = try #require(arena.take())
            #expect(batch.texts.count == recordCount)
            // The end stands behind everything.
            #expect((batch.end != nil) == (index == recordCounts.count - 1))
            texts += batch.texts
        }
        #expect(texts.map(\.count) == byteCounts)
        #expect(arena.take() == nil)
    }

    @Test func theReserveIsTakenWhenItIsNeeded() throws {
        let arena = Self.arena()
        let large = InboundBuffer(byteCount: Self.largeByteCount)
        var reserve: InboundBuffer? = large
        func append(_ byteCount: Int) {
            [UInt8](repeating: 0, count: byteCount).withUnsafeBytes { _ = arena.append($0, reserve: &reserve) }
        }
        append(Self.smallByteCount)
        #expect(reserve === large)
        append(1)
        #expect(reserve == nil)
        append(Self.largeByteCount - 1)
        #expect(try #require(arena.take()?.buffer).isLarge == false)
        #expect(try #require(arena.take()?.buffer) === large)
        #expect(arena.take() == nil)
    }

    @Test func aSpareBufferIsUsedAgain() throws {
        let arena = Self.arena()
        arena.append("a")
        let buffer = try #require(arena.take()?.buffer)
        buffer.removeAll()
        #expect(arena.take(giving: buffer) == nil)
        arena.append("b")
        #expect(try #require(arena.take()?.buffer) === buffer)
        #expect(buffer.texts == ["b"])
    }

    /// A read that is larger than the spare buffer, and still small, needs no buffer of a whole read.
    @Test func spareBufferIsReplacedByOneWithRoomForTheRead() throws {
        let arena = Self.arena()
        arena.append("a")
        let least = try #require(arena.take()?.buffer)
        least.removeAll()
        #expect(arena.take(giving: least) == nil)
        arena.append(String(repeating: "b", count: InboundBuffer.leastByteCount + 1))
        let larger = try #require(arena.take()?.buffer)
        #expect(larger !== least)
        #expect(larger.isSmall)
        larger.removeAll()
        #expect(arena.take(giving: larger) == nil)
        arena.append("c")
        #expect(try #require(arena.take()?.buffer) === larger)
    }

    @Test func aSpareBufferThatIsGivenWithAWaitIsUsedAgain() async throws {
        let arena = Self.arena()
        arena.append("a")
        let buffer = try #require(arena.takeBuffer(giving: nil))
        buffer.removeAll()
        arena.announceReady()
        #expect(await arena.wait(until: nil, giving: buffer) {} == .ready)
        arena.append("b")
        #expect(try #require(arena.take()?.buffer) === buffer)
    }

    @Test func bufferIsTakenAloneOnlyWithoutPendingReadinessPauseOrEnd() throws {
        let arena = Self.arena(high: 300, low: 100)
        #expect(arena.takeBuffer(giving: nil) == nil)
        arena.append("a")
        #expect(try #require(arena.takeBuffer(giving: nil)).texts == ["a"])
        #expect(arena.takeBuffer(giving: nil) == nil)

        arena.announceReady()
        arena.append("b")
        #expect(arena.takeBuffer(giving: nil) == nil)
        #expect(try #require(arena.take()).isReady)

        arena.append(Self.text("c", 300))
        #expect(arena.takeBuffer(giving: nil) == nil)
        #expect(try #require(arena.take()).isPaused)
        #expect(arena.shouldResume(withUnread: 0))

        arena.append("d")
        arena.finish(.complete)
        #expect(arena.takeBuffer(giving: nil) == nil)
        let last = try #require(arena.take())
        #expect(last.texts == ["d"] && last.end == .complete)
    }

    @Test func mayHaveBatchIsTrueForEverythingThatCanBeTaken() {
        func hint(_ change: (InboundArena) -> Void) -> Bool {
            let arena = Self.arena()
            change(arena)
            return arena.mayHaveBatch
        }
        #expect(!hint { _ in })
        #expect(hint { $0.append("a") })
        #expect(hint { $0.append("a", as: nil) })
        #expect(hint { $0.appendPong() })
        #expect(hint { $0.announceReady() })
        #expect(hint { $0.open(ResponseHead(statusCode: 200), coding: .none) })
        #expect(hint { $0.finish(.complete) })
        #expect(hint { $0.abort(.complete) })
    }

    @Test func theHintEndsWithTheLastBuffer() {
        let arena = Self.arena()
        let takes: [() -> InboundBuffer?] = [{ arena.takeBuffer(giving: nil) }, { arena.take()?.buffer }]
        for taken in takes {
            arena.append(Self.text("a", Self.largeByteCount))
            arena.append(Self.text("b", Self.largeByteCount))
            #expect(taken() != nil && arena.mayHaveBatch)
            #expect(taken() != nil && !arena.mayHaveBatch)
        }
    }

    @Test(arguments: [(0, true), (1, false)])
    func allBuffersAndTheOneInHandCountTowardsTheWatermarks(_ missing: Int, _ pauses: Bool) throws {
        let weight = Self.largeByteCount + MemoryLayout<InboundBuffer.Record>.stride
        let arena = Self.arena(high: 3 * weight, low: weight)
        arena.append(Self.text("a", Self.largeByteCount))
        _ = arena.take()
        arena.append(Self.text("b", Self.largeByteCount))
        #expect(!arena.isPaused)
        arena.append(Self.text("c", Self.largeByteCount - missing))
        #expect(arena.isPaused == pauses)

        // The one in hand is read, and so is the next; what is left is at the low watermark.
        #expect(!arena.shouldResume(withUnread: 0))
        #expect(try #require(arena.take()).texts[0].first == "b")
        #expect(!arena.shouldResume(withUnread: 1 + missing))
        #expect(arena.shouldResume(withUnread: 0) == pauses)
    }

    @Test func piecesOfOneReadAreCopiedTogether() throws {
        let arena = Self.arena()
        var reserve: InboundBuffer?
        let first = MessagePiece(kind: .text, isLast: false)
        let last = MessagePiece(kind: .text, isFirst: false)
        // What stands around the pieces is frame headers.
        let bytes = Array("##one##two#".utf8)
        let records = [
            InboundBuffer.Record(content: .message(first), offset: 2, count: 3),
            InboundBuffer.Record(content: .message(last), offset: 7, count: 3),
        ]
        for _ in 0..<2 {
            var arrival = InboundArena.Arrival(moment: Moment(nanoseconds: 2_000_000_000), byteCount: bytes.count)
            bytes.withUnsafeBytes { _ = arena.append(records, in: $0, of: &arrival, reserve: &reserve) }
        }
        let batch = try #require(arena.take())
        #expect(batch.texts == ["one", "two", "one", "two"])
        #expect(batch.buffer?.byteCount == 2 * "one##two".utf8.count)
        #expect(arena.statistics.lastHeard == .seconds(2))
    }

    @Test func anAbortDropsAllBuffers() throws {
        let arena = Self.arena()
        for _ in 0..<3 { arena.append(Self.text("x", Self.largeByteCount)) }
        arena.abort(.complete)
        let batch = try #require(arena.take())
        #expect(batch.buffer == nil)
        #expect(batch.end == .complete)
        #expect(arena.take() == nil)
    }

    // MARK: Held requests and pongs

    @Test func aHeldRequestIsReadyOnce() throws {
        let arena = Self.arena()
        arena.announceReady()
        #expect(try #require(arena.take()).isReady)
        #expect(arena.take() == nil)
        arena.open(ResponseHead(statusCode: 200), coding: .none)
        #expect(try !#require(arena.take()).isReady)
    }

    @Test func heldRequestIsNotReadyAfterTheEnd() throws {
        let ended = Self.arena()
        ended.finish(.complete)
        ended.announceReady()
        #expect(try !#require(ended.take(giving: InboundBuffer())).isReady)
        let aborted = Self.arena()
        aborted.announceReady()
        aborted.abort(.complete)
        #expect(try !#require(aborted.take(giving: InboundBuffer())).isReady)
    }

    @Test func pongKeepsItsPlaceAmongMessages() throws {
        let arena = Self.arena()
        let piece = MessagePiece(kind: .text)
        arena.append("a")
        arena.appendPong()
        arena.append("b")
        let batch = try #require(arena.take())
        #expect(batch.buffer?.records.map(\.content) == [.message(piece), .pong, .message(piece)])
        #expect(batch.texts == ["a", "", "b"])
        arena.finish(.complete)
        arena.appendPong()
        #expect(try #require(arena.take()).buffer == nil)
    }

    @Test func pongsWithoutEndPauseReading() {
        let arena = Self.arena(high: 10_000, low: 10)
        var count = 0
        while !arena.isPaused {
            arena.appendPong()
            count += 1
        }
        #expect(count <= 10_000 / MemoryLayout<InboundBuffer.Record>.stride + 1)
    }

    @Test func eachReadIsCountedOnce() {
        let arena = Self.arena()
        var reserve: InboundBuffer?
        var arrival = InboundArena.Arrival(moment: Moment(nanoseconds: 5), byteCount: 10)
        [1, 2, 3].withUnsafeBytes { bytes in
            _ = arena.append(UnsafeRawBufferPointer(rebasing: bytes[..<2]), of: &arrival, reserve: &reserve)
            _ = arena.append(UnsafeRawBufferPointer(rebasing: bytes[2...]), of: &arrival, reserve: &reserve)
        }
        arena.count(&arrival)
        #expect(arena.statistics.receivedByteCount == 10)
        #expect(arena.statistics.lastReceived == .nanoseconds(5))
        arrival = InboundArena.Arrival(moment: Moment(nanoseconds: 7), byteCount: 3)
        arena.count(&arrival)
        #expect(arena.statistics.receivedByteCount == 13)
        #expect(arena.statistics.lastReceived == .nanoseconds(7))
        #expect(arena.statistics.lastHeard == .nanoseconds(5))
    }

    @Test func bytesBehindTheEndAreCountedByTheirReader() {
        let arena = Self.arena()
        arena.finish(.complete)
        arena.append("late")
        #expect(arena.statistics.receivedByteCount == 4)
    }

    @Test(arguments: [0, 1, 99, 100, 200])
    func anAppendReportsTheRoomThatIsLeft(_ byteCount: Int) {
        let arena = Self.arena(high: 100 + MemoryLayout<InboundBuffer.Record>.stride, low: 10)
        #expect(arena.append(String(repeating: "x", count: byteCount), as: nil).room == arena.room)
        #expect(arena.room == max(0, 100 - byteCount))
        arena.dropOverflow()
        #expect(arena.append("x", as: nil).room == arena.room)
    }

    @Test func lastHeardIsSetByDataButNotByPongs() {
        let arena = Self.arena()
        #expect(arena.statistics.lastHeard == nil)
        arena.append("a", as: nil, at: .seconds(3))
        arena.appendPong()
        #expect(arena.statistics.lastHeard == .seconds(3))
    }

    // MARK: Waiting

    @Test func availableEventNeedsNoWait() async {
        for prepare in [
            { $0.append("a") }, { $0.finish(.complete) }, { $0.announceReady() }, { $0.appendPong() },
            { $0.open(ResponseHead(statusCode: 200), coding: .none) },
        ] as [@Sendable (InboundArena) -> Void] {
            let arena = Self.arena()
            prepare(arena)
            #expect(await arena.wait(until: nil) == .ready)
        }
    }

    @Test func waitReturnsAtOnceAfterTheEndWasTaken() async {
        let arena = Self.arena()
        arena.finish(.complete)
        _ = arena.take()
        #expect(await arena.wait(until: nil) == .ready)
    }

    /// Waits in a task while `body` changes the arena, and returns the outcome of the wait.
    private static func outcome(
        of arena: InboundArena, deadline: Moment? = nil,
        _ act: @Sendable (Task<TransportWaitOutcome, Never>) -> Void
    ) async -> TransportWaitOutcome {
        let task = Task.immediate { await arena.wait(until: deadline) }
        act(task)
        return await task.value
    }

    @Test func arrivingBytesResumeTheWaiter() async {
        let arena = Self.arena()
        let outcome = await Self.outcome(of: arena) { _ in
            arena.append("a").waiter?.resume(returning: .ready)
        }
        #expect(outcome == .ready)
        #expect(arena.takeReadyWaiter() == nil)
    }

    @Test func firstAppendedMessageRemovesTheWaiter() async {
        let arena = Self.arena()
        let task = Task.immediate { await arena.wait(until: nil) }
        arena.noteHeard(at: .now, isPing: true)
        #expect(arena.takeReadyWaiter() == nil)
        let waiter = arena.append("a").waiter
        #expect(waiter != nil)
        // It has one owner, who resumes it.
        #expect(arena.append("b").waiter == nil)
        #expect(arena.takeReadyWaiter() == nil)
        arena.cancelWaiter()
        waiter?.resume(returning: .ready)
        #expect(await task.value == .ready)
    }

    @Test func aPongTakesTheWaiterOut() async {
        let arena = Self.arena()
        let task = Task.immediate { await arena.wait(until: nil) }
        arena.appendPong().waiter?.resume(returning: .ready)
        #expect(await task.value == .ready)
    }

    @Test func anAbortWakesTheWaiter() async {
        let arena = Self.arena()
        let end = TransportEnd.failed(TransportFailure(phase: .stream, cause: .cancelled))
        #expect(await Self.outcome(of: arena) { _ in arena.abort(end) } == .ready)
    }

    @Test func aCancelledTaskWaitsNoLonger() async {
        let arena = Self.arena()
        #expect(await Self.outcome(of: arena) { $0.cancel() } == .cancelled)
        arena.append("a")
        #expect(arena.takeReadyWaiter() == nil)
    }

    @Test func aWaiterExpiresAtItsDeadline() async {
        let arena = Self.arena()
        let deadline = Moment.now + .seconds(1_000)
        let task = Task.immediate { await arena.wait(until: deadline) }
        #expect(arena.expireWaiter(at: deadline - .nanoseconds(1)) == .init(deadline: deadline, isPaused: false))
        #expect(arena.expireWaiter(at: deadline) == .init(deadline: nil, isPaused: false))
        #expect(await task.value == .deadlinePassed)
        #expect(arena.expireWaiter(at: deadline) == .init(deadline: nil, isPaused: false))
    }

    @Test func expireWaiterReportsPausedReading() {
        let arena = Self.arena(high: 1, low: 0)
        arena.append("a")
        #expect(arena.expireWaiter(at: .now) == .init(deadline: nil, isPaused: true))
    }

    /// Waits until deadlines while bytes arrive; returns whether the service thread was asked to watch each.
    private static func watches(_ deadlines: [Moment?], of arena: InboundArena) async -> [Bool] {
        var result: [Bool] = []
        for deadline in deadlines {
            let count = LockedValue(0)
            let task = Task.immediate { await arena.wait(until: deadline) { count.withLock { $0 += 1 } } }
            result.append(count.withLock { $0 } == 1)
            arena.append("a").waiter?.resume(returning: .ready)
            #expect(await task.value == .ready)
            _ = arena.take()
        }
        return result
    }

    @Test func onlyANearerDeadlineIsWatched() async {
        let arena = Self.arena()
        let start = Moment.now + .seconds(1_000)
        let deadlines = [nil, 5, 6, 7, 5, nil, 4, 4, 9].map { $0.map { start + .seconds($0) } }
        #expect(
            await Self.watches(deadlines, of: arena)
                == [false, true, false, false, false, false, true, false, false])
    }

    @Test func expireWaiterReturnsTheNextDeadline() async {
        let arena = Self.arena()
        let start = Moment.now + .seconds(1_000)
        #expect(await Self.watches([start], of: arena) == [true])
        // No consumer waits: the next deadline is watched again, however late it is.
        #expect(arena.expireWaiter(at: start).deadline == nil)
        #expect(await Self.watches([start + .seconds(50)], of: arena) == [true])

        let task = Task.immediate { await arena.wait(until: start + .seconds(60)) }
        #expect(arena.expireWaiter(at: start + .seconds(50)).deadline == start + .seconds(60))
        arena.cancelWaiter()
        #expect(await task.value == .cancelled)
        #expect(await Self.watches([start + .seconds(61), start + .seconds(59)], of: arena) == [false, true])
    }

    @Test func readyConsumerIsNotWatched() async {
        let arena = Self.arena()
        arena.append("a")
        #expect(await arena.wait(until: .now) { Issue.record("there is something to read") } == .ready)
    }

    // MARK: Threads

    @Test func allEventsArriveFromAnotherThread() async {
        let arena = Self.arena(high: 4_000, low: 1_000)
        let count = 20_000
        _ = SystemThread.startDetached {
            for number in 0..<count {
                arena.append("\(number),").waiter?.resume(returning: .ready)
            }
            arena.finish(.complete)
            arena.takeReadyWaiter()?.resume(returning: .ready)
        }
        var received = 0
        var byteCount = 0
        var isOrdered = true
        var spare: InboundBuffer? = InboundBuffer()
        reading: while true {
            guard let batch = arena.take(giving: spare.take()) else {
                _ = await arena.wait(until: nil)
                continue
            }
            for text in batch.texts {
                isOrdered = isOrdered && text == "\(received),"
                received += 1
                byteCount += text.utf8.count
            }
            _ = arena.shouldResume(withUnread: 0)
            if batch.end != nil { break reading }
            guard let buffer = batch.buffer else { continue }
            buffer.removeAll()
            spare = buffer
        }
        #expect(received == count)
        #expect(isOrdered)
        #expect(arena.statistics.receivedByteCount == byteCount)
    }
}

@Suite struct InboundBufferTests {
    private static func append(_ text: String, as piece: MessagePiece?, to buffer: InboundBuffer) {
        Array(text.utf8).withUnsafeBytes { buffer.append($0, as: piece) }
    }

    @Test func piecesOfABodyAreOneRecord() {
        let buffer = InboundBuffer()
        for text in ["a", "bc", "", "d"] { Self.append(text, as: nil, to: buffer) }
        #expect(buffer.texts == ["abcd"])
        #expect(buffer.byteCount == 4)
    }

    @Test func piecesOfMessagesStayApart() {
        let buffer = InboundBuffer()
        let first = MessagePiece(kind: .text, isLast: false)
        let last = MessagePiece(kind: .text, isFirst: false)
        Self.append("a", as: first, to: buffer)
        Self.append("b", as: last, to: buffer)
        #expect(buffer.texts == ["a", "b"])
        #expect(buffer.records.map(\.content) == [.message(first), .message(last)])
        #expect(buffer.weight == 2 + 2 * MemoryLayout<InboundBuffer.Record>.stride)
    }

    @Test(arguments: [0, 1, 4_095, 16_384, 300_000])
    func bytesPastTheEndCanBeRead(_ count: Int) throws {
        let buffer = InboundBuffer()
        Self.append(String(repeating: "x", count: count), as: nil, to: buffer)
        let bytes = buffer.bytes(of: try #require(buffer.records.last))
        #expect(bytes.count == count)
        let start = try #require(bytes.baseAddress)
        // The address sanitizer has the last word.
        var sum = 0
        for offset in 0..<count + 64 { sum += Int(start.load(fromByteOffset: offset, as: UInt8.self)) & 0 }
        #expect(sum == 0)
    }

    @Test func anEmptiedBufferCanBeUsedAgain() {
        let buffer = InboundBuffer()
        Self.append(String(repeating: "x", count: 1_000_000), as: nil, to: buffer)
        buffer.removeAll()
        #expect(buffer.isEmpty)
        #expect(buffer.weight == 0)
        Self.append("a", as: nil, to: buffer)
        #expect(buffer.texts == ["a"])
    }
}

@Suite struct InboundBufferPoolTests {
    @Test func aBufferThatWasGivenBackIsTakenEmpty() {
        let pool = InboundBufferPool()
        let buffer = pool.take()
        #expect(buffer.isLarge)
        Array("text".utf8).withUnsafeBytes { buffer.append($0) }
        pool.giveBack(buffer)
        #expect(pool.take() === buffer)
        #expect(buffer.isEmpty)
        #expect(pool.take() !== buffer)
    }

    @Test func poolKeepsBuffersUpToItsLimit() {
        let pool = InboundBufferPool()
        let buffers = (0..<20).map { _ in pool.take() }
        for buffer in buffers { pool.giveBack(buffer) }
        let kept = (0..<20).map { _ in pool.take() }.filter { taken in buffers.contains { $0 === taken } }
        #expect(kept.count == 6)
    }

    @Test func buffersAreFreedWhenNoneWasTakenForATime() {
        let pool = InboundBufferPool()
        let buffer = pool.take()
        pool.giveBack(buffer)
        pool.releaseUnused()
        #expect(pool.take() === buffer)
        pool.giveBack(buffer)
        pool.releaseUnused()
        pool.releaseUnused()
        #expect(pool.take() !== buffer)
    }
}
