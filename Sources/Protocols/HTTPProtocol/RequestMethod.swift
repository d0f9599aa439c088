// Request methods (RFC 9110 section 9).
// Values without an owner.

/// The method of a request, which also decides whether its response has content.
///
/// Methods are compared with regard to case.
package struct RequestMethod: RawRepresentable, Hashable, Sendable {
    /// The name, a token.
    package let rawValue: String

    /// Makes a method of its name; nil for a text that is not a token (RFC 9110 section 5.6.2).
    package init?(rawValue: String) {
        guard !rawValue.isEmpty, rawValue.utf8.allSatisfy(\.isTokenByte) else { return nil }
        self.rawValue = rawValue
    }

    private init(name: String) { self.rawValue = name }

    /// Asks for the target's current representation.
    package static let get = Self(name: "GET")
    /// Asks for the head of the answer to a GET.
    package static let head = Self(name: "HEAD")
    /// Sends content to the target.
    package static let post = Self(name: "POST")
    /// Asks a proxy for a tunnel.
    package static let connect = Self(name: "CONNECT")

    /// Indicates whether a repeated request has the same effect as one (RFC 9110 section 9.2.2).
    ///
    /// `REPORT` (RFC 3253 section 3.6) and `SEARCH` (RFC 5323 section 2) are safe; other methods count as not
    /// idempotent.
    package var isIdempotent: Bool { Self.idempotentNames.contains(self.rawValue) }

    private static let idempotentNames: Set = [
        "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "REPORT", "SEARCH",
    ]
}
