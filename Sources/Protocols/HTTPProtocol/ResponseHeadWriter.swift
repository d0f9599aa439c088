// Heads of responses, as a server writes them (RFC 9112 sections 4 and 5).
// Values without an owner.

/// Writes the head of a response, and refuses input that could end it early or begin a second response.
package enum ResponseHeadWriter {
    /// A part of a response that must not be sent.
    ///
    /// Field values are not in it: they may be secrets.
    package enum Failure: Error, Equatable, Sendable {
        /// A status code outside 200 to 599: an interim response is not an answer (RFC 9110 section 15).
        case invalidStatusCode(Int)
        /// A field name that is no token (RFC 9110 section 5.1).
        case invalidFieldName(String)
        /// A field value with a control character other than HTAB (RFC 9110 section 5.5).
        case invalidFieldValue(name: String)
        /// A field that frames the message or controls the connection, which the server writes itself.
        case reservedField(String)
    }

    private static let reservedNames: Set = [
        "connection", "content-length", "date", "keep-alive", "transfer-encoding", "upgrade",
    ]

    /// Throws when a response with this status code and these fields must not be sent.
    package static func check(statusCode: Int, fields: [(name: String, value: String)]) throws(Failure) {
        guard 200...599 ~= statusCode else { throw .invalidStatusCode(statusCode) }
        try Self.check(fields)
    }

    /// Throws when one of the fields must not be sent.
    package static func check(_ fields: [(name: String, value: String)]) throws(Failure) {
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenByte) else {
                throw .invalidFieldName(field.name)
            }
            guard !field.value.utf8.contains(where: \.isForbiddenInValue) else {
                throw .invalidFieldValue(name: field.name)
            }
            guard !Self.reservedNames.contains(field.name.lowercased()) else { throw .reservedField(field.name) }
        }
    }

    /// Returns the head: the status line, the fields in their order, and the empty line.
    ///
    /// The fields have been checked, or are the server's own.
    package static func bytes(statusCode: Int, fields: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
        bytes += "HTTP/1.1 \(statusCode) \(Self.reasonPhrase(of: statusCode))\r\n".utf8
        for field in fields {
            bytes += field.name.utf8
            bytes += ": ".utf8
            bytes += field.value.utf8
            bytes += "\r\n".utf8
        }
        bytes += "\r\n".utf8
        return bytes
    }

    /// Returns the reason phrase of a status code (RFC 9110 section 15); empty for one without a name here.
    package static func reasonPhrase(of statusCode: Int) -> String { Self.reasonPhrases[statusCode] ?? "" }

    private static let reasonPhrases = [
        100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
        206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 417: "Expectation Failed", 421: "Misdirected Request",
        422: "Unprocessable Content", 426: "Upgrade Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}
