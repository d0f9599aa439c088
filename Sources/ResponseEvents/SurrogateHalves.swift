/// Halves of surrogate pairs (Unicode, section 3.9, D75) that stand alone at the ends of a delta's text.
///
/// A server that cuts text between the units of UTF-16 writes a scalar in two deltas, each with one half as an escape. In
/// the text of such a delta U+FFFD stands for the half.
package struct SurrogateHalves: Equatable, Sendable {
    /// How many bytes U+FFFD has, which stands for a half.
    package static let replacementByteCount = 3

    /// The second half of a pair at the beginning; 0 for none.
    package let second: UInt16
    /// The first half of a pair at the end; 0 for none.
    package let first: UInt16

    /// The halves as the scanner tells of them.
    init(_ halves: UInt32) {
        self.second = UInt16(truncatingIfNeeded: halves)
        self.first = UInt16(truncatingIfNeeded: halves >> 16)
    }

    /// The UTF-8 of a pair, each of whose halves is one.
    package static func utf8(_ first: UInt16, _ second: UInt16) -> [UInt8] {
        Array(String(decoding: [first, second], as: UTF16.self).utf8)
    }
}
