// Tests of FrameWriter, ByteMask and CloseFrame.

import Testing
import WebSocketProtocol

@Suite struct FrameWriterTests {
    private let key = MaskingKey(rawValue: 0x37FA_213D)

    private func write(_ header: FrameHeader, _ payload: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        FrameWriter.append(header, payload: payload, maskingKey: self.key, to: &output)
        return output
    }

    @Test func maskedExamplesOfRFC6455AreWritten() {
        let masked: [UInt8] = [0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
        #expect(self.write(FrameHeader(opcode: .text), Array("Hello".utf8)) == [0x81, 0x85] + masked)
        #expect(self.write(FrameHeader(opcode: .pong), Array("Hello".utf8)) == [0x8a, 0x85] + masked)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 65_537])
    func payloadLengthIsWrittenInItsShortestForm(byteCount: Int) {
        let payload = SeededBytes.make(byteCount)
        let expected = ServerFrame(opcode: 2, payload: payload, maskingKey: [0x37, 0xFA, 0x21, 0x3D]).bytes
        #expect(self.write(FrameHeader(opcode: .binary), payload) == expected)
        let headerCount = FrameWriter.headerByteCount(payloadByteCount: byteCount)
        #expect(headerCount == expected.count - byteCount)
    }

    /// A frame is written to memory as it is appended, and not a byte behind it is touched.
    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 65_537])
    func aFrameInABufferEqualsAnAppendedOne(byteCount: Int) {
        let payload = SeededBytes.make(byteCount)
        let header = FrameHeader(opcode: .text, isFinal: false, isCompressed: true)
        let expected = self.write(header, payload)
        var memory = [UInt8](repeating: 0xA5, count: expected.count + 9)
        let count = memory.withUnsafeMutableBytes { memory in
            payload.withUnsafeBytes { FrameWriter.write(header, payload: $0, maskingKey: self.key, to: memory) }
        }
        #expect(count == expected.count)
        #expect(memory == expected + [UInt8](repeating: 0xA5, count: 9))
    }

    @Test func firstByteEncodesTheFrameHeader() {
        #expect(self.write(FrameHeader(opcode: .text, isCompressed: true), []).first == 0xC1)
        #expect(self.write(FrameHeader(opcode: .text, isFinal: false, isCompressed: true), []).first == 0x41)
        #expect(self.write(FrameHeader(opcode: .continuation, isFinal: false), []).first == 0x00)
        #expect(self.write(FrameHeader(opcode: .ping), []).first == 0x89)
    }

    @Test func framesAreAppended() {
        var output: [UInt8] = [1, 2, 3]
        FrameWriter.append(FrameHeader(opcode: .ping), payload: [], maskingKey: self.key, to: &output)
        #expect(output == [1, 2, 3, 0x89, 0x80, 0x37, 0xFA, 0x21, 0x3D])
    }

    @Test func closeFramesCarryCodeAndReason() {
        var output: [UInt8] = []
        let zero = MaskingKey(rawValue: 0)
        FrameWriter.append(CloseFrame(code: .goingAway, reason: "é"), maskingKey: zero, to: &output)
        #expect(output == [0x88, 0x84, 0, 0, 0, 0, 0x03, 0xE9, 0xC3, 0xA9])
        output = []
        FrameWriter.append(CloseFrame(code: nil), maskingKey: zero, to: &output)
        #expect(output == [0x88, 0x80, 0, 0, 0, 0])
    }

    // MARK: CloseFrame

    @Test(arguments: [.noStatusReceived, .abnormalClosure, CloseCode(rawValue: 1015)])
    func codesThatAreNeverSentGiveAnEmptyPayload(code: CloseCode) {
        #expect(CloseFrame(code: code, reason: "why").payload == [])
        #expect(CloseFrame(code: code, reason: "why") == CloseFrame(code: nil))
    }

    @Test(arguments: [121, 122, 123, 124, 200], ["a", "é", "€", "😀"])
    func longReasonsAreCutBetweenScalars(byteCount: Int, scalar: String) {
        let reason = String(repeating: "a", count: byteCount % 4) + String(repeating: scalar, count: byteCount)
        let frame = CloseFrame(code: .normalClosure, reason: reason)
        #expect(frame.payload.count <= 125)
        #expect(frame.payload.count > 125 - scalar.utf8.count || frame.reason == reason)
        #expect(reason.utf8.starts(with: frame.reason.utf8))
        #expect(String(validating: frame.payload.dropFirst(2), as: UTF8.self) == frame.reason)
    }

    @Test(arguments: [122, 123, 124])
    func closeReasonIsCutTo123Bytes(byteCount: Int) {
        let frame = CloseFrame(code: .normalClosure, reason: String(repeating: "r", count: byteCount))
        #expect(frame.reason.utf8.count == min(byteCount, 123))
    }

    // MARK: ByteMask

    @Test(arguments: 0...40)
    func maskingInRunsEqualsMaskingAtOnce(cut: Int) {
        let bytes = SeededBytes.make(41)
        let expected = bytes.enumerated().map { $1 ^ [0x37, 0xFA, 0x21, 0x3D][$0 & 3] }
        for second in cut...40 {
            var masked = bytes
            var mask = ByteMask(key: self.key)
            masked.withUnsafeMutableBytes { memory in
                for range in [0..<cut, cut..<second, second..<41] {
                    mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: memory[range]))
                }
            }
            #expect(masked == expected)
        }
    }

    @Test func maskingTwiceRestoresTheBytes() {
        let bytes = SeededBytes.make(1_000)
        var masked = bytes
        for _ in 0..<2 {
            var mask = ByteMask(key: self.key)
            masked.withUnsafeMutableBytes { mask.apply(to: $0) }
        }
        #expect(masked == bytes)
    }
}
