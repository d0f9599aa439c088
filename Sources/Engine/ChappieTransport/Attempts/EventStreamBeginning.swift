/// The beginning of a body with a general content type, by which an event stream is recognised.
///
/// Servers and proxies name a body `text/plain` or `application/octet-stream` when they know no better. A value without
/// an owner.
package struct EventStreamBeginning {
    /// The kind of a body, as far as its beginning shows.
    package enum Kind {
        /// More bytes are needed.
        case unknown
        /// The body begins with a field or a comment of an event stream.
        case eventStream
        /// The body is something else, such as HTML, JSON or a sentence.
        case other
    }

    /// The kind of the body.
    package let kind: Kind
    /// The bytes from the first one that counts.
    package let bytes: [UInt8]

    /// The first line of an event stream begins with one of these (WHATWG HTML section 9.2.5).
    private static let beginnings = ["data:", "event:", "id:", "retry:", ":"].map { Array($0.utf8) }

    /// Examines the bytes that have come; a byte order mark and empty lines may precede the first line.
    package init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        let line = text.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        let isUnknown = mark.starts(with: line) || Self.beginnings.contains { $0.starts(with: line) }
        self.bytes = Array(line)
        self.kind =
            Self.beginnings.contains { line.starts(with: $0) } ? .eventStream : isUnknown ? .unknown : .other
    }
}
