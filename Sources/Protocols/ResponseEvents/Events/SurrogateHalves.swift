/// Halves of surrogate pairs (Unicode, section 3.9, D75) that stand alone at the ends of a delta's text.
///
/// A server that cuts text between UTF-16 code units writes a scalar in two deltas, each with one half as an escape. In
/// the text of such a delta U+FFFD replaces the half.
package struct SurrogateHalves: Equatable, Sendable {
    /// The byte count of U+FFFD, which replaces a half.
    package static let replacementByteCount = 3

    /// The second half of a pair at the beginning; 0 for none.
    package let second: UInt16
    /// The first half of a pair at the end; 0 for none.
    package let first: UInt16

    /// Creates the halves from the scanner's number.
    init(_ halves: UInt32) {
        self.second = UInt16(truncatingIfNeeded: halves)
        self.first = UInt16(truncatingIfNeeded: halves >> 16)
    }

    /// Returns the UTF-8 of a pair of halves.
    package static func utf8(_ first: UInt16, _ second: UInt16) -> [UInt8] {
        Array(String(decoding: [first, second], as: UTF16.self).utf8)
    }
}
