// Text by its bytes: as a key, and compared. Pure.

/// Text that is compared and hashed by its UTF-8.
///
/// JSON compares names code point by code point (RFC 8259 section 8.3), and Swift's `String` by canonical equivalence:
/// it would equate two different names, and sorts combining marks for that in time quadratic in their number. Comparing
/// and hashing take time linear in the length here.
package struct ExactText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Creates a key of a text.
    package init(_ text: String) { self.text = text }

    /// Returns whether every byte is the same.
    package static func == (left: Self, right: Self) -> Bool { left.text.isExactly(right.text) }

    /// Feeds the bytes into a hasher.
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

    /// The largest byte count of a machine-readable word that is kept: a type, a code, the name of a plan.
    package static let maximumWordByteCount = 256

    /// The text as a machine-readable word: its first 256 bytes at most, cut at a scalar.
    ///
    /// Words are compared with known ones, which are short.
    var word: String {
        guard self.utf8.count > Self.maximumWordByteCount else { return self }
        var end = self.utf8.index(self.startIndex, offsetBy: Self.maximumWordByteCount)
        while self.utf8[end] & 0xC0 == 0x80 { end = self.utf8.index(before: end) }
        return String(self[..<end])
    }
}
