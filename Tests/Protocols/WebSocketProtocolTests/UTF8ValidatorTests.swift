// Tests of UTF8Validator against the standard library.

import Testing
import WebSocketProtocol

@Suite struct UTF8ValidatorTests {
    /// Judges the bytes in two runs.
    private func judge(_ bytes: [UInt8], cut: Int = 0) -> Bool {
        var validator = UTF8Validator()
        let answers = [bytes[..<cut], bytes[cut...]].map { run in
            Array(run).withUnsafeBytes { validator.validate($0) }
        }
        return validator.finish() && answers == [true, true]
    }

    private func reference(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

    /// Returns the number of bytes that were taken before the first invalid one.
    private func acceptedCount(_ bytes: [UInt8]) -> Int {
        var validator = UTF8Validator()
        for (index, byte) in bytes.enumerated() where ![byte].withUnsafeBytes({ validator.validate($0) }) {
            return index
        }
        return bytes.count
    }

    @Test func everyScalarAtEveryBoundaryIsAccepted() {
        let boundaries: [UInt32] = [
            0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x3FFFF, 0x40000,
            0xFFFFF, 0x100000, 0x10FFFF,
        ]
        for value in boundaries {
            let bytes = Array(String(Unicode.Scalar(value) ?? "?").utf8)
            for cut in 0...bytes.count { #expect(self.judge(bytes, cut: cut)) }
            for length in 1..<max(2, bytes.count) where length < bytes.count {
                #expect(!self.judge(Array(bytes.prefix(length))))
            }
        }
    }

    @Test func everyPairOfBytesIsJudgedAsByTheStandardLibrary() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let bytes = [first, second]
                if self.judge(bytes) != self.reference(bytes) { Issue.record("\(bytes)") }
            }
        }
    }

    @Test func everyBoundarySequenceIsJudgedAsByTheStandardLibrary() {
        let leads: [UInt8] = [
            0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4,
            0xF5, 0xF8, 0xFC, 0xFE, 0xFF,
        ]
        let tails: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for lead in leads {
            for second in tails {
                for third in tails {
                    for fourth in tails {
                        let bytes = [lead, second, third, fourth]
                        if self.judge(bytes) != self.reference(bytes) { Issue.record("\(bytes)") }
                        if self.judge(bytes, cut: 2) != self.reference(bytes) { Issue.record("\(bytes) in runs") }
                    }
                }
            }
        }
    }

    @Test(arguments: 0..<300)
    func randomTextIsJudgedAsByTheStandardLibrary(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...60, using: &random) {
            switch Int.random(in: 0...4, using: &random) {
            case 0: bytes += Array("plain ASCII of some length".utf8)
            case 1: bytes += Array("é€😀".utf8)
            default: bytes += Array(String(Unicode.Scalar(UInt32.random(in: 0...0xD7FF, using: &random)) ?? "?").utf8)
            }
        }
        if Bool.random(using: &random), !bytes.isEmpty {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let cut = Int.random(in: 0...bytes.count, using: &random)
        #expect(self.judge(bytes, cut: cut) == self.reference(bytes))
    }

    /// Texts around the length of a block, with bytes that are no ASCII at every place.
    @Test(arguments: [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 80, 127, 128, 129, 150, 192, 250])
    func aWholeTextIsJudgedAsByTheStandardLibrary(length: Int) {
        let text = [UInt8](repeating: 0x61, count: length)
        #expect(text.withUnsafeBytes { UTF8Validator.isValid($0) })
        for index in 0..<length {
            for replacement in [[0xFF], [0xC3], [0xC3, 0xA9], [0xE2, 0x82, 0xAC]] as [[UInt8]] {
                let end = min(index + replacement.count, length)
                let changed = text[..<index] + replacement.prefix(end - index) + text[end...]
                let isValid = Array(changed).withUnsafeBytes { UTF8Validator.isValid($0) }
                if isValid != self.reference(Array(changed)) { Issue.record("\(replacement) at \(index)") }
            }
        }
    }

    @Test(
        arguments: [
            ([0xC0], 0), ([0xC1], 0), ([0xF5], 0), ([0xFF], 0), ([0x80], 0), ([0xE0, 0x9F], 1), ([0xED, 0xA0], 1),
            ([0xF0, 0x8F], 1), ([0xF4, 0x90], 1), ([0xE2, 0x82, 0x41], 2), ([0xF0, 0x9F, 0x98, 0xC0], 3),
            ([0x61, 0x62, 0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xF4, 0x90], 10),
        ] as [([UInt8], Int)])
    func theFirstImpossibleByteIsRefused(bytes: [UInt8], accepted: Int) {
        #expect(self.acceptedCount(bytes) == accepted)
    }

    @Test func aRefusalLastsUntilTheMessageEnds() {
        var validator = UTF8Validator()
        var answers: [Bool] = []
        for byte in [0x41, 0xFF, 0x41] as [UInt8] { answers.append([byte].withUnsafeBytes { validator.validate($0) }) }
        answers.append(validator.finish())
        answers.append([0x41].withUnsafeBytes { validator.validate($0) })
        answers.append(validator.finish())
        #expect(answers == [true, false, false, false, true, true])
    }

    @Test func incompleteScalarAtTheEndIsInvalid() {
        var validator = UTF8Validator()
        let isPossible = [0x61, 0xF0, 0x9F, 0x98 as UInt8].withUnsafeBytes { validator.validate($0) }
        let isComplete = validator.finish()
        #expect(isPossible && !isComplete)
    }
}
