// Tests of CompressionChoice: which messages are worth compressing.

import Deflate
import Testing

@Suite struct CompressionChoiceTests {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Words as a prompt has them, in any order.
    private static func text(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        let words = "the client sends one request and reads events until a response is complete or has failed {\"id\":"
            .split(
                separator: " ")
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += Array((words.randomElement(using: &random) ?? "").utf8) + [0x20] }
        return Array(bytes.prefix(count))
    }

    private static func random(_ count: Int) -> [UInt8] {
        var random = SeededGenerator(seed: 2)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private static func base64(_ count: Int) -> [UInt8] { Self.random(count).map { Self.digits[Int($0 & 0x3F)] } }

    private static func chinese(_ count: Int) -> [UInt8] {
        var random = SeededGenerator(seed: 3)
        var text = ""
        // The commoner a character, the earlier it comes: about as often as in a newspaper.
        while text.utf8.count < count {
            let rank = Int.random(in: 0...60, using: &random) * Int.random(in: 0...60, using: &random)
            text.unicodeScalars.append(Unicode.Scalar(UInt32(0x4E00 + rank)) ?? " ")
        }
        return Array(text.utf8)
    }

    private static func isWorthwhile(_ message: [UInt8]) -> Bool {
        message.withUnsafeBytes { CompressionChoice.isWorthwhile($0) }
    }

    @Test(arguments: [0, 1, 512, 4_094, 4_095])
    func smallMessageIsSentUncompressed(count: Int) {
        #expect(!Self.isWorthwhile([UInt8](repeating: 0x61, count: count)))
    }

    @Test(arguments: [4_096, 4_097, 5_000, 65_536, 1_000_000])
    func textIsCompressed(count: Int) {
        #expect(Self.isWorthwhile(Self.text(count)))
        #expect(Self.isWorthwhile(Self.chinese(count)))
        #expect(Self.isWorthwhile([UInt8](repeating: 0x61, count: count)))
    }

    @Test(arguments: [4_096, 4_097, 5_000, 65_536, 1_000_000])
    func compressedDataIsSentUncompressed(count: Int) {
        #expect(!Self.isWorthwhile(Self.random(count)))
        #expect(!Self.isWorthwhile(Self.base64(count)))
    }

    @Test func largestPartOfTheContentDeterminesCompression() {
        #expect(!Self.isWorthwhile(Self.text(4_000) + Self.base64(1_000_000) + Self.text(100)))
        #expect(Self.isWorthwhile(Self.base64(4_000) + Self.text(1_000_000)))
    }
}
