// The bytes of a frame queue, read back by a small reader of client frames.

import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

/// A client's frame, unmasked.
private struct ClientFrame: Equatable {
    var opcode: UInt8
    var isFinal: Bool
    var isCompressed = false
    var payload: [UInt8]

    /// Reads whole frames; nil when the bytes end in the middle, or a frame is not masked.
    static func read(_ bytes: [UInt8]) -> [ClientFrame]? {
        var frames: [ClientFrame] = []
        var rest = bytes[...]
        func take(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        while !rest.isEmpty {
            guard let head = take(2), head[1] & 0x80 != 0, head[0] & 0x30 == 0 else { return nil }
            var count = Int(head[1] & 0x7F)
            if count >= 126 {
                guard let extended = take(count == 126 ? 2 : 8) else { return nil }
                count = extended.reduce(0) { $0 << 8 | Int($1) }
            }
            guard let key = take(4), let masked = take(count) else { return nil }
            let payload = masked.enumerated().map { $1 ^ key[$0 & 3] }
            frames.append(
                ClientFrame(
                    opcode: head[0] & 0x0F, isFinal: head[0] & 0x80 != 0, isCompressed: head[0] & 0x40 != 0,
                    payload: payload))
        }
        return frames
    }
}

extension FrameQueue {
    /// Takes all bytes to write, in buffers of a size.
    fileprivate mutating func drain(by size: Int, limit: Int = .max) -> [UInt8] {
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        var keys = MaskingKeyBlock()
        while output.count < limit {
            let count = buffer.withUnsafeMutableBufferPointer { self.fill($0, masking: &keys) }
            if count == 0 { break }
            output += buffer[..<count]
        }
        return output
    }
}

@Suite struct FrameQueueTests {
    private static let fragment = 64 << 10

