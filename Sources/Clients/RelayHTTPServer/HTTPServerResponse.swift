// An answer with its whole body.
// Values without an owner.

/// A status code, fields, and a whole body.
package struct HTTPServerResponse: Sendable {
    /// The status code, 200 to 599.
    package var statusCode: Int
    /// The fields, without those that frame the message or control the connection: the server adds them, and `Date`.
    package var fields: [(name: String, value: String)]
    /// The body.
    ///
    /// It is not sent in answer to HEAD, nor with 204 and 304.
    package var body: [UInt8]

    /// Makes a response.
    package init(statusCode: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.statusCode = statusCode
        self.fields = fields
        self.body = body
    }

    /// Makes a response of plain text.
    package init(statusCode: Int, text: String, fields: [(name: String, value: String)] = []) {
        self.init(
            statusCode: statusCode, fields: [("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: Array(text.utf8))
    }
}
