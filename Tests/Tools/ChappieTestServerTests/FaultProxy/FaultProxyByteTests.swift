// Every fault at every byte of a small exchange, in both directions, counted at both ends.
import PlatformC
import Testing

@testable import ChappieTestServer

@Suite struct FaultProxyByteTests {
    private static let message = Array("POST /v1/responses HTTP/1.1\r\n\r\n".utf8)
    private static let greeting = Array("hello".utf8)
    private static let farewell = Array("good bye".utf8)
    private static let count = message.count

    /// A fault for connection 1 at byte 0, for connection 2 at byte 1, and so on to a byte beyond the last.
    private static func atEveryByte(
        _ direction: FaultProxy.Direction, through last: Int, _ action: (Int) -> ConnectionFault
    ) -> [FaultProxy.Fault] {
        (0...last).map { .init(action($0), connections: $0 + 1...$0 + 1, direction: direction) }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func aCutEndsTheStreamAtItsByteAndTheOtherDirectionGoesOn(_ direction: FaultProxy.Direction) throws {
        let last = Self.count + 1
        try withProxy(Self.atEveryByte(direction, through: last) { .cut(atByte: $0) }) { fixture in
            for offset in 0...last {
                let pair = try fixture.connect()
                try pair.exchange(Self.greeting, direction.opposite)
                try pair.sender(direction).send(Self.message)
                pair.sender(direction).finishSending()
                #expect(
                    pair.receiver(direction).readToEnd() == .init(bytes: Self.message.prefix(offset), end: .endOfStream)
                )
                try pair.exchange(Self.farewell, direction.opposite)
                pair.receiver(direction).finishSending()
                #expect(pair.sender(direction).readToEnd() == .init(bytes: [], end: .endOfStream))

                #expect(fixture.proxy.waitBlocking(for: .endedConnections(offset + 1)))
                let record = try fixture.record(offset + 1)
                #expect(record.end == .closed)
                #expect(record[direction].receivedByteCount == Self.count)
                #expect(record[direction].deliveredByteCount == min(offset, Self.count))
                #expect(
                    record[direction.opposite].deliveredByteCount == Self.greeting.count + Self.farewell.count)
                let strike = FaultProxy.Strike(
                    action: .cut(atByte: offset), direction: direction, byteOffset: offset)
                #expect(record.strikes == (offset <= Self.count ? [strike] : []))
            }
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func resetAtAByteResetsBothSidesAfterThatByte(_ direction: FaultProxy.Direction) throws {
        try withProxy(Self.atEveryByte(direction, through: Self.count) { .cut(atByte: $0, with: .reset) }) { fixture in
            for offset in 0...Self.count {
                let pair = try fixture.connect()
                // A reset at byte 0 strikes at once, and a write would take its error from the read.
                if offset > 0 {
                    try pair.exchange(Self.greeting, direction.opposite)
                    try pair.sender(direction).send(Self.message)
                }
                #expect(pair.receiver(direction).readToEnd() == .init(bytes: Self.message.prefix(offset), end: .reset))
                #expect(pair.sender(direction).readToEnd() == .init(bytes: [], end: .reset))

                #expect(fixture.proxy.waitBlocking(for: .endedConnections(offset + 1)))
                let record = try fixture.record(offset + 1)
                #expect(record.end == .reset)
                #expect(record[direction].deliveredByteCount == offset)
                #expect(record.strikes.map(\.byteOffset) == [offset])
            }
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func oneByteIsCorruptedAndNoOther(_ direction: FaultProxy.Direction) throws {
        try withProxy(Self.atEveryByte(direction, through: Self.count) { .corrupt(atByte: $0, mask: 0x21) }) {
            fixture in
            for offset in 0...Self.count {
                let pair = try fixture.connect()
                try pair.sender(direction).send(Self.message)
                pair.sender(direction).finishSending()
                var expected = Self.message
                if offset < expected.count { expected[offset] ^= 0x21 }
                #expect(pair.receiver(direction).readToEnd() == .init(bytes: expected, end: .endOfStream))
                #expect(try fixture.record(offset + 1).strikes.count == (offset < expected.count ? 1 : 0))
            }
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func temporaryStallLosesNoBytes(_ direction: FaultProxy.Direction) throws {
        let pause = Duration.milliseconds(3)
        try withProxy(Self.atEveryByte(direction, through: Self.count) { .stall(atByte: $0, for: pause) }) { fixture in
            for offset in 0...Self.count {
                let start = ContinuousClock.now
                let pair = try fixture.connect()
                try pair.sender(direction).send(Self.message)
                pair.sender(direction).finishSending()
                #expect(pair.receiver(direction).readToEnd() == .init(bytes: Self.message, end: .endOfStream))
                #expect(ContinuousClock.now - start >= pause)
                #expect(try fixture.record(offset + 1).strikes.map(\.byteOffset) == [offset])
            }
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func aStallForEverHoldsOneDirectionOnly(_ direction: FaultProxy.Direction) throws {
        for offset in 0...Self.count {
            let fault = FaultProxy.Fault(.stall(atByte: offset), connections: 1...1, direction: direction)
            try withProxy([fault]) { fixture in
                let pair = try fixture.connect()
                try pair.sender(direction).send(Self.message)
                #expect(try pair.receiver(direction).read(offset) == Array(Self.message.prefix(offset)))
                #expect(fixture.proxy.waitBlocking(for: .strikes(1)))
                pair.sender(direction).finishSending()
                try pair.exchange(Self.greeting, direction.opposite)
                try pair.exchange(Self.farewell, direction.opposite)
                // Bytes of another connection passed after the end of the stalled stream had come.
                try fixture.connect().exchange(Self.message, direction)
                fixture.proxy.stop()
                #expect(pair.receiver(direction).readToEnd().bytes.isEmpty)
                let record = try fixture.record(1)
                #expect(record[direction].deliveredByteCount == offset)
                // A sender that is held up is not read.
                #expect(record[direction].receivedByteCount == (offset == 0 ? 0 : Self.count))
                #expect(record.end == .stopped)
            }
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func aHalfOpenConnectionIsSilentInBothDirections(_ direction: FaultProxy.Direction) throws {
        for offset in 0...Self.count {
            let fault = FaultProxy.Fault(.halfOpen(atByte: offset), connections: 1...1, direction: direction)
            try withProxy([fault]) { fixture in
                let pair = try fixture.connect()
                if offset > 0 { try pair.exchange(Self.greeting, direction.opposite) }
                try pair.sender(direction).send(Self.message)
                #expect(try pair.receiver(direction).read(offset) == Array(Self.message.prefix(offset)))
                #expect(fixture.proxy.waitBlocking(for: .strikes(1)))
                for end in [pair.client, pair.server] {
                    try end.send(Self.farewell)
                    end.finishSending()
                }
                try fixture.connect().exchange(Self.message, direction)
                try fixture.connect().exchange(Self.message, direction.opposite)
                #expect(try fixture.record(1).end == nil)
                fixture.proxy.stop()
                #expect(pair.client.readToEnd().bytes.isEmpty)
                #expect(pair.server.readToEnd().bytes.isEmpty)
                let record = try fixture.record(1)
                #expect(record[direction].deliveredByteCount == offset)
                #expect(record[direction.opposite].deliveredByteCount == (offset > 0 ? Self.greeting.count : 0))
                #expect(!record.toClient.isFinished && !record.toServer.isFinished)
                #expect(record.end == .stopped)
            }
        }
    }

    // MARK: Slices and pace

    @Test(arguments: FaultProxy.Direction.allCases, [1, 2, 7, 31, 1000])
    func slicesAreWritesOfTheirOwn(_ direction: FaultProxy.Direction, size: Int) throws {
        try withProxy([.init(.slice(byteCount: size), direction: direction)]) { fixture in
            let pair = try fixture.connect()
            try pair.exchange(Self.message, direction)
            pair.sender(direction).finishSending()
            #expect(pair.receiver(direction).readToEnd() == .init(bytes: [], end: .endOfStream))
            pair.receiver(direction).finishSending()
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            #expect(try fixture.record(1)[direction].writeCount == (Self.count + size - 1) / size)
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func manySlicesGoOnWithoutNewBytes(_ direction: FaultProxy.Direction) throws {
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        try withProxy([.init(.slice(byteCount: 1), direction: direction)]) { fixture in
            let pair = try fixture.connect()
            try pair.exchange(bytes, direction)
            #expect(fixture.proxy.waitBlocking(for: .deliveredBytes(5000, direction)))
            #expect(try fixture.record(1)[direction].writeCount == 5000)
        }
    }

    @Test func aThrottledDirectionIsWholeAndNotFasterThanItsRate() throws {
        let bytes = [UInt8](repeating: 7, count: 300)
        try withProxy([.init(.throttle(bytesPerSecond: 2000))]) { fixture in
            let pair = try fixture.connect()
            try pair.exchange(bytes, .toServer)
            let start = ContinuousClock.now
            try pair.exchange(bytes, .toClient)
            // All but the first piece of a hundredth of a second waits.
            #expect(ContinuousClock.now - start >= .milliseconds(140))
            #expect(fixture.proxy.waitBlocking(for: .deliveredBytes(300, .toClient)))
            let record = try fixture.record(1)
            #expect(record.toClient.writeCount == 15)
            #expect(record.toServer.writeCount == 1)
        }
    }

    @Test func severalFaultsStrikeInOrder() throws {
        let actions: [ConnectionFault] = [
            .cut(atByte: 9), .corrupt(atByte: 2, mask: 1), .stall(atByte: 5, for: .milliseconds(2)),
            .slice(byteCount: 1, fromByte: 5),
        ]
        try withProxy(actions.map { .init($0) } + [.init(.corrupt(atByte: 0), direction: .toServer)]) { fixture in
            let pair = try fixture.connect()
            try pair.client.send([0x0F])
            #expect(try pair.server.read(1) == [0xF0])
            try pair.server.send(Array("abcdefghijkl".utf8))
            #expect(pair.client.readToEnd() == .init(bytes: Array("abbdefghi".utf8), end: .endOfStream))
            let record = try fixture.record(1)
            #expect(record.strikes.map(\.action.name) == ["corrupt", "corrupt", "stall", "slice", "cut"])
            #expect(record.toClient.writeCount == 6)
        }
    }

    // MARK: Readers that lag behind

    @Test func aResetWaitsForAReaderThatLagsBehind() throws {
        let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try withProxy([.init(.cut(atByte: 30_000, with: .reset))]) { fixture in
            let client = try RawSocket(port: fixture.proxy.port, receiveBufferByteCount: 2048)
            let server = try fixture.listener.acceptConnection()
            try server.send(bytes)
            // All 30,000 are with the system, most of them not yet with the client's.
            #expect(fixture.proxy.waitBlocking(for: .strikes(1)))
            #expect(client.readToEnd() == .init(bytes: bytes.prefix(30_000), end: .reset))
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func slowReaderBlocksTheSenderAndLosesNoBytes(_ direction: FaultProxy.Direction) throws {
        let bytes = (0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        try withProxy { fixture in
            let pair = try fixture.connect()
            let thread = SystemThread.startSmall { [descriptor = pair.sender(direction).descriptor] in
                sendAll(bytes, to: descriptor)
            }
            #expect(fixture.proxy.waitBlocking(for: .deliveredBytes(1, direction)))
            let record = try fixture.record(1)
            #expect(record[direction].receivedByteCount - record[direction].deliveredByteCount <= 64 * 1024)
            #expect(pair.receiver(direction).readToEnd() == .init(bytes: bytes, end: .endOfStream))
            thread?.join()
        }
    }
}
