/// Compares the delivered output with the texts at a response's end.
///
/// It is a part of `ReplayLedger` and belongs to its owner. It performs no I/O.
///
/// # Equality
///
/// Bytes are compared. Where they differ, four changes that servers make to their own text are ignored:
///
/// - citation marks, `【…†…】` and `U+E200 … U+E201`, which occur in one of the two only, or become `[n]`;
/// - white space (Unicode's, and what JavaScript and Python trim besides) at the beginning or the end of a part, which
///   was streamed and is trimmed in the closing text, and white space that this text adds at the beginning of output
///   that was streamed without it;
/// - a full stop that ends the streamed text, where every closing text continues, and the numbers of the events show that
///   no delta is missing: a recorded server does this, and the rest is not delivered;
/// - a scalar beyond the Basic Multilingual Plane whose halves came in two deltas, which were delivered as U+FFFD
///   twice.
struct ClosingComparison {
    /// The longest mark that is ignored, in bytes.
    static let maximumMarkByteCount = 512

    /// The similarity of the two texts.
    enum Likeness {
        /// One is a prefix of the other.
        case same
        /// One is a prefix of the other, except for the changes that servers make at the end.
        case rewritten
        /// A full stop replaces the rest of the text.
        case stopped
    }

    private let delivered: ArraySlice<UInt8>
    /// Indicates whether no text has closed the delivered output before, and no delta is known to be missing, so that its
    /// full stop may replace a longer text.
    private let isOpen: Bool
    /// The position that the comparison has reached in the delivered output.
    private var place: Int
    /// The similarity of the parts that have been compared.
    private(set) var likeness = Likeness.same

    init(_ delivered: ArraySlice<UInt8>, isOpen: Bool) {
        self.delivered = delivered
        self.isOpen = isOpen
        self.place = delivered.startIndex
    }

    /// Returns whether everything that was delivered has been compared, white space and marks at the end apart.
    mutating func isAtEnd() -> Bool {
        self.passOver(in: [])
        return self.place == self.delivered.endIndex
    }

    /// Compares the next part.
    ///
    /// - Returns: the number of its bytes that were delivered, which is less than its count only when all delivered
    ///   bytes are compared; nil when the texts differ.
    mutating func compare(_ part: ArraySlice<UInt8>) -> Int? {
        var next = part.startIndex
        /// The end of the part's white space at its beginning; nil before it is needed.
        var beginning: Int?
        while true {
            let count = min(part.endIndex - next, self.delivered.endIndex - self.place)
            let same = Self.commonCount(
                self.delivered[self.place..<self.place + count], part[next..<next + count])
            next += same
            self.place += same
            if next == part.endIndex { return part.count }
            if self.place == self.delivered.endIndex { return next - part.startIndex }
            // The difference may lie inside a scalar: the comparison returns to the beginning of the scalar.
            while next > part.startIndex, part[next] & 0xC0 == 0x80 || self.delivered[self.place] & 0xC0 == 0x80,
                self.place > self.delivered.startIndex
            {
                next -= 1
                self.place -= 1
            }
            // Between two parts the end of the one before may have been trimmed.
            if next == part.startIndex, self.place > self.delivered.startIndex, self.passOver(in: part) { continue }
            let textStart = beginning ?? Self.endOfAllWhiteSpace(in: part)
            beginning = textStart
            if next <= textStart, self.passOverBeginning(of: part, from: &next, upTo: textStart) { continue }
            if self.isOpen, self.delivered[self.place...].elementsEqual(CollectionOfOne(0x2E)) {
                self.likeness = .stopped
                self.place = self.delivered.endIndex
                return part.count
            }
            if self.delivered[self.place...].starts(with: "\u{FFFD}\u{FFFD}".utf8), part[next] & 0xF8 == 0xF0,
                part.endIndex - next >= 4
            {
                self.place += 6
                next += 4
            } else if let end = Self.endOfMark(in: self.delivered, at: self.place) {
                self.place = end
                next = Self.endOfReference(in: part, at: next) ?? next
            } else if let end = Self.endOfMark(in: part, at: next) {
                next = end
            } else {
                return nil
            }
            self.likeness = .rewritten
        }
    }

