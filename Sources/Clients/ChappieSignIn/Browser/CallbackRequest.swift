// A request to the callback's listener, read from bytes. Pure.

/// The parts of a request's head (RFC 9112 section 3) that the callback needs.
struct CallbackRequest: Sendable, Equatable {
    /// The result of reading some bytes.
    enum Reading: Sendable, Equatable {
        /// The head is not complete yet.
        case incomplete
        /// A whole head.
        case complete(CallbackRequest)
        /// A malformed head; the status code to refuse it with.
        case malformed(statusCode: Int)
    }

    /// The method.
    var method: String
    /// The path, as it was written.
    var path: String
    /// The parameters of the query, in order; nil when they are malformed.
    var parameters: [Parameter]?
    /// The relevant fields, by lower-case name.
    var fields: [String: [String]]

    /// One parameter of a query.
    struct Parameter: Sendable, Equatable {
        /// The name.
        var name: String
        /// The value.
        var value: String
    }

    /// Returns the only value of a parameter; nil when there is none, or more than one (RFC 6749 section 3.1).
    func parameter(_ name: String) -> String? {
        let values = (self.parameters ?? []).filter { $0.name == name }
        return values.count == 1 ? values.first?.value : nil
    }

    // MARK: Reading

    /// Reads the bytes so far, `limit` at most.
    static func read(_ bytes: [UInt8], limit: Int) -> Reading {
        guard let end = Self.end(of: bytes), end <= limit else {
            return bytes.count < limit ? .incomplete : .malformed(statusCode: 431)
        }
        guard let text = String(validating: bytes[..<end], as: UTF8.self), let request = Self(head: text) else {
            return .malformed(statusCode: 400)
        }
        return .complete(request)
    }

    /// Returns the end of the empty line that ends the head.
    private static func end(of bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= mark.count else { return nil }
        return (mark.count...bytes.count).first { bytes[($0 - mark.count)..<$0].elementsEqual(mark) }
    }

    private init?(head: String) {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
        let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, !words[0].isEmpty, words[1].first == "/", words[2].hasPrefix("HTTP/1.") else {
            return nil
        }
        var fields: [String: [String]] = [:]
        for line in lines.dropFirst() {
            let name = line.prefix { $0 != ":" }
            // A name is a token, and no space precedes the colon (RFC 9112 section 5.1).
            guard name.count < line.count, !name.isEmpty, !name.contains(where: { $0 == " " || $0 == "\t" }) else {
                return nil
            }
            let value = line.dropFirst(name.count + 1).drop { $0 == " " || $0 == "\t" }
            fields[name.lowercased(), default: []].append(Self.withoutBlanksAtEnd(value))
        }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = String(words[0])
        self.path = String(target[0])
        self.parameters = Self.parameters(target.count == 2 ? target[1] : "")
        self.fields = fields
    }

    private static func withoutBlanksAtEnd(_ text: Substring) -> String {
        var text = text
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }

    /// Decodes `application/x-www-form-urlencoded` (RFC 6749 appendix B).
    private static func parameters(_ query: Substring) -> [Parameter]? {
        var parameters: [Parameter] = []
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count == 2 ? parts[1] : "") else {
                return nil
            }
            parameters.append(Parameter(name: name, value: value))
        }
        return parameters
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
