// Text by its bytes: as a key, and compared. Pure.

/// Text that is compared and hashed by its UTF-8.
///
/// JSON compares names code point by code point (RFC 8259 section 8.3), and Swift's `String` by canonical equivalence:
/// it would take two names for one, and sorts combining marks to find that out, in time that is quadratic in their
/// number. Both take time that is linear in the length here.
package struct ExactText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// The text as a key.
    package init(_ text: String) { self.text = text }

    /// True when every byte is the same.
    package static func == (left: Self, right: Self) -> Bool { left.text.isExactly(right.text) }

    /// Feeds the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = self.text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension String {
    /// Returns whether two texts have the same bytes.
    package func isExactly(_ other: String) -> Bool {
        self.utf8.count == other.utf8.count && self.utf8.elementsEqual(other.utf8)
    }

    /// The longest word for programs that is kept, in bytes: a type, a code, the name of a plan.
    package static let maximumWordByteCount = 256

    /// The text as a word for programs: its first 256 bytes at most, cut in front of a scalar.
    ///
    /// Words are compared with those that are known, which are short.
    var word: String {
        guard self.utf8.count > Self.maximumWordByteCount else { return self }
        var end = self.utf8.index(self.startIndex, offsetBy: Self.maximumWordByteCount)
        while self.utf8[end] & 0xC0 == 0x80 { end = self.utf8.index(before: end) }
        return String(self[..<end])
    }
}
