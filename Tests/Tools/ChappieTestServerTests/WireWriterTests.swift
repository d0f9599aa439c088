import PlatformC
import Testing

@testable import ChappieTestServer

/// The moment at which the server takes a response for delivered: before the client can know it.
@Suite(.timeLimit(.minutes(10))) struct WireWriterTests {
    /// A writer over one end of a pair of sockets.
    private struct Pair {
        let writer: WireWriter
        let reader: CInt
        private let written: CInt

        init() throws {
            var ends: [CInt] = [-1, -1]
            let code = socketpair(AF_UNIX, SystemSocket.streamType, 0, &ends)
            try #require(code == 0)
            (self.written, self.reader) = (ends[0], ends[1])
            self.writer = WireWriter(stream: ByteStream(handle: SocketHandle(ends[0]), descriptor: ends[0]))
        }

        /// The number of bytes that have arrived.
        var arrivedByteCount: Int {
            var count: CInt = 0
            return ioctl(self.reader, UInt(FIONREAD), &count) == 0 ? Int(count) : -1
        }

        func close() {
            _ = PlatformC.close(self.reader)
            _ = PlatformC.close(self.written)
        }

        /// Begins an attempt that is cut after a number of bytes.
        func begin(cutAfter byteCount: Int? = nil, sliceByteCount: Int? = nil) throws {
            let faults = byteCount.map { [ChappieTestServer.Fault(.cut(afterByte: $0))] } ?? []
            try self.writer.begin(
                AttemptFaults(faults, attempt: 1, transport: .http), sliceByteCount: sliceByteCount)
        }
    }

    /// Without slices nothing of the batch has arrived, and with them everything but the last slice.
    @Test(arguments: [(nil, 0), (1, 11), (5, 10)] as [(Int?, Int)])
    func theMilestoneIsReachedBeforeItsByteIsWritten(sliceByteCount: Int?, arrived: Int) throws {
        let pair = try Pair()
        defer { pair.close() }
        try pair.begin(sliceByteCount: sliceByteCount)
        try pair.writer.append(Array("events ".utf8))
        var seen: [Int] = []
        try pair.writer.append({ seen.append(pair.arrivedByteCount) }) { () throws(ConnectionEnd) in
            try pair.writer.append(Array("last".utf8))
            try pair.writer.flush()
            #expect(pair.arrivedByteCount == 0)
            try pair.writer.append(Array("!".utf8))
        }
        #expect(seen == [arrived])
        #expect(pair.arrivedByteCount == 12)
    }

    @Test func withoutAFlushTheMilestoneIsReachedWithTheBatch() throws {
        let pair = try Pair()
        defer { pair.close() }
        try pair.begin()
        var count = 0
        try pair.writer.append({ count += 1 }) { () throws(ConnectionEnd) in try pair.writer.append([1, 2]) }
        #expect(count == 0)
        try pair.writer.append([3])
        try pair.writer.flush()
        #expect(count == 1 && pair.arrivedByteCount == 3)
        try pair.writer.append([4])
        try pair.writer.flush()
        #expect(count == 1)
    }

    /// Several responses of one WebSocket may end in one batch.
    @Test func everyMilestoneOfABatchIsReached() throws {
        let pair = try Pair()
        defer { pair.close() }
        try pair.begin()
        var reached: [Int] = []
        for number in 1...3 {
            try pair.writer.append({ reached.append(number) }) { () throws(ConnectionEnd) in
                try pair.writer.append([UInt8(number)])
            }
        }
        #expect(reached.isEmpty)
        try pair.writer.flush()
        #expect(reached == [1, 2, 3])
    }

    /// A cut before the last byte leaves the response undelivered; behind it, it is delivered.
    @Test(arguments: [(0, 0), (1, 0), (2, 1)])
    func milestoneIsReachedOnlyWhenAllItsBytesAreWritten(byteCount: Int, expected: Int) throws {
        let pair = try Pair()
        defer { pair.close() }
        var count = 0
        #expect(throws: ConnectionEnd.self) {
            try pair.begin(cutAfter: byteCount)
            try pair.writer.append({ count += 1 }) { () throws(ConnectionEnd) in
                try pair.writer.append([1, 2])
                try pair.writer.flush()
            }
        }
        #expect(count == expected)
    }
}
