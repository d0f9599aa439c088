// The head of a request, as a server receives it.
// Values without an owner.

/// The request line and the header section of a request.
package struct RequestMessageHead: Equatable, Sendable {
    /// The method; it is compared with regard to case.
    package let method: String
    /// The request-target, as it was sent.
    package let target: String
    /// The path of the target: `*` for a request about the server itself (RFC 9112 section 3.2.4).
    package let path: String
    /// The query of the target, without its question mark; nil when there is none.
    package let query: String?
    /// The second number of the version: 0 or 1.
    package let minorVersion: Int
    /// The field lines.
    package let fields: FieldSection
    /// The framing of the body.
    package let bodyFraming: BodyFraming
    /// Indicates whether the client waits for an interim response before it sends the body (RFC 9110 section 10.1.1).
    package let expectsContinue: Bool

    /// Indicates whether the client leaves the connection open for another request (RFC 9112 section 9.3).
    package var allowsAnotherRequest: Bool {
        let options = self.options(of: "connection")
        return self.minorVersion > 0 ? !options.contains("close") : options.contains("keep-alive")
    }

    /// Returns the elements of a comma-separated list, in lower case.
    package func options(of name: String) -> [String] {
        self.fields.values(of: name).flatMap { $0.split(separator: ",") }
            .map { $0.withoutSurroundingSpace.lowercased() }
    }
}
