// Different events have different fingerprints.
import StreamSession
import Testing

@Suite struct EventFingerprintTests {
    private static func fingerprint(_ type: [UInt8], _ content: [UInt8]) -> UInt64 {
        EventFingerprint.of(type: type.span, content: content.span)
    }

    @Test func theSameBytesHaveTheSameFingerprintWhereverTheyLie() {
        let content = (0..<100).map { UInt8($0) }
        for offset in 0..<16 {
            let moved = [UInt8](repeating: 9, count: offset) + content
            let found = EventFingerprint.of(type: [1, 2].span, content: moved.span.extracting(offset..<offset + 100))
            #expect(found == Self.fingerprint([1, 2], content))
        }
    }

    @Test func everyLengthOfZeroesIsItsOwn() {
        let found = Set((0..<200).map { Self.fingerprint([], [UInt8](repeating: 0, count: $0)) })
        #expect(found.count == 200)
    }

    @Test func boundaryBetweenTypeAndContentChangesTheFingerprint() {
        let bytes = (0..<64).map { UInt8($0) }
        let found = Set((0...64).map { Self.fingerprint(Array(bytes[..<$0]), Array(bytes[$0...])) })
        #expect(found.count == 65)
    }

    @Test func everyChangedBitChangesTheFingerprint() {
        for count in [1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 40, 47, 100] {
            let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            var found: Set<UInt64> = [Self.fingerprint([1], content)]
            for position in content.indices {
                for bit in 0..<8 {
                    var changed = content
                    changed[position] ^= 1 << UInt8(bit)
                    found.insert(Self.fingerprint([1], changed))
                }
            }
            #expect(found.count == count * 8 + 1)
        }
    }

    @Test func aHundredThousandEventsOfOneResponseDoNotCollide() {
        let type = Array("response.output_text.delta".utf8)
        var found: Set<UInt64> = []
        for number in 0..<100_000 {
            found.insert(Self.fingerprint(type, Array(#"{"delta":"a","output_index":0,"n":\#(number)}"#.utf8)))
        }
        #expect(found.count == 100_000)
    }

    @Test func swappedWordsHaveDifferentFingerprints() {
        let first = Array("abcdefgh".utf8)
        let second = Array("ijklmnop".utf8)
        let words = [first + second, second + first, first + first, second + second]
        #expect(Set(words.map { Self.fingerprint([], $0) }).count == 4)
        #expect(Set(words.map { Self.fingerprint([], $0 + $0 + first) }).count == 4)
    }

    /// Texts of every length of up to twenty bytes, each with one byte changed, in several slots.
    @Test func deltasThatDifferHaveOtherFingerprints() {
        var known: Set<UInt64> = []
        var count = 0
        for length in 0...20 {
            let text = (0..<length).map { UInt8(65 + $0) }
            for slot in [ReplaySlot.text(0), .text(1), .text(0, part: 1), ReplaySlot(.refusal, outputIndex: 0)] {
                known.insert(EventFingerprint.of(delta: text.span, in: slot))
                count += 1
                for place in 0..<length {
                    var changed = text
                    changed[place] ^= 32
                    known.insert(EventFingerprint.of(delta: changed.span, in: slot))
                    count += 1
                }
            }
        }
        #expect(known.count == count)
    }

    @Test func aDeltaHasOneFingerprintWhereverItLies() {
        let bytes = Array("0123456789abcdefghij".utf8)
        for length in 0...16 {
            let alone = EventFingerprint.of(delta: Array(bytes[2..<2 + length]).span, in: .text(0))
            #expect(EventFingerprint.of(delta: bytes.span.extracting(2..<2 + length), in: .text(0)) == alone)
        }
    }
}
