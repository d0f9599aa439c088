// The server's message about an error as one line for a person. The functions are pure.
import ResponseEvents
import TransportSurface

/// Converts a server's message to one line.
package enum ServerMessage {
    /// The longest line, in Unicode scalars.
    static let lengthLimit = 500

    /// Returns the line for the body of an answer, without control characters; nil when it is empty.
    ///
    /// For JSON it is the message in it, for an HTML page its title, and otherwise the text.
    package static func line(ofBody body: String) -> String? {
        Self.line(WebPage(body) == nil ? RefusalText(body).words : WebPage.titleWords(of: body))
    }

    /// Returns the words on one line, with a blank in place of control and invisible characters.
    ///
    /// Secrets are redacted before: no characters are removed whose removal could join the parts of a secret. A line of
    /// more than 500 Unicode scalars is cut, and ends with their number.
    static func line(_ words: String?) -> String? {
        guard let words else { return nil }
        var line = String.UnicodeScalarView()
        var length = 0
        var isBehindBlank = false
        // The number of marks that a letter may still have; two are enough for every language.
        var markLimit = 0
        for scalar in words.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: markLimit = 2
            case .nonspacingMark, .spacingMark: markLimit -= 1
            default: markLimit = 0
            }
            guard markLimit >= 0, scalar.isVisible else {
                isBehindBlank = true
                markLimit = 0
                continue
            }
            if isBehindBlank, length > 0 {
                if length < Self.lengthLimit { line.append(" ") }
                length += 1
            }
            isBehindBlank = false
            if length < Self.lengthLimit { line.append(scalar) }
            length += 1
        }
        guard length > 0 else { return nil }
        guard length > Self.lengthLimit else { return String(line) }
        let end = "… (\(length) characters)"
        return String(String.UnicodeScalarView(line.prefix(Self.lengthLimit - end.unicodeScalars.count))) + end
    }
}

extension WebPage {
    /// Returns the description of a page by its title.
    static func titleWords(of page: String) -> String {
        guard let title = Self.title(of: page) else { return "an HTML page without a title" }
        return "an HTML page with the title \"\(title)\""
    }

    /// Returns the text of the first element `title`, with its character references resolved as in `SecretRedaction`.
    private static func title(of page: String) -> String? {
        let bytes = Array(page.utf8.prefix(16 << 10))
        guard let name = Self.range(of: "<title", in: bytes, from: 0),
            let start = bytes[name.upperBound...].firstIndex(of: UInt8(ascii: ">")),
            let end = Self.range(of: "</title", in: bytes, from: start + 1)
        else { return nil }
        let references = HTMLReferences(in: Array(bytes[(start + 1)..<end.lowerBound]))
        return ServerMessage.line(String(decoding: references.bytes, as: UTF8.self))
    }

    private static func range(of word: String, in bytes: [UInt8], from start: Int) -> Range<Int>? {
        let word = Array(word.utf8)
        guard bytes.count - start >= word.count else { return nil }
        return (start...(bytes.count - word.count)).first { index in
            word.indices.allSatisfy { bytes[index + $0].lowercasedASCII == word[$0] }
        }.map { $0..<($0 + word.count) }
    }
}

extension UInt8 {
    fileprivate var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

extension Unicode.Scalar {
    /// Indicates whether the scalar is drawn.
    fileprivate var isVisible: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator, .enclosingMark:
            false
        default: !self.properties.isDefaultIgnorableCodePoint && self != "\u{2800}"
        }
    }
}
