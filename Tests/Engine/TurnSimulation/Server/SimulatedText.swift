// Text as models write it, and as they rarely do: every width, marks that join their neighbours, line ends, quotes.

/// Draws text.
enum SimulatedText {
    private static let pieces: [[UInt8]] = [
        "a", "the ", " quick", "fox. ", "0", "-", "\"", "\\", "/", "\n", "\r\n", "\r", "\t", "\u{0}", "\u{7F}", "{}",
        "\u{1F}",
        "é", "e\u{301}", "ñ", "\u{301}", "ß", "\u{A0}", "д", "ع", "\u{200F}", "\u{7FF}", "\u{800}",
        "界", "한", "\u{200D}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{2028}", "क्षि", "\u{D7FF}", "\u{E000}",
        "😀", "👩\u{200D}👩\u{200D}👧", "🇩🇪", "🇩", "👍🏽", "𝄞", "\u{10FFFF}", "\u{10000}", "data: x\n\n", "[DONE]",
        "event: response.completed", "lorem ipsum dolor sit amet, ", "\\u0041", "\u{85}",
    ].map { Array($0.utf8) }

    /// A few pieces, one behind the other.
    static func bytes(_ random: inout SimulatedRandom, pieces count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes += random.pick(self.pieces) }
        return bytes
    }

    /// Another text of the same beginning: one scalar is replaced by a different one.
    static func withChangedScalar(_ bytes: [UInt8], _ random: inout SimulatedRandom) -> [UInt8] {
        guard !bytes.isEmpty else { return Array("x".utf8) }
        var start = random.below(bytes.count)
        while start > 0, self.continues(bytes[start]) { start -= 1 }
        let end = self.boundary(after: start + 1, in: bytes)
        let scalar = Array(bytes[start..<end])
        // Canonically equivalent forms are different bytes, and so different texts.
        let other = scalar == Array("é".utf8) ? Array("e\u{301}".utf8) : Array((scalar == [0x23] ? "§" : "#").utf8)
        return Array(bytes[..<start]) + other + Array(bytes[end...])
    }

    /// Returns whether two texts differ in the white space at their ends at most, which servers change.
    static func isLike(_ left: [UInt8], _ right: [UInt8]) -> Bool { self.trimmed(left) == self.trimmed(right) }

    private static func trimmed(_ bytes: [UInt8]) -> [Unicode.Scalar] {
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars.drop(while: Self.isWhiteSpace)
        return scalars.reversed().drop(while: Self.isWhiteSpace).reversed()
    }

    /// Some servers trim the separators U+001C to U+001F as well, and some U+FEFF.
    private static func isWhiteSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || ("\u{1C}"..."\u{1F}").contains(scalar) || scalar == "\u{FEFF}"
    }

    /// True for a byte that continues a scalar.
    static func continues(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// The first boundary of two scalars at or behind an offset.
    static func boundary(after offset: Int, in bytes: [UInt8]) -> Int {
        var end = min(offset, bytes.count)
        while end < bytes.count, self.continues(bytes[end]) { end += 1 }
        return end
    }
}
