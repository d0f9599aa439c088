// The parameters of a request to the authorization server: a form, JSON, or a query.
//
// Pure.

/// The parameters of a request.
struct SignInRequest: Sendable {
    /// The parameters, in order and decoded.
    let parameters: [ChappieTestServer.Field]
    /// Indicates whether a parameter occurs twice, which is not allowed (RFC 6749 section 3.1).
    let repeatsParameter: Bool
    /// The encoding of the parameters.
    let coding: ChappieTestServer.SignInRecord.Coding

    /// Reads the query of a GET, or the body of a POST by its media type; nil when it cannot be read.
    init?(_ request: HTTPRequest) {
        let type = (request.value(of: "content-type") ?? "").prefix { $0 != ";" }.trimmed.lowercased()
        let read: [ChappieTestServer.Field]?
        if request.method == "GET" {
            (self.coding, read) = (.query, Self.form(request.query))
        } else if type == "application/json" {
            (self.coding, read) = (.json, Self.object(request.content))
        } else if type == "application/x-www-form-urlencoded" {
            self.coding = .form
            read = String(validating: request.content, as: UTF8.self).flatMap { Self.form($0) }
        } else {
            return nil
        }
        guard let read else { return nil }
        self.parameters = read
        self.repeatsParameter = Set(read.map(\.name)).count != read.count
    }

    /// Returns the value of a parameter; nil when it is missing, or empty (RFC 6749 section 3.1).
    subscript(_ name: String) -> String? {
        let value = self.parameters.first { $0.name == name }?.value
        return value?.isEmpty == true ? nil : value
    }

    /// Reads `application/x-www-form-urlencoded`; nil when an escape is invalid.
    private static func form(_ text: String) -> [ChappieTestServer.Field]? {
        var fields: [ChappieTestServer.Field] = []
        for pair in text.split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            guard let name = self.decode(name), let value = self.decode(pair.drop { $0 != "=" }.dropFirst()) else {
                return nil
            }
            fields.append(.init(name: name, value: value))
        }
        return fields
    }

    private static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2)
                guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                    let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Reads a JSON object; texts and numbers are parameters.
    private static func object(_ bytes: [UInt8]) -> [ChappieTestServer.Field]? {
        guard case .object(let members)? = JSONValue(bytes) else { return nil }
        return members.compactMap { member in
            switch member.value {
            case .string(let text), .number(let text): .init(name: member.name, value: text)
            case .null, .bool, .array, .object: nil
            }
        }
    }

    /// Returns text for a query: all but the unreserved characters are escaped (RFC 3986 section 2.3).
    static func escaped(_ text: String) -> String {
        text.utf8.map { byte -> String in
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII, character.isLetter || character.isNumber || "-._~".contains(character) {
                return String(character)
            }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + String(repeating: "0", count: 2 - digits.count) + digits
        }.joined()
    }
}
