/// The rules for the program's texts that become a part of a request.
///
/// Each function returns the fault of a text, as `ChappieArgumentError.reason` has it; nil when the text follows the
/// rule. No fault has a part of the text.
package enum TextRule {
    /// Returns the fault of a text of one line: one that is empty, or has control characters.
    package static func line(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        return text.utf8.contains(where: Self.isControl) ? "has a line break or another control character" : nil
    }

    /// Returns the fault of a name or an identifier of the API: one that is empty, or has spaces or control characters.
    package static func word(_ text: String) -> String? {
        if let fault = Self.line(text) { return fault }
        return text.utf8.contains(UInt8(ascii: " ")) ? "has a space" : nil
    }

    /// Returns the fault of a name of a tool or a schema: 1 to 64 of `A–Z a–z 0–9 _ -`.
    package static func name(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        guard text.utf8.allSatisfy({ Self.isNameByte($0) }) else {
            return "has characters other than A–Z a–z 0–9 _ -"
        }
        return text.utf8.count > 64 ? "is longer than 64 characters" : nil
    }

    /// Returns the fault of a lane's name: 1 to 256 of `A–Z a–z 0–9 _ . -`.
    package static func lane(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        guard text.utf8.allSatisfy({ Self.isNameByte($0) || $0 == UInt8(ascii: ".") }) else {
            return "has characters other than A–Z a–z 0–9 _ . -"
        }
        return text.utf8.count > 256 ? "is longer than 256 characters" : nil
    }

    /// Returns the fault of a URL with one of these schemes, in lower case; with any scheme for nil.
    ///
    /// A `data` URL needs a comma before its data (RFC 2397), and one of HTTP a host.
    package static func url(_ text: String, schemes: [String]?) -> String? {
        if text.isEmpty { return "is empty" }
        let bytes = text.utf8
        let scheme = String(bytes.prefix { $0 != UInt8(ascii: ":") })?.lowercased() ?? ""
        // The lines of a data URL may be folded.
        let checked = scheme == "data" ? bytes.prefix { $0 != UInt8(ascii: ",") } : bytes[...]
        if checked.contains(where: { Self.isControl($0) || $0 == UInt8(ascii: " ") }) {
            return "has a space, a line break or another control character"
        }
        let rest = bytes.dropFirst(scheme.utf8.count)
        guard !rest.isEmpty, !scheme.isEmpty, schemes?.contains(scheme) != false else {
            return schemes.map { "is not a URL with the scheme \($0.joined(separator: " or "))" } ?? "is not a URL"
        }
        switch scheme {
        case "data": return rest.contains(UInt8(ascii: ",")) ? nil : "is a data URL without a comma"
        case "http", "https":
            let host = rest.dropFirst(3).prefix { !"/?#:".utf8.contains($0) }
            return rest.starts(with: "://".utf8) && !host.isEmpty ? nil : "is a URL without a host"
        default: return nil
        }
    }

    /// Returns the fault of a media type (RFC 6838 section 4.2): `image/png`.
    package static func mediaType(_ text: String) -> String? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ Self.isRestrictedName($0) }) else {
            return "is not a media type such as image/png"
        }
        return nil
    }

    /// Returns the fault of a token (RFC 9110 section 5.6.2).
    package static func token(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        return Self.isToken(text) ? nil : "has characters that are not allowed in a token (RFC 9110 section 5.6.2)"
    }

    /// Returns the fault of the name of a field: a token (RFC 9110 section 5.6.2) that the transport does not write
    /// itself.
    package static func fieldName(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        guard Self.isToken(text) else {
            return "has characters that are not allowed in a field's name (RFC 9110 section 5.6.2)"
        }
        let name = text.lowercased()
        let isReserved =
            ["host", "connection", "upgrade", "content-length", "transfer-encoding"].contains(name)
            || name.hasPrefix("sec-websocket-")
        return isReserved ? "is the name of a field that the transport writes itself" : nil
    }

    /// Returns the fault of the value of a field (RFC 9110 section 5.5).
    package static func fieldValue(_ text: String) -> String? {
        text.utf8.contains { Self.isControl($0) && $0 != 0x09 } ? "has a line break or another control character" : nil
    }

    /// Returns the fault of the first field that cannot be sent, with its place in the property of this name.
    package static func fields(_ fields: [(name: String, value: String)], named property: String) -> String? {
        for (index, field) in fields.enumerated() {
            if let fault = Self.fieldName(field.name) { return "the name of \(property)[\(index)] \(fault)" }
            if let fault = Self.fieldValue(field.value) { return "the value of \(property)[\(index)] \(fault)" }
        }
        return nil
    }

    /// Returns the fault of a path, with a query or without, that continues the path of an address (RFC 3986 section
    /// 3.3).
    package static func target(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        guard text.utf8.first == UInt8(ascii: "/") else { return "does not begin with a slash" }
        let isEncoded = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
        return isEncoded ? nil : "has characters that have to be percent-encoded"
    }

    /// Returns the fault of the path of a file.
    package static func path(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        // The system's functions would take the text before it for the whole path.
        return text.utf8.contains(0) ? "has the character NUL" : nil
    }

    private static func isToken(_ text: String) -> Bool {
        let separators = "\"(),/:;<=>?@[\\]{}".utf8
        return text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !separators.contains($0) }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
        default: false
        }
    }

    private static func isRestrictedName(_ text: Substring) -> Bool {
        (1...127).contains(text.utf8.count)
            && text.utf8.allSatisfy { Self.isNameByte($0) || "!#$&^.+".utf8.contains($0) }
    }
}
