// Reading an HTTP/1.1 request and writing the head of an answer.
//
// Pure values apart from reading the stream that the connection thread owns.

/// One request as it arrived.
struct HTTPRequest: Sendable {
    /// A request that cannot be read on; it is answered with the status and the connection is closed.
    struct Malformed: Error {
        var status: Int
    }

    /// The limits of a request.
    struct Limits: Sendable {
        /// The largest header section, and the longest line of a chunk, in bytes.
        var headerSection = 1024 * 1024
        /// The largest content in bytes.
        var content = 256 * 1024 * 1024
    }

    private var limits = Limits()
    private(set) var method = ""
    private(set) var target = ""
    private(set) var minorVersion = 1
    private(set) var fields: [ChappieTestServer.Field] = []
    private(set) var content: [UInt8] = []

    /// The target without its query.
    var path: String { String(self.target.prefix { $0 != "?" }) }

    /// The target's query, without the question mark.
    var query: String { String(self.target.drop { $0 != "?" }.dropFirst()) }

    /// Returns the value of a parameter of the query; nil when it is missing.
    func parameter(_ name: String) -> String? {
        self.query.split(separator: "&").first { $0.prefix { $0 != "=" } == name }
            .map { String($0.drop { $0 != "=" }.dropFirst()) }
    }

    /// Returns the value of a field, several of the same name joined by commas (RFC 9110 section 5.3).
    func value(of name: String) -> String? {
        let values = self.fields.filter { $0.name.lowercased() == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Returns the lower-case elements of a list field, parameters included.
    func list(of name: String) -> [String] {
        (self.value(of: name) ?? "").split(separator: ",").map { $0.trimmed.lowercased() }
    }

    /// Indicates whether the client asks for a WebSocket.
    var asksForWebSocket: Bool {
        self.list(of: "upgrade").contains("websocket") && self.list(of: "connection").contains("upgrade")
    }

    /// Indicates whether the connection may carry another request.
    var keepsAlive: Bool {
        let options = self.list(of: "connection")
        return self.minorVersion >= 1 ? !options.contains("close") : options.contains("keep-alive")
    }

    /// Returns whether the client accepts a content coding.
    func accepts(coding: String) -> Bool {
        self.list(of: "accept-encoding").contains { element in
            let parts = element.split(separator: ";").map(\.trimmed)
            return parts.first == coding && !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00"].contains($0) }
        }
    }

    // MARK: Reading

    /// Reads the next request, waiting for it.
    ///
    /// `Expect: 100-continue` is answered before the body is read (RFC 9110 section 10.1.1).
    static func read(from stream: ByteStream, limits: Limits = Limits()) throws -> HTTPRequest {
        var request = HTTPRequest()
        request.limits = limits
        var remaining = limits.headerSection
        var line = try Self.readLine(from: stream, remaining: &remaining)
        while line.isEmpty { line = try Self.readLine(from: stream, remaining: &remaining) }
        let parts = line.split(separator: " ")
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1."), let minor = Int(parts[2].dropFirst(7)) else {
            throw Malformed(status: 400)
        }
        request.method = String(parts[0])
        request.target = String(parts[1])
        request.minorVersion = minor
        try request.readFields(from: stream, remaining: &remaining)
        try request.readContent(from: stream)
        return request
    }

    private mutating func readFields(from stream: ByteStream, remaining: inout Int) throws {
        while true {
            let line = try Self.readLine(from: stream, remaining: &remaining)
            if line.isEmpty { return }
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { throw Malformed(status: 400) }
            let value = line[line.index(after: colon)...].trimmed
            self.fields.append(.init(name: String(line[..<colon]), value: value))
        }
    }

    private mutating func readContent(from stream: ByteStream) throws {
        let codings = self.list(of: "transfer-encoding")
        let lengthText = self.value(of: "content-length")
        guard !codings.isEmpty || lengthText != nil else { return }
        if self.list(of: "expect").contains("100-continue") {
            try stream.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...])
        }
        if codings == ["chunked"] { return try self.readChunks(from: stream) }
        guard codings.isEmpty, let lengthText, let length = Int(lengthText), length >= 0 else {
            throw Malformed(status: 400)
        }
        guard length <= self.limits.content else { throw Malformed(status: 413) }
        try stream.read(length, into: &self.content)
    }

    private mutating func readChunks(from stream: ByteStream) throws {
        while true {
            var remaining = self.limits.headerSection
            let line = try Self.readLine(from: stream, remaining: &remaining)
            let digits = line.prefix { $0 != ";" }.trimmed
            guard let size = Int(digits, radix: 16), size >= 0 else { throw Malformed(status: 400) }
            guard size <= self.limits.content - self.content.count else { throw Malformed(status: 413) }
            if size == 0 { break }
            try stream.read(size, into: &self.content)
            _ = try Self.readLine(from: stream, remaining: &remaining)
        }
        var remaining = self.limits.headerSection
        while try !Self.readLine(from: stream, remaining: &remaining).isEmpty {}
    }

    private static func readLine(from stream: ByteStream, remaining: inout Int) throws -> String {
        var bytes: [UInt8] = []
        while true {
            let byte = try stream.readByte()
            remaining -= 1
            if remaining < 0 { throw Malformed(status: 431) }
            if byte == UInt8(ascii: "\n") { break }
            bytes.append(byte)
        }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The head of an answer.
struct HTTPResponseHead {
    /// The status code.
    var status: Int
    /// The fields, in order.
    var fields: [ChappieTestServer.Field]

    /// The head as bytes, the empty line included.
    var bytes: [UInt8] {
        var text = "HTTP/1.1 \(self.status) \(Self.reason(self.status))\r\n"
        for field in self.fields { text += "\(field.name): \(field.value)\r\n" }
        text += "\r\n"
        return Array(text.utf8)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 302: "Found"
        case 303: "See Other"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at either end.
    var trimmed: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = self.drop(while: isBlank)
        var end = start.endIndex
        while end > start.startIndex, isBlank(start[start.index(before: end)]) { end = start.index(before: end) }
        return String(start[..<end])
    }
}
