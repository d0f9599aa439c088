// The value of `Sec-WebSocket-Extensions` (RFC 6455 section 9.1).
// Values without an owner.

/// One element of the value.
package struct WebSocketExtension: Equatable, Sendable {
    /// A parameter; the value is nil when it has none.
    package struct Parameter: Equatable, Sendable {
        /// The name, as it was sent.
        package let name: String
        /// The value, without quotes.
        package let value: String?

        /// Makes a parameter.
        package init(name: String, value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    /// The name, as it was sent.
    package let name: String
    /// The parameters, in their order, repeated ones included.
    package let parameters: [Parameter]

    /// Makes an element.
    package init(name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }
}

/// Reads the list of extensions.
package struct ExtensionListParser {
    /// The error of a value that does not follow the grammar.
    package struct SyntaxError: Error, Equatable, Sendable {}

    private let bytes: [UInt8]
    private var index = 0

    private init(_ value: String) { self.bytes = Array(value.utf8) }

    /// Reads a whole value; several field lines are joined by commas before.
    ///
    /// An empty value has no elements.
    package static func parse(_ value: String) throws(SyntaxError) -> [WebSocketExtension] {
        var parser = Self(value)
        var extensions: [WebSocketExtension] = []
        while true {
            parser.skipWhitespace()
            // An empty element is legal in a received list (RFC 9110 section 5.6.1.2).
            if parser.take(",") { continue }
            guard !parser.isAtEnd else { return extensions }
            extensions.append(try parser.readExtension())
            guard parser.isAtEnd || parser.take(",") else { throw SyntaxError() }
        }
    }

    private var isAtEnd: Bool { self.index == self.bytes.count }

    private mutating func readExtension() throws(SyntaxError) -> WebSocketExtension {
        let name = try self.readToken()
        var parameters: [WebSocketExtension.Parameter] = []
        self.skipWhitespace()
        while self.take(";") {
            self.skipWhitespace()
            let parameterName = try self.readToken()
            self.skipWhitespace()
            var value: String?
            if self.take("=") {
                self.skipWhitespace()
                value = try self.readValue()
                self.skipWhitespace()
            }
            parameters.append(.init(name: parameterName, value: value))
        }
        return WebSocketExtension(name: name, parameters: parameters)
    }

    /// Reads a token, or a quoted string whose content is one (RFC 6455 section 9.1).
    private mutating func readValue() throws(SyntaxError) -> String {
        guard self.take("\"") else { return try self.readToken() }
        var content: [UInt8] = []
        while !self.isAtEnd, !self.take("\"") {
            _ = self.take("\\")
            guard !self.isAtEnd, FieldValue.isTokenByte(self.bytes[self.index]) else { throw SyntaxError() }
            content.append(self.bytes[self.index])
            self.index += 1
        }
        guard !content.isEmpty, self.bytes[self.index - 1] == UInt8(ascii: "\"") else { throw SyntaxError() }
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func readToken() throws(SyntaxError) -> String {
        let start = self.index
        while !self.isAtEnd, FieldValue.isTokenByte(self.bytes[self.index]) { self.index += 1 }
        guard self.index > start else { throw SyntaxError() }
        return String(decoding: self.bytes[start..<self.index], as: UTF8.self)
    }

    private mutating func skipWhitespace() {
        while !self.isAtEnd, FieldValue.isWhitespace(self.bytes[self.index]) { self.index += 1 }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard !self.isAtEnd, self.bytes[self.index] == UInt8(ascii: scalar) else { return false }
        self.index += 1
        return true
    }
}