    /// Skips white space and marks in the delivered output, up to where the next part continues; returns false when
    /// there are none.
    @discardableResult
    private mutating func passOver(in part: ArraySlice<UInt8>) -> Bool {
        let start = self.place
        while self.place < self.delivered.endIndex, self.place == start || self.delivered[self.place] != part.first {
            if let end = Self.endOfMark(in: self.delivered, at: self.place) {
                self.place = end
            } else if let end = Self.endOfWhiteSpace(in: self.delivered, at: self.place) {
                self.place = end
            } else {
                break
            }
        }
        if self.place > start, self.likeness == .same { self.likeness = .rewritten }
        return self.place > start
    }

    /// Skips white space of the delivered output, or else of the part, up to where the two continue alike; returns false
    /// when there is none at the beginning of the part.
    private mutating func passOverBeginning(
        of part: ArraySlice<UInt8>, from next: inout Int, upTo textStart: Int
    ) -> Bool {
        let start = self.place
        while self.place < self.delivered.endIndex, self.place == start || self.delivered[self.place] != part[next],
            let end = Self.endOfWhiteSpace(in: self.delivered, at: self.place)
        {
            self.place = end
        }
        if self.place == start {
            guard next < textStart, textStart < part.endIndex else { return false }
            next = textStart
        }
        if self.likeness == .same { self.likeness = .rewritten }
        return true
    }

    /// Returns the end of the white space at the beginning of a text.
    private static func endOfAllWhiteSpace(in text: ArraySlice<UInt8>) -> Int {
        var place = text.startIndex
        while place < text.endIndex, let end = Self.endOfWhiteSpace(in: text, at: place) { place = end }
        return place
    }

    /// Returns the end of the white-space character that begins at an index; nil when there is none.
    private static func endOfWhiteSpace(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        let byte = text[start]
        guard byte >= 0x80 else {
            // Python trims the separators U+001C to U+001F.
            return byte == 0x20 || (0x09...0x0D).contains(byte) || (0x1C...0x1F).contains(byte) ? start + 1 : nil
        }
        let count = byte < 0xE0 ? 2 : 3
        guard byte >= 0xC2, byte < 0xF0, text.endIndex - start >= count else { return nil }
        // There is no white space beyond the Basic Multilingual Plane.
        let rest = text[(start + 1)..<(start + count)]
        let value = rest.reduce(UInt32(byte & (count == 2 ? 0x1F : 0x0F))) { $0 << 6 | UInt32($1 & 0x3F) }
        guard let scalar = Unicode.Scalar(value) else { return nil }
        // JavaScript trims U+FEFF.
        return scalar.properties.isWhitespace || value == 0xFEFF ? start + count : nil
    }

    /// Returns the number of bytes from the first one on that are equal.
    private static func commonCount(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Int {
        unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                // Both have the same number of bytes.
                var count = 0
                while count + 8 <= left.count,
                    unsafe left.loadUnaligned(fromByteOffset: count, as: UInt64.self)
                        == right.loadUnaligned(fromByteOffset: count, as: UInt64.self)
                {
                    count += 8
                }
                while count < left.count, unsafe left[count] == right[count] { count += 1 }
                return count
            }
        }
    }

    /// Returns the end of the citation mark that begins at an index; nil when there is none.
    private static func endOfMark(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        let rest = text[start...].prefix(Self.maximumMarkByteCount)
        if rest.starts(with: "\u{E200}".utf8) { return Self.end(of: "\u{E201}", in: rest) }
        guard rest.starts(with: "【".utf8), let end = Self.end(of: "】", in: rest),
            Self.end(of: "†", in: text[start..<end]) != nil
        else { return nil }
        return end
    }

    /// Returns the end of the bracketed number that begins at an index and may replace a mark; nil when there is none.
    private static func endOfReference(in text: ArraySlice<UInt8>, at start: Int) -> Int? {
        guard text[start] == UInt8(ascii: "[") else { return nil }
        let digits = text[(start + 1)...].prefix(4).prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty, digits.endIndex < text.endIndex, text[digits.endIndex] == UInt8(ascii: "]") else {
            return nil
        }
        return digits.endIndex + 1
    }

    /// Returns the end of the first occurrence of a character of three bytes.
    private static func end(of character: Character, in text: ArraySlice<UInt8>) -> Int? {
        let bytes = Array(character.utf8)
        var index = text.startIndex
        while index + bytes.count <= text.endIndex {
            if text[index] == bytes[0], text[index..<index + bytes.count].elementsEqual(bytes) {
                return index + bytes.count
            }
            index += 1
        }
        return nil
    }
}
