// Tests of FrameReader: everything a server must not do, and the limits.

import Testing
import WebSocketProtocol

@Suite struct FrameReaderErrorTests {
    private static let compressed = FrameReader.Configuration(isCompressionNegotiated: true)

    /// Reads whole, and byte by byte, with the same elements.
    private func expect(
        _ bytes: [UInt8],
        gives elements: [ReadElement],
        configuration: FrameReader.Configuration = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let sizes = [Int](repeating: 1, count: bytes.count)
        #expect(
            FrameCollector.read(bytes, configuration: configuration) == elements, sourceLocation: sourceLocation)
        #expect(
            FrameCollector.read(bytes, chunkSizes: sizes, configuration: configuration) == elements,
            sourceLocation: sourceLocation)
    }

    @Test(arguments: [UInt8(0x81), 0x82, 0x88, 0x89, 0x8A])
    func maskedFramesAreRefused(firstByte: UInt8) {
        self.expect([firstByte, 0x80, 1, 2, 3, 4], gives: [.failure(.maskedFrame)])
    }

    @Test(arguments: 1...7 as ClosedRange<UInt8>)
    func reservedBitsAreRefusedWithoutAnExtension(bits: UInt8) {
        self.expect(ServerFrame.text("hi", reservedBits: bits), gives: [.failure(.reservedBitSet)])
    }

    @Test(arguments: [1, 2, 3, 5, 6, 7] as [UInt8])
    func theOtherReservedBitsAreRefusedWithCompression(bits: UInt8) {
        self.expect(
            ServerFrame.text("hi", reservedBits: bits), gives: [.failure(.reservedBitSet)],
            configuration: Self.compressed)
    }

    @Test func theCompressionBitBelongsToTheFirstFrame() {
        self.expect(
            ServerFrame.text("hi", reservedBits: 4),
            gives: [.message(.text, isCompressed: true, Array("hi".utf8))], configuration: Self.compressed)
        self.expect(
            ServerFrame.text("h", isFinal: false, reservedBits: 4) + ServerFrame.continuation([105], isFinal: true),
            gives: [.message(.text, isCompressed: true, Array("hi".utf8))], configuration: Self.compressed)
        self.expect(
            ServerFrame.text("h", isFinal: false, reservedBits: 4)
                + ServerFrame(opcode: 0, payload: [105], reservedBits: 4).bytes,
            gives: [.failure(.reservedBitSet)], configuration: Self.compressed)
    }

    @Test(arguments: [8, 9, 10] as [UInt8])
    func theCompressionBitIsRefusedOnControlFrames(opcode: UInt8) {
        self.expect(
            ServerFrame(opcode: opcode, reservedBits: 4).bytes, gives: [.failure(.reservedBitSet)],
            configuration: Self.compressed)
    }

    @Test(arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func reservedOpcodesAreRefused(opcode: UInt8) {
        self.expect(ServerFrame(opcode: opcode).bytes, gives: [.failure(.reservedOpcode(opcode))])
    }

    @Test(arguments: [8, 9, 10] as [UInt8])
    func fragmentedControlFramesAreRefused(opcode: UInt8) {
        self.expect(ServerFrame(opcode: opcode, isFinal: false).bytes, gives: [.failure(.fragmentedControlFrame)])
    }

    @Test(arguments: [8, 9, 10] as [UInt8], [126, 127, 65_536])
    func longControlFramesAreRefused(opcode: UInt8, byteCount: Int) {
        let bytes = ServerFrame(opcode: opcode, payload: [UInt8](repeating: 0, count: byteCount)).bytes
        self.expect(bytes, gives: [.failure(.controlFrameTooLong)])
    }

    @Test func aContinuationNeedsAMessage() {
        self.expect(ServerFrame.continuation([], isFinal: true), gives: [.failure(.unexpectedContinuation)])
        self.expect(
            ServerFrame.text("a") + ServerFrame.continuation([1], isFinal: false),
            gives: [.text("a"), .failure(.unexpectedContinuation)])
    }

    @Test func aMessageMustEndBeforeTheNext() {
        self.expect(
            ServerFrame.text("a", isFinal: false) + ServerFrame.text("b"), gives: [.failure(.unfinishedMessage)])
        self.expect(
            ServerFrame.text("", isFinal: false) + ServerFrame.ping("x") + ServerFrame.binary([1]),
            gives: [.ping(Array("x".utf8)), .failure(.unfinishedMessage)])
    }

    // MARK: Lengths

    @Test func lengthsWithTheTopBitAreRefused() {
        self.expect([0x81, 0x7F] + [UInt8](repeating: 0xFF, count: 8), gives: [.failure(.lengthOutOfRange)])
        self.expect([0x81, 0x7F, 0x80], gives: [.failure(.lengthOutOfRange)])
    }

    @Test func greatestLengthIsReportedAsTooBig() {
        let header: [UInt8] = [0x7F, 0x7F] + [UInt8](repeating: 0xFF, count: 7)
        let limit = FrameReader.defaultMessageByteLimit
        self.expect([0x82] + header, gives: [.failure(.messageTooBig(limit: limit))])
        self.expect(
            ServerFrame.binary([1], isFinal: false) + [0x80] + header, gives: [.failure(.messageTooBig(limit: limit))])
        let unlimited = FrameReader.Configuration(messageByteLimit: .max)
        self.expect(
            ServerFrame.binary([1], isFinal: false) + [0x80] + header,
            gives: [.failure(.messageTooBig(limit: .max))], configuration: unlimited)
        self.expect([0x82] + header, gives: [], configuration: unlimited)
    }

    @Test func lengthsTakeTheFewestBytes() {
        self.expect([0x81, 126, 0, 5] + Array("hello".utf8), gives: [.failure(.nonMinimalLength)])
        self.expect([0x81, 126, 0, 125], gives: [.failure(.nonMinimalLength)])
        self.expect([0x81, 126, 0, 126], gives: [])
        self.expect([0x81, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], gives: [.failure(.nonMinimalLength)])
        self.expect([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0], gives: [])
    }

    @Test(arguments: [0, 1, 125, 126, 1_000, 70_000])
    func theLimitOfAMessageIsCheckedAtItsHeader(limit: Int) {
        let configuration = FrameReader.Configuration(messageByteLimit: limit)
        for byteCount in [max(0, limit - 1), limit] {
            let payload = [UInt8](repeating: 1, count: byteCount)
            self.expect(
                ServerFrame.binary(payload), gives: [.message(.binary, isCompressed: false, payload)],
                configuration: configuration)
        }
        let tooBig = ServerFrame.binary([UInt8](repeating: 1, count: limit + 1))
        let header = Array(tooBig.dropLast(limit + 1))
        self.expect(header, gives: [.failure(.messageTooBig(limit: limit))], configuration: configuration)
    }

    @Test func theLimitCountsAllFragments() {
        let configuration = FrameReader.Configuration(messageByteLimit: 10)
        let start = ServerFrame.binary([1, 2, 3, 4], isFinal: false) + ServerFrame.ping("not counted")
        let next = ServerFrame.continuation([5, 6, 7, 8, 9], isFinal: false)
        let ping = ReadElement.ping(Array("not counted".utf8))
        self.expect(
            start + next + ServerFrame.continuation([10], isFinal: true),
            gives: [ping, .message(.binary, isCompressed: false, Array(1...10))], configuration: configuration)
        self.expect(
            start + next + [0x80, 2], gives: [ping, .failure(.messageTooBig(limit: 10))],
            configuration: configuration)
        // The next message begins at zero.
        let whole = ServerFrame.binary(Array(1...10))
        let message = ReadElement.message(.binary, isCompressed: false, Array(1...10))
        self.expect(whole + whole, gives: [message, message], configuration: configuration)
    }

    @Test func anErrorIsThrownAgain() {
        var reader = FrameReader(configuration: .init())
        let bytes: [UInt8] = [0x83, 0, 0x81, 0]
        bytes.withUnsafeBytes { chunk in
            var position = 0
            #expect(throws: FrameError.reservedOpcode(3)) { try reader.next(in: chunk, at: &position) }
            position = 2
            #expect(throws: FrameError.reservedOpcode(3)) { try reader.next(in: chunk, at: &position) }
            position = 4
            #expect(throws: FrameError.reservedOpcode(3)) { try reader.next(in: chunk, at: &position) }
        }
    }

    // MARK: Close frames

    @Test func aCloseFrameMayBeEmpty() {
        self.expect(ServerFrame(opcode: 8).bytes, gives: [.close(CloseFrame(code: nil))])
    }

    @Test func aCloseFrameOfOneByteIsRefused() {
        self.expect(ServerFrame(opcode: 8, payload: [3]).bytes, gives: [.failure(.incompleteCloseCode)])
    }

    @Test func closeCodesAreThoseOfTheSpecificationAndTheRegistry() {
        let allowed = Set(Array(1000...1003) + Array(1007...1014) + Array(3000...4999) as [UInt16])
        for code in UInt16.min...UInt16.max {
            let expected: ReadElement =
                allowed.contains(code)
                ? .close(CloseFrame(code: CloseCode(rawValue: code))) : .failure(.closeCodeNotAllowed(code))
            let elements = FrameCollector.read(ServerFrame.close(code))
            if elements != [expected] { #expect(elements == [expected]) }
        }
    }

    @Test func theCloseReasonIsUTF8() {
        self.expect(
            ServerFrame.close(1000, reason: [0xFF, 0xFE]), gives: [.failure(.closeReasonNotUTF8)])
        self.expect(
            ServerFrame.close(1000, reason: [0xF0, 0x9F, 0x98]), gives: [.failure(.closeReasonNotUTF8)])
        let longest = String(repeating: "é", count: 61) + "a"
        self.expect(
            ServerFrame.close(4999, reason: Array(longest.utf8)),
            gives: [.close(CloseFrame(code: CloseCode(rawValue: 4999), reason: longest))])
    }

    @Test func noFrameIsReadAfterACloseFrame() {
        self.expect(
            ServerFrame.text("a") + ServerFrame.close(1000) + ServerFrame.text("b") + [0xFF, 0xFF],
            gives: [.text("a"), .close(CloseFrame(code: .normalClosure))])
    }

    @Test func everyErrorHasItsCloseCode() {
        #expect(FrameError.messageTooBig(limit: 1).closeCode == .messageTooBig)
        #expect(FrameError.closeReasonNotUTF8.closeCode == .invalidFramePayloadData)
        let violations: [FrameError] = [
            .maskedFrame, .unmaskedFrame, .reservedBitSet, .reservedOpcode(3), .fragmentedControlFrame,
            .controlFrameTooLong,
            .unexpectedContinuation, .unfinishedMessage, .lengthOutOfRange, .nonMinimalLength, .incompleteCloseCode,
            .closeCodeNotAllowed(0),
        ]
        for violation in violations { #expect(violation.closeCode == .protocolError) }
    }
}
