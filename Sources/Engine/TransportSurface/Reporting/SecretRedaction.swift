import PlatformC
package import StreamTransport

/// Removes secrets from a server's text: some servers repeat what they were sent.
///
/// A value of one turn or exchange. It knows the credentials that were used, and the fields that seem to be
/// credentials. The time for a text is linear in its length, with any number of near matches.
package struct SecretRedaction: Sendable {
    /// The text that replaces a secret.
    static let mark = "[redacted]"

    /// The minimum length of a secret: a shorter text could be any word.
    private static let minimumByteCount = 6

    private struct Secret {
        let bytes: [UInt8]
        /// A byte that every significant part of it contains: texts without it need no search.
        let telltale: UInt8
    }

    private var secrets: [Secret] = []

    /// Creates a redaction of these secrets.
    package init(_ secrets: [String]) {
        for secret in secrets { self.add(secret) }
    }

    /// Creates a redaction of the secrets among a program's own fields, and those of its proxies.
    package init(fields: [(name: String, value: String)], proxy: ChappieProxyPolicy) {
        self = self.adding(fields)
        for secret in proxy.secrets { self.add(secret) }
    }

    /// Returns the redaction of the secrets among fields as well.
    package func adding(_ fields: [(name: String, value: String)]) -> Self {
        var copy = self
        for secret in fields.flatMap({ FieldSecrets.secrets(of: $0) }) { copy.insert(secret) }
        return copy
    }

    /// Adds a value, and the last word of it: a scheme may precede the secret.
    package mutating func add(_ value: String) {
        for secret in FieldSecrets.withLastWord(value) { self.insert(secret) }
    }

    private mutating func insert(_ secret: String) {
        let bytes = Array(secret.utf8)
        let beginning = bytes.prefix(Self.minimumByteCount)
        guard beginning.count == Self.minimumByteCount, !self.secrets.contains(where: { $0.bytes == bytes }),
            let telltale = beginning.min(by: { Self.frequency(of: $0) < Self.frequency(of: $1) })
        else { return }
        self.secrets.append(Secret(bytes: bytes, telltale: telltale))
    }

    /// Returns the approximate frequency of a byte in JSON and in English.
    private static func frequency(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+")...UInt8(ascii: "/"): 0
        case UInt8(ascii: "j"), UInt8(ascii: "k"), UInt8(ascii: "q"), UInt8(ascii: "x"), UInt8(ascii: "z"): 1
        case UInt8(ascii: "0")...UInt8(ascii: "9"): 2
        default: 3
        }
    }

    // MARK: Text

    /// Returns the words without the secrets, and without the beginning of one at their end, where they may have been
    /// cut.
    ///
    /// A secret is recognized percent-encoded (RFC 3986 section 2.1) and in JSON's escapes too (RFC 8259 section 7), at
    /// any depth of JSON within JSON.
    package func words(_ text: String) -> String {
        guard !self.secrets.isEmpty else { return text }
        var text = text
        let replaced = text.withUTF8 { bytes in unsafe self.replaced(in: UnsafeRawBufferPointer(bytes)) }
        return replaced.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Redacts the body of an answer, which may be a page: a secret is recognized in character references too.
    package func body(_ text: String) -> String {
        let text = self.words(text)
        guard !self.secrets.isEmpty, WebPage(text) != nil else { return text }
        let bytes = Array(text.utf8)
        let references = HTMLReferences(in: bytes)
        let places = unsafe references.bytes.withUnsafeBytes { unsafe self.places(in: $0) }
        guard !places.isEmpty else { return text }
        let written = places.map { references.starts[$0.lowerBound]..<references.starts[$0.upperBound] }
        let replaced = unsafe bytes.withUnsafeBytes { unsafe Self.replaced(written, in: $0) }
        return String(decoding: replaced, as: UTF8.self)
    }

    /// Redacts bytes in the same way.
    package func bytes(_ bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe self.replaced(in: $0) } ?? bytes
    }

    /// Returns the bytes without the secrets; nil when there is none in them.
    private func replaced(in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        let places = unsafe self.places(in: bytes) + JSONEscapes.places(in: bytes) { unsafe self.places(in: $0) }
        return unsafe places.isEmpty ? nil : Self.replaced(places, in: bytes)
    }

    /// Returns the bytes with the mark in these places.
    private static func replaced(_ places: [Range<Int>], in bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var result: [UInt8] = []
        var end = 0
        for place in places.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            // The places of two secrets may overlap.
            if place.lowerBound >= end {
                unsafe result += bytes[end..<place.lowerBound]
                result += Self.mark.utf8
            }
            end = max(end, place.upperBound)
        }
        unsafe result += bytes[end...]
        return result
    }

    /// Returns the places of secrets, as they are and percent-encoded, and of the beginning of one at the end.
    private func places(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        unsafe self.plainPlaces(in: bytes) + PercentEscapes.places(in: bytes) { unsafe self.plainPlaces(in: $0) }
    }

    /// Returns the places of unescaped secrets, and of the beginning of one at the end.
    private func plainPlaces(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        guard let base = bytes.baseAddress else { return [] }
        var places: [Range<Int>] = []
        for secret in self.secrets where unsafe memchr(base, CInt(secret.telltale), bytes.count) != nil {
            unsafe Self.find(secret.bytes, in: bytes) { places.append($0) }
        }
        return places
    }

    /// Searches with the algorithm of Knuth, Morris and Pratt: no byte of the text is read again.
    private static func find(_ secret: [UInt8], in bytes: UnsafeRawBufferPointer, _ body: (Range<Int>) -> Void) {
        // For each prefix, the length of its longest proper prefix that is also its suffix.
        var borders = [0]
        for index in 1..<max(1, min(secret.count, bytes.count)) {
            borders.append(Self.extended(borders[index - 1], of: secret, borders, by: secret[index]))
        }
        var count = 0
        for index in bytes.indices {
            count = Self.extended(count, of: secret, borders, by: unsafe bytes[index])
            guard count == secret.count else { continue }
            body(index + 1 - count..<index + 1)
            count = borders[count - 1]
        }
        if count >= Self.minimumByteCount { body(bytes.count - count..<bytes.count) }
    }

    /// Returns the length of the secret's longest prefix that ends with a byte after a shorter one.
    private static func extended(_ count: Int, of secret: [UInt8], _ borders: [Int], by byte: UInt8) -> Int {
        var count = count
        while count > 0, secret[count] != byte { count = borders[count - 1] }
        return secret[count] == byte ? count + 1 : 0
    }

    // MARK: Redacted values

    /// Returns the head of an answer without the secrets.
    package func head(_ head: ResponseHead) -> ResponseHead {
        ResponseHead(statusCode: head.statusCode, fields: self.fields(head.fields), isCompressed: head.isCompressed)
    }

    /// Returns the fields without the secrets in their values.
    package func fields(_ fields: [HTTPField]) -> [HTTPField] {
        fields.map { HTTPField($0.name, self.words($0.value)) }
    }
}

extension ChappieTransportFailure {
    /// Returns the failure with other words in place of the server's.
    package func replacingWords(
        _ replace: (String) -> String, inBody replaceInBody: (String) -> String
    ) -> Self {
        var details = self.details
        details.closeReason = details.closeReason.map(replace)
        details.serverMessage = details.serverMessage.map(replaceInBody)
        details.requestID = details.requestID.map(replace)
        details.issuer = details.issuer.map(replace)
        return Self(
            code: self.code, phase: self.phase, transport: self.transport,
            progress: (attempts: self.attempts, replaySafety: self.replaySafety), details: details)
    }
}
