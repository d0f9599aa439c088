// The content type of an answer (WHATWG Fetch, "extract a MIME type"; WHATWG MIME Sniffing section 4.4). Pure.
extension ResponseHead {
    /// The content type without its parameters, in lower case; nil when it is absent or malformed.
    ///
    /// Of several types in one or more field lines the last one counts: a proxy may add a field that the server has
    /// sent already.
    package var mediaType: String? {
        let lines = self.fields.filter { $0.name.lowercased() == "content-type" }.map(\.value)
        let types = lines.flatMap { Self.elements(of: $0) }.map { Self.essence(of: $0) }
        return types.last { $0.utf8.contains(UInt8(ascii: "/")) && $0 != "*/*" }
    }

    /// Returns the elements of a list with quoted strings (RFC 9110 sections 5.6.1 and 5.6.4).
    private static func elements(of value: String) -> [Substring] {
        var elements: [Substring] = []
        var start = value.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in value.utf8.indices {
            let byte = value.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = isQuoted
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ","), !isQuoted {
                elements.append(value[start..<index])
                start = value.utf8.index(after: index)
            }
        }
        return elements + [value[start...]]
    }

    /// Returns a media type without its parameters and white space, in lower case.
    private static func essence(of type: Substring) -> String {
        let bytes = type.utf8.prefix { $0 != UInt8(ascii: ";") }
        let isSpace: (UInt8) -> Bool = { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        return String(decoding: bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
            .lowercased()
    }
}
