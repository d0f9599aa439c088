// The server's own words about an error as one line for a person. Pure.
import ResponseEvents

/// Makes a line of what a server said.
enum ServerMessage {
    /// The longest line, in Unicode scalars.
    static let lengthLimit = 500

    /// The line for the body of an answer; nil when it says nothing.
    ///
    /// Of JSON it is the message in it, of an HTML page its title, and of anything else the text.
    static func line(ofBody body: String) -> String? {
        if WebPage(body) != nil { return Self.line(WebPage.titleWords(of: body)) }
        return Self.line(ServerErrorFacts.words(inJSON: body.utf8) ?? body)
    }

    /// The words on one line, without control characters and without those that are invisible.
    ///
    /// What is longer than 500 Unicode scalars is cut, and ends with their number.
    static func line(_ words: String?) -> String? {
        guard let words else { return nil }
        var line = String.UnicodeScalarView()
        var length = 0
        var isBehindBlank = false
        for scalar in words.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .spaceSeparator, .lineSeparator, .paragraphSeparator:
                // A control character that separates is a blank; any other is nothing.
                isBehindBlank = isBehindBlank || scalar.properties.isWhitespace
            case .format, .surrogate, .privateUse, .unassigned: continue
            default:
                if isBehindBlank, length > 0 {
                    if length < Self.lengthLimit { line.append(" ") }
                    length += 1
                }
                isBehindBlank = false
                if length < Self.lengthLimit { line.append(scalar) }
                length += 1
            }
        }
        guard length > 0 else { return nil }
        return length > Self.lengthLimit ? String(line) + "… (\(length) characters)" : String(line)
    }
}

extension WebPage {
    /// What a page is called, for a person.
    static func titleWords(of page: String) -> String {
        guard let title = Self.title(of: page) else { return "an HTML page without a title" }
        return "an HTML page with the title \"\(title)\""
    }

    /// The text of the first element `title`, with the entities resolved that a title commonly has.
    private static func title(of page: String) -> String? {
        let bytes = Array(page.utf8.prefix(16 << 10))
        guard let name = Self.range(of: "<title", in: bytes, from: 0),
            let start = bytes[name.upperBound...].firstIndex(of: UInt8(ascii: ">")),
            let end = Self.range(of: "</title", in: bytes, from: start + 1)
        else { return nil }
        var title = String(decoding: bytes[(start + 1)..<end.lowerBound], as: UTF8.self)
        // The ampersand comes last: what it makes is no entity.
        for (entity, text) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            title = title.split(separator: entity, omittingEmptySubsequences: false).joined(separator: text)
        }
        return ServerMessage.line(title)
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
