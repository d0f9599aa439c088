// The answers of the authorization server.
//
// Pure values.

/// An answer before it is written.
struct SignInAnswer: Equatable, Sendable {
    /// The content of an answer.
    enum Content: Equatable, Sendable {
        /// A JSON value.
        case json(JSONValue)
        /// Text that is sent with JSON's media type, unchecked.
        case text(String)
        /// A page.
        case page(String)
        /// A redirection: an address without a query, and the parameters of its query.
        case redirect(String, [ChappieTestServer.Field])
        /// No content.
        case empty
    }

    /// The status code.
    var status: Int
    /// The content.
    var content: Content
    /// The error's code; nil when there is none.
    var errorCode: String?

    /// Creates an answer.
    init(status: Int = 200, _ content: Content, errorCode: String? = nil) {
        self.status = status
        self.content = content
        self.errorCode = errorCode
    }

    /// Returns a refusal in the form of RFC 6749 section 5.2.
    static func refusal(status: Int = 400, _ code: String, _ description: String) -> Self {
        let body: JSONValue = .members(["error": .string(code), "error_description": .string(description)])
        return Self(status: status, .json(body), errorCode: code)
    }

    /// Returns a refusal with an error that is an object.
    static func nestedRefusal(status: Int, _ code: String, _ message: String) -> Self {
        let error: JSONValue = .members([
            "type": .string("invalid_request_error"), "code": .string(code), "message": .string(message),
        ])
        return Self(status: status, .json(.members(["error": error])), errorCode: code)
    }

    /// Returns the answer without a member, or without a parameter of the redirection.
    func removing(_ name: String) -> Self {
        var changed = self
        switch self.content {
        case .json(.object(let members)): changed.content = .json(.object(members.filter { $0.name != name }))
        case .redirect(let address, let fields): changed.content = .redirect(address, fields.filter { $0.name != name })
        case .json, .text, .page, .empty: break
        }
        return changed
    }

    /// The header fields, except the length.
    var fields: [ChappieTestServer.Field] {
        // Tokens must not be cached (RFC 6749 section 5.1).
        let shared = ChappieTestServer.Field(name: "cache-control", value: "no-store")
        switch self.content {
        case .json, .text: return [shared, .init(name: "content-type", value: "application/json")]
        case .page:
            let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            return [
                shared, .init(name: "content-type", value: "text/html; charset=utf-8"),
                .init(name: "content-security-policy", value: policy),
                .init(name: "referrer-policy", value: "no-referrer"),
            ]
        case .redirect(let address, let parameters):
            let query = parameters.map { "\($0.name)=\(SignInRequest.escaped($0.value))" }.joined(separator: "&")
            let location = address + (address.contains("?") ? "&" : "?") + query
            return [
                shared, .init(name: "location", value: location), .init(name: "referrer-policy", value: "no-referrer"),
            ]
        case .empty: return [shared]
        }
    }

    /// The body.
    var body: [UInt8] {
        switch self.content {
        case .json(let value): Array(value.text.utf8)
        case .text(let text), .page(let text): Array(text.utf8)
        case .redirect, .empty: []
        }
    }
}

extension JSONValue {
    /// Returns an object.
    static func members(_ pairs: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(pairs.map { Member(name: $0.key, value: $0.value) })
    }
}
