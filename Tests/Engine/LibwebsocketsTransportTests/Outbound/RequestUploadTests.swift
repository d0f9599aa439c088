// The unwritten rest of a request, and the pings that wait for an answer.

import Testing

@testable import LibwebsocketsTransport

@Suite struct RequestUploadTests {
    private static func bytes(_ count: Int, from first: Int = 0) -> [UInt8] {
        (first..<first + count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    }

    @Test(arguments: [(0, 0), (0, 1), (1, 0), (5, 7), (100, 100), (0, 1_000), (1_000, 0)], [1, 2, 3, 7, 64, 5_000])
    func uploadIsTakenOnceInPiecesOfAnySize(_ counts: (head: Int, body: Int), size: Int) {
        let head = Self.bytes(counts.head)
        let body = Self.bytes(counts.body, from: counts.head)
        var upload = RequestUpload(head: head, body: body)
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while !upload.isComplete {
            let count = buffer.withUnsafeMutableBufferPointer { upload.fill($0) }
            #expect(count == min(size, head.count + body.count - output.count))
            output += buffer[..<count]
            #expect(upload.bodyByteCount == max(0, output.count - head.count))
            if count == 0 { break }
        }
        #expect(output == head + body)
        #expect(upload.bodyByteCount == body.count)
        let none = buffer.withUnsafeMutableBufferPointer { upload.fill($0) }
        #expect(none == 0)
    }
}

@Suite struct RequestWriterTests {
    private static func written(by writer: inout RequestWriter) -> [UInt8] {
        var memory = [UInt8](repeating: 0, count: 16)
        let count = memory.withUnsafeMutableBufferPointer { writer.fill($0) }
        return Array(memory[..<count])
    }

    @Test func heldRequestHasNoBytesToWriteBeforeItsRelease() {
        var writer = RequestWriter(isHeld: true)
        #expect(!writer.hasMore)
        writer.begin(RequestUpload(head: [1, 2], body: [3]))
        #expect(!writer.hasMore)
        writer.release()
        #expect(writer.hasMore && !writer.isComplete)
        #expect(Self.written(by: &writer) == [1, 2, 3])
        // The socket may still have to take them.
        #expect(writer.hasMore && writer.isComplete)
        #expect(writer.bodyByteCount == 1)
    }

    @Test func releaseBeforeTheRequestBeginsCounts() {
        var writer = RequestWriter(isHeld: true)
        writer.release()
        writer.begin(RequestUpload(head: [1], body: []))
        #expect(writer.hasMore)
    }

    @Test func endedRequestHasNoBytesToWrite() {
        var writer = RequestWriter(isHeld: false)
        writer.begin(RequestUpload(head: [1], body: [2]))
        writer.end()
        #expect(!writer.hasMore)
        #expect(Self.written(by: &writer) == [])
    }
}

@Suite struct OutstandingPingsTests {
    /// Sends pings with one byte each, and returns which of the pongs answer one.
    private static func answers(to pings: ClosedRange<UInt8>, _ pongs: [[UInt8]]) -> [Bool] {
        var outstanding = OutstandingPings()
        for payload in pings { outstanding.sent([payload]) }
        return pongs.map { outstanding.settle(with: $0) }
    }

    @Test func anAnswerCountsOnce() {
        #expect(Self.answers(to: 1...1, [[], [2], [1, 1], [1], [1]]) == [false, false, false, true, false])
    }

    @Test func unsolicitedPongAnswersNoPing() {
        var pings = OutstandingPings()
        let isAnswer = pings.settle(with: [])
        #expect(!isAnswer)
    }

    @Test func eachOfSeveralCanBeAnswered() {
        #expect(Self.answers(to: 1...3, [[1], [2], [3]]) == [true, true, true])
    }

    @Test func theAnswerToANewerOneSettlesTheOlder() {
        #expect(Self.answers(to: 1...3, [[2], [1], [3]]) == [true, false, true])
    }

    @Test func aPeerThatNeverAnswersFillsNoMemory() {
        #expect(Self.answers(to: 0...UInt8(OutstandingPings.limit), [[0], [1]]) == [false, true])
    }
}
