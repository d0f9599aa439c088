// The head of a response (RFC 9112 sections 4 and 5).
// Values without an owner.

/// A status line and the field lines behind it.
package struct ResponseMessageHead: Equatable, Sendable {
    /// The status code, 100...999.
    package let statusCode: Int
    /// The second number of `HTTP/1.1`, 0...9.
    package let minorVersion: Int
    /// The field lines.
    package let fields: FieldSection

    /// Makes a head.
    package init(statusCode: Int, minorVersion: Int, fields: FieldSection) {
        self.statusCode = statusCode
        self.minorVersion = minorVersion
        self.fields = fields
    }
}
