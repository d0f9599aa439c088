import StreamTransport

/// The status code and the fields of an answer.
///
/// The request's own credentials are redacted in the values, as some servers repeat what they were sent.
public struct EventSourceResponse: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// One field line of an answer.
    public struct Field: Sendable, Hashable {
        /// The name, as the server has written it.
        public let name: String
        /// The value, without the secrets of the request.
        public let value: String
    }

    /// The status code (RFC 9110 section 15).
    public let statusCode: Int
    /// The field lines, in their order.
    public let fields: [Field]

    init(_ head: ResponseHead) {
        self.statusCode = head.statusCode
        self.fields = head.fields.map { Field(name: $0.name, value: $0.value) }
    }

    /// Returns the value of the first field with this name, which is compared without regard to case.
    public func value(of name: String) -> String? {
        let name = name.lowercased()
        return self.fields.first { $0.name.lowercased() == name }?.value
    }

    /// The status code only.
    public var description: String { "EventSourceResponse(\(self.statusCode))" }
    /// The same as `description`.
    public var debugDescription: String { self.description }
    /// The status code only.
    public var customMirror: Mirror { Mirror(self, children: ["statusCode": self.statusCode]) }
}

/// An answer with another status code than 200 and 204.
public struct EventSourceRefusal: Sendable, Equatable {
    /// The status code and the fields.
    public let response: EventSourceResponse
    /// The delay that `Retry-After` asks for (RFC 9110 section 10.2.3); nil without it.
    public let retryAfter: Duration?
    /// The beginning of the content as text, without the secrets of the request, at most
    /// ``EventSourceLimits/errorBodyByteCount``.
    ///
    /// It is the server's text, and may have any content.
    public let body: String

    /// The status code.
    public var statusCode: Int { self.response.statusCode }

    init(_ response: EventSourceResponse, retryAfter: Duration?, body: String) {
        self.response = response
        self.retryAfter = retryAfter
        self.body = body
    }
}
