// External text on a terminal, without characters that could disguise it. Pure.

extension String {
    /// The text without control characters other than tab and line feed.
    ///
    /// A terminal interprets escape sequences, which must not reach it from a server.
    var withoutControlCharacters: String {
        guard self.unicodeScalars.contains(where: Self.isControl) else { return self }
        return String(String.UnicodeScalarView(self.unicodeScalars.filter { !Self.isControl($0) }))
    }

    /// The text with `\u{…}` in place of control characters other than tab and line feed, and of those that change the
    /// direction of writing.
    ///
    /// A terminal interprets the former, and shows what follows the latter in another order than it was sent.
    var withEscapedControlCharacters: String {
        let isEscaped: (Unicode.Scalar) -> Bool = { Self.isControl($0) || $0.changesDirection }
        guard self.unicodeScalars.contains(where: isEscaped) else { return self }
        return self.unicodeScalars.reduce(into: "") { text, scalar in
            if isEscaped(scalar) { text += scalar.escape } else { text.unicodeScalars.append(scalar) }
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0x00...0x1F, 0x7F...0x9F: true
        default: false
        }
    }

    /// Returns the text on one line, without characters that a terminal interprets, that are invisible, or that change
    /// the direction of writing.
    ///
    /// Names and plans are the server's text, which must not look like a line of this program. Text over the limit, in
    /// characters, is cut.
    func onOneLine(limit: Int = 2_000) -> String {
        let scalars = self.unicodeScalars
        var line = String.UnicodeScalarView()
        for index in scalars.indices {
            if scalars[index].isBlank {
                line.append(" ")
            } else if scalars.isVisible(at: index) {
                line.append(scalars[index])
            }
        }
        let text = String(line)
        return text.count > limit ? text.prefix(max(0, limit - 1)) + "…" : text
    }

    /// Returns the text on one line of `columns` columns at most, with `\u{…}` in place of every scalar that is not
    /// plainly visible.
    ///
    /// The middle of a longer text is replaced by the number of all its Unicode scalars.
    func escaped(columns: Int) -> String {
        let scalars = self.unicodeScalars
        let whole = scalars.escaped(from: scalars.startIndex, columns: columns)
        guard !whole.isComplete else { return whole.text }
        let note = "…(\(scalars.count) characters)…"
        let room = max(0, columns - note.columnCount)
        let beginning = scalars.escaped(from: scalars.startIndex, columns: room - room / 2)
        let end = scalars.escaped(from: scalars.start(ofEndIn: room / 2), columns: .max)
        return beginning.text + note + end.text
    }
}

extension String.UnicodeScalarView {
    /// Returns the text from an index on, escaped, as far as it fits into the columns.
    fileprivate func escaped(from start: Index, columns: Int) -> (text: String, isComplete: Bool) {
        var text = ""
        var room = columns
        var index = start
        while index < self.endIndex {
            let piece = self.piece(at: index)
            guard piece.columnCount <= room else { return (text, false) }
            text += piece
            room -= piece.columnCount
            self.formIndex(after: &index)
        }
        return (text, true)
    }

    /// Returns the index of the longest end of the text that fits into the columns.
    fileprivate func start(ofEndIn columns: Int) -> Index {
        var room = columns
        var index = self.endIndex
        while index > self.startIndex {
            let before = self.index(before: index)
            let columnCount = self.piece(at: before).columnCount
            guard columnCount <= room else { break }
            room -= columnCount
            index = before
        }
        return index
    }

    /// Returns a scalar as it is, or its escape.
    private func piece(at index: Index) -> String {
        let scalar = self[index]
        // The ellipsis marks omitted text, so it is escaped itself.
        guard scalar == " " || self.isVisible(at: index) && scalar != "…" else {
            return scalar.escape
        }
        return String(scalar)
    }

    /// Returns whether a scalar is visible in its place, and stays within its line.
    ///
    /// So is a mark on a letter, up to the second one: no language needs more, and many marks reach into the lines
    /// above and below.
    fileprivate func isVisible(at index: Index) -> Bool {
        switch self[index].properties.generalCategory {
        case .nonspacingMark, .spacingMark: !self[index].isHidden && self.followsLetter(index)
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator, .enclosingMark:
            false
        default: !self[index].isHidden
        }
    }

    private func followsLetter(_ index: Index) -> Bool {
        var index = index
        for _ in 0..<2 where index > self.startIndex {
            self.formIndex(before: &index)
            switch self[index].properties.generalCategory {
            case .nonspacingMark, .spacingMark: continue
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: return true
            default: return false
            }
        }
        return false
    }
}

extension Unicode.Scalar {
    /// Indicates whether it changes the direction of writing, and is invisible itself (UAX 9 section 2).
    var changesDirection: Bool {
        switch self.value {
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Its number as an escape.
    fileprivate var escape: String { "\\u{" + String(self.value, radix: 16, uppercase: true) + "}" }

    /// Indicates whether it only separates the text before it from the text after it.
    fileprivate var isBlank: Bool {
        switch self.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: self == "\t" || self == "\n"
        }
    }

    /// Indicates whether it is not drawn, though its category is that of a letter, a mark or a symbol.
    fileprivate var isHidden: Bool { self.properties.isDefaultIgnorableCodePoint || self == "\u{2800}" }

    /// The largest number of columns that it takes.
    fileprivate var columnCount: Int { self.isASCII ? 1 : 2 }
}

extension String {
    /// The largest number of columns that its scalars take.
    fileprivate var columnCount: Int { self.unicodeScalars.reduce(0) { $0 + $1.columnCount } }
}