    private static func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    @Test func emptyQueueWritesNoBytes() {
        var queue = FrameQueue()
        #expect(queue.isEmpty)
        #expect(queue.hasSentMessages)
        #expect(queue.drain(by: 10).isEmpty)
    }

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536])
    func aMessageUpToAFragmentIsOneFrame(_ count: Int) {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(count), kind: .binary))
        #expect(!queue.isEmpty)
        #expect(!queue.hasSentMessages)
        let frames = ClientFrame.read(queue.drain(by: 4_096))
        #expect(frames == [ClientFrame(opcode: 2, isFinal: true, payload: Self.content(count))])
        #expect(queue.isEmpty)
        #expect(queue.hasSentMessages)
    }

    @Test(arguments: [65_537, 131_072, 131_073, 200_000])
    func aLargerMessageIsFragmented(_ count: Int) throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(count), kind: .text))
        let frames = try #require(ClientFrame.read(queue.drain(by: 16_384)))
        #expect(frames.count == (count + Self.fragment - 1) / Self.fragment)
        #expect(frames.map(\.opcode) == [1] + Array(repeating: 0, count: frames.count - 1))
        #expect(frames.map(\.isFinal) == Array(repeating: false, count: frames.count - 1) + [true])
        #expect(frames.flatMap(\.payload) == Self.content(count))
    }

    @Test(arguments: [1, 2, 3, 5, 7, 13, 100, 70_000])
    func theSizeOfTheBufferDoesNotMatter(_ size: Int) {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(300), kind: .text))
        queue.appendPing([1, 2])
        queue.append(OutboundMessage([], kind: .text))
        queue.append(OutboundMessage(Self.content(1), kind: .binary))
        let frames = ClientFrame.read(queue.drain(by: size))
        #expect(
            frames == [
                ClientFrame(opcode: 9, isFinal: true, payload: [1, 2]),
                ClientFrame(opcode: 1, isFinal: true, payload: Self.content(300)),
                ClientFrame(opcode: 1, isFinal: true, payload: []),
                ClientFrame(opcode: 2, isFinal: true, payload: Self.content(1)),
            ])
    }

    @Test func aPongOvertakesTheRestOfAMessage() throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(200_000), kind: .text))
        var output = queue.drain(by: 1_000, limit: 1_000)
        queue.appendPong([7])
        output += queue.drain(by: 1_000)
        let frames = try #require(ClientFrame.read(output))
        #expect(frames.map(\.opcode) == [1, 10, 0, 0, 0])
        #expect(frames.filter { $0.opcode < 8 }.flatMap(\.payload) == Self.content(200_000))
    }

    @Test func onlyTheFirstFragmentHasTheCompressionBit() throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(200_000), kind: .text, isCompressed: true))
        queue.append(OutboundMessage(Self.content(10), kind: .binary, isCompressed: true))
        queue.append(OutboundMessage(Self.content(10), kind: .binary))
        let frames = try #require(ClientFrame.read(queue.drain(by: 16_384)))
        #expect(frames.map(\.opcode) == [1, 0, 0, 0, 2, 2])
        #expect(frames.map(\.isCompressed) == [true, false, false, false, true, false])
    }

    // MARK: The end

    @Test(arguments: [FrameQueue.Rest.isSent, .isDropped])
    func closeFrameEndsAPartlySentMessage(_ rest: FrameQueue.Rest) throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(200_000), kind: .text))
        queue.append(OutboundMessage(Self.content(5), kind: .text))
        var output = queue.drain(by: 1_000, limit: 1_000)
        queue.appendClose(CloseFrame(code: .normalClosure), rest: rest)
        output += queue.drain(by: 1_000)
        let frames = try #require(ClientFrame.read(output))
        #expect(frames.map(\.opcode) == [1, 8])
        #expect(frames[0].payload.count == Self.fragment)
        #expect(frames[1].payload == [0x03, 0xE8])
        #expect(queue.isEmpty)
        #expect(!queue.hasSentMessages)
    }

    @Test func shortMessagesGoOutBeforeTheClose() throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(5), kind: .text))
        queue.appendPong([7])
        queue.append(OutboundMessage(Self.content(Self.fragment), kind: .binary))
        queue.appendClose(CloseFrame(code: .normalClosure), rest: .isSent)
        #expect(!queue.isEmpty)
        let frames = try #require(ClientFrame.read(queue.drain(by: 1_000)))
        #expect(frames.map(\.opcode) == [10, 1, 2, 8])
        #expect(queue.isEmpty)
        #expect(queue.hasSentMessages)
    }

    @Test func aLongMessageIsNotBegunBeforeTheClose() throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(5), kind: .text))
        queue.append(OutboundMessage(Self.content(Self.fragment + 1), kind: .text))
        queue.append(OutboundMessage(Self.content(5), kind: .text))
        queue.appendClose(CloseFrame(code: .normalClosure), rest: .isSent)
        let frames = try #require(ClientFrame.read(queue.drain(by: 1_000)))
        #expect(frames.map(\.opcode) == [1, 8])
        #expect(!queue.hasSentMessages)
    }

    @Test(arguments: [0, 1_000]) func aWholeRestIsSentBeforeTheClose(afterByteCount sent: Int) throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(200_000), kind: .text))
        queue.append(OutboundMessage(Self.content(5), kind: .binary))
        var output = queue.drain(by: 1_000, limit: sent)
        queue.appendClose(CloseFrame(code: .normalClosure), rest: .isSentWhole)
        output += queue.drain(by: 1_000)
        let frames = try #require(ClientFrame.read(output))
        #expect(frames.map(\.opcode) == [1, 0, 0, 0, 2, 8])
        #expect(frames[..<4].flatMap(\.payload) == Self.content(200_000))
        #expect(queue.isEmpty && queue.hasSentMessages)
    }

    @Test func unbegunMessagesAreDroppedWhenThePeerDoesNotRead() throws {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(5), kind: .text))
        queue.appendClose(CloseFrame(code: .normalClosure), rest: .isDropped)
        let frames = try #require(ClientFrame.read(queue.drain(by: 1_000)))
        #expect(frames.map(\.opcode) == [8])
        #expect(!queue.hasSentMessages)
    }

    // MARK: Counts

    /// The bytes of messages count once they are moved out whole, those of control frames never.
    @Test func movedBytesAreCountedOnce() {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(100), kind: .text))
        queue.appendPing([1, 2, 3])
        queue.append(OutboundMessage(Self.content(50), kind: .text))
        // The ping of 9 bytes, the frame of 106, and a part of the one of 56.
        _ = queue.drain(by: 120, limit: 1)
        #expect(queue.takeMovedWeight() == 100)
        #expect(queue.takeMovedWeight() == 0)
        _ = queue.drain(by: 120)
        #expect(queue.takeMovedWeight() == 50)
    }

    /// Empty messages take room as well: without it, any number of them could wait.
    @Test(arguments: [(0, 48), (1, 48), (48, 48), (49, 49)])
    func messageWeighsAtLeast48Bytes(byteCount: Int, weight: Int) {
        var queue = FrameQueue()
        let message = OutboundMessage(Self.content(byteCount), kind: .text)
        #expect(message.weight == weight)
        for _ in 0..<3 { queue.append(message) }
        _ = queue.drain(by: 1_000)
        #expect(queue.takeMovedWeight() == 3 * weight)
    }

    @Test func aLongMessageIsCountedWithItsLastFragment() {
        var queue = FrameQueue()
        queue.append(OutboundMessage(Self.content(2 * Self.fragment + 10), kind: .text))
        var counts: [Int] = []
        while case let output = queue.drain(by: Self.fragment, limit: 1), !output.isEmpty {
            counts.append(queue.takeMovedWeight())
        }
        // A fragment and its header do not fit into a buffer of its size.
        #expect(counts == [0, 0, 2 * Self.fragment + 10])
        #expect(queue.isEmpty)
    }

    /// As many messages as one write takes go out together, and a longer one by itself.
    @Test(arguments: [(1_024, 63), (65_528, 1), (65_529, 0), (1 << 20, 0), (0, 10_922)])
    func writeTakesMessagesUpToItsBufferSize(byteCount: Int, count: Int) throws {
        let request = TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "127.0.0.1", port: 1, target: "/"),
            exchange: .webSocket(offersCompression: false))
        let channel = WebSocketChannel(coding: .none, request: request, at: Moment(nanoseconds: 0))
        let message = OutboundMessage(Self.content(byteCount), kind: .binary)
        var gathered = 0
        while channel.hasRoomInWrite(for: message), gathered <= count {
            channel.append(message)
            gathered += 1
        }
        #expect(gathered == count)
        if count == 0 { channel.append(message) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var keys = MaskingKeyBlock()
        let written = buffer.withUnsafeMutableBufferPointer { channel.fill($0, masking: &keys) }
        #expect(written == min(max(1, count) * message.frameByteCount, buffer.count))
        #expect(channel.hasFrames == (count == 0))
        #expect(channel.hasRoomInWrite(for: message) == (count > 0))
    }

    // MARK: Bounds

    @Test func queuedPongsAreBounded() throws {
        var queue = FrameQueue()
        for number in 0..<10_000 {
            queue.appendPong(Self.content(123) + [UInt8(number / 256), UInt8(number % 256)])
            queue.appendPing(Self.content(125))
        }
        queue.appendClose(CloseFrame(code: .normalClosure), rest: .isSent)
        let output = queue.drain(by: 4_096)
        #expect(output.count < (64 << 10) + 500)
        let frames = try #require(ClientFrame.read(output))
        #expect(frames.last?.opcode == 8)
        // Whatever is left out, the newest ping is answered (RFC 6455 section 5.5.3).
        #expect(frames.last { $0.opcode == 10 }?.payload.suffix(2) == [UInt8(9_999 / 256), UInt8(9_999 % 256)])
    }

    @Test func twoHundredPingsAreAllAnswered() throws {
        var queue = FrameQueue()
        for number in 0..<200 { queue.appendPong([UInt8(number)]) }
        let frames = try #require(ClientFrame.read(queue.drain(by: 4_096)))
        #expect(frames.map(\.payload) == (0..<200).map { [UInt8($0)] })
    }

    @Test func everyFrameHasAKeyOfItsOwn() {
        var keys: Set<[UInt8]> = []
        for _ in 0..<100 {
            var queue = FrameQueue()
            queue.append(OutboundMessage([0, 0, 0, 0], kind: .text))
            keys.insert(Array(queue.drain(by: 100)[2..<6]))
        }
        #expect(keys.count > 95)
    }

    /// Frames in one write, those that are made in its buffer and the one that is not, have different keys.
    @Test func theFramesOfAWriteHaveKeysOfTheirOwn() {
        var queue = FrameQueue()
        for _ in 0..<200 { queue.append(OutboundMessage([0, 0, 0, 0], kind: .text)) }
        // Ten bytes each, so that every second write ends within a frame.
        let output = queue.drain(by: 1_005)
        #expect(output.count == 2_000)
        let keys = Set(stride(from: 0, to: output.count, by: 10).map { Array(output[$0 + 2..<$0 + 6]) })
        #expect(keys.count > 195)
    }

    @Test func keysOfSeveralBlocksDiffer() {
        var block = MaskingKeyBlock()
        // Of so many random keys two are equal in one of 8,600 runs.
        let keys = (0..<1_000).map { _ in block.next() }
        #expect(Set(keys).count > 995)
    }

    // MARK: Order

    /// Messages are taken from the front while others are appended, through every size of the queue.
    @Test func messagesStayInOrderWhileTheQueueGrowsAndShrinks() {
        var queue = OutboundMessageQueue()
        var (appended, taken) = (0, 0)
        for round in 0..<200 {
            for _ in 0..<round {
                queue.append(OutboundMessage([UInt8(truncatingIfNeeded: appended)], kind: .text))
                appended += 1
            }
            // The queue is emptied in every tenth round, and longer from round to round else.
            for _ in 0..<(round % 10 == 0 ? queue.count : round / 2) {
                guard queue.first?.payload == [UInt8(truncatingIfNeeded: taken)] else {
                    Issue.record("message \(taken) is missing in round \(round)")
                    return
                }
                queue.removeFirst()
                taken += 1
            }
            #expect(queue.count == appended - taken && queue.isEmpty == (appended == taken))
        }
    }

    @Test func theNewestMessagesAreRemoved() {
        var queue = OutboundMessageQueue()
        for number in 0..<100 { queue.append(OutboundMessage([UInt8(number)], kind: .text)) }
        for _ in 0..<10 { queue.removeFirst() }
        #expect(queue.count(before: { $0.payload == [50] }) == 40)
        #expect(queue.count(before: { $0.payload == [5] }) == 90)
        queue.removeAll(after: 90)
        #expect(queue.count == 90)
        queue.removeAll(after: 2)
        #expect(queue.count == 2 && queue.first?.payload == [10])
        queue.removeAll(after: 0)
        #expect(queue.isEmpty && queue.first == nil)
    }
}
