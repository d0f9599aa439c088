// The text that a stream has shown on a terminal since its current answer began. Pure.

/// The number of characters that a terminal shows.
struct TerminalSize: Equatable, Sendable {
    /// The number of characters in a row.
    var columnCount: Int
    /// The number of rows.
    var rowCount: Int
}

/// Text that a terminal shows from the beginning of a line on, of which the answer's part may become void.
struct ShownAnswer {
    /// More than this is larger than a screen.
    private static let byteCountLimit = 64 * 1_024

    private var pieces: [(text: String, isAnswer: Bool)] = []
    private var byteCount = 0

    /// Adds text behind all other text: that of standard error, and then the answer's.
    mutating func append(_ text: PrintedText) {
        for (part, isAnswer) in [(text.errorOutput, false), (text.output, true)] where !part.isEmpty {
            self.byteCount += part.utf8.count
            guard self.byteCount <= Self.byteCountLimit else { continue }
            if let last = self.pieces.indices.last, self.pieces[last].isAnswer == isAnswer {
                self.pieces[last].text += part
            } else {
                self.pieces.append((part, isAnswer))
            }
        }
    }

    /// Forgets all text; the next one begins a line.
    mutating func removeAll() {
        self.pieces = []
        self.byteCount = 0
    }

    /// Returns what replaces the text on a terminal by the same text whose answer is struck out.
    ///
    /// Nil where it is not known which rows have it: it has left the screen, it has characters that terminals disagree
    /// about, or something else than the answer with this text was shown.
    func struckOut(_ answer: String, on size: TerminalSize, style: TerminalStyle) -> String? {
        guard style.isColored, self.byteCount <= Self.byteCountLimit,
            self.pieces.lazy.filter(\.isAnswer).flatMap(\.text.utf8).elementsEqual(answer.utf8),
            let row = self.lastRow(on: size), row < size.rowCount
        else { return nil }
        // ECMA-48: cursor up, erase to the end of the display.
        let up = row > 0 ? "\u{1B}[\(row)A" : ""
        return up + "\r\u{1B}[J" + self.pieces.map { $0.isAnswer ? style.struckOut($0.text) : $0.text }.joined()
    }

    /// Returns the row of the cursor behind the text, counted from its first one; nil when that is not known.
    private func lastRow(on size: TerminalSize) -> Int? {
        var row = 0
        var column = 0
        var isInMark = false
        for character in self.pieces.lazy.flatMap(\.text) {
            switch character {
            case "\u{1B}": isInMark = true
            // The end of "select graphic rendition", the only sequence in printed text.
            case "m" where isInMark: isInMark = false
            case _ where isInMark: break
            case "\n": (row, column) = (row + 1, 0)
            case "\t": column = min((column / 8 + 1) * 8, size.columnCount - 1)
            default:
                guard let width = character.columnCount else { return nil }
                // A character that does not fit begins the next row; behind the last column the cursor waits there.
                if column + width > size.columnCount { (row, column) = (row + 1, 0) }
                column += width
            }
        }
        return row
    }
}

extension Character {
    /// The number of columns that it takes on a terminal; nil where terminals disagree.
    fileprivate var columnCount: Int? {
        if let value = self.asciiValue { return value >= 0x20 && value != 0x7F ? 1 : nil }
        let scalars = self.unicodeScalars
        guard let first = scalars.first, scalars.dropFirst().allSatisfy(\.isNonspacing) else { return nil }
        return first.columnCount
    }
}

extension Unicode.Scalar {
    fileprivate var isNonspacing: Bool { self.properties.generalCategory == .nonspacingMark && !self.isSelector }

    /// Indicates whether it selects between the forms of a character, which may have different widths.
    private var isSelector: Bool { 0xFE00...0xFE0F ~= self.value }

    /// The columns of an alphabet's letter, or of a wide one (Unicode Standard Annex 11).
    fileprivate var columnCount: Int? {
        let wide: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x20000...0x3FFFD,
        ]
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .lineSeparator, .paragraphSeparator, .control, .format,
            .surrogate, .privateUse, .unassigned:
            return nil
        default:
            if self.properties.isEmojiPresentation || wide.contains(where: { $0 ~= self.value }) { return 2 }
            return self.value < 0x2E80 ? 1 : nil
        }
    }
}
