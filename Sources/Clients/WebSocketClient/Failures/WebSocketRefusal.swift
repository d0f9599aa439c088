/// An answer to the opening handshake with another status code than 101.
///
/// Redirects (RFC 9110 section 15.4) are refusals as well: the program decides whether its credential is for the other
/// address.
public struct WebSocketRefusal: Sendable, Equatable {
    /// One field of an answer.
    public struct Field: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value, without the secrets of the request.
        public let value: String
    }

    /// The status code.
    public let statusCode: Int
    /// The fields `Content-Type`, `Location`, `Retry-After` and `WWW-Authenticate`, and those of
    /// ``WebSocketConfiguration/capturedFieldNames``, as far as the answer has them.
    public let fields: [Field]
    /// The beginning of the body as text, without the secrets of the request, at most
    /// ``WebSocketLimits/refusalByteCount``.
    ///
    /// It is the server's text, and may have any content.
    public let body: String

    /// Returns the value of a field, whose name is compared without regard to case.
    public func value(of name: String) -> String? { self.fields.first { $0.name == name.lowercased() }?.value }
}
