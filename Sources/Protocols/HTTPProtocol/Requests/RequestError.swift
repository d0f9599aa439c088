// The errors of a request that a server receives.
// Values without an owner.

/// The error of a request that HTTP/1.1 does not allow, that exceeds a limit, or that asks for something a server of
/// this package does not do.
package enum RequestError: Error, Equatable, Sendable {
    /// A line that is no request line: a method, a target and a version with one space between them (RFC 9112 section
    /// 3).
    case invalidRequestLine
    /// A target in a form that its method does not allow (RFC 9112 section 3.2).
    case invalidTarget
    /// A version other than HTTP/1.x.
    case unsupportedVersion
    /// The method CONNECT, which asks for a tunnel.
    case unsupportedMethod
    /// A line that ends in a single LF, or a field line that is none.
    case invalidField(HTTPError)
    /// No `Host`, several, or one that no host can have (RFC 9112 section 3.2).
    case invalidHost
    /// A request line of more bytes than the limit of the head.
    case targetTooLong(limit: Int)
    /// A head of more bytes, or of more field lines, than the limit.
    case headTooLarge(limit: Int)
    /// A length of the body that is no number, that contradicts another one, or a transfer coding where none may be.
    case invalidBodyLength(HTTPError)
    /// A transfer coding other than `chunked`.
    case unsupportedTransferCoding
    /// An expectation other than `100-continue` (RFC 9110 section 10.1.1).
    case unsupportedExpectation
    /// A body of more bytes than the limit.
    case bodyTooLarge(limit: Int)
    /// A body in chunks that breaks the rules of RFC 9112 section 7.1.
    case invalidChunk(HTTPError)

    /// The status code of the answer.
    package var statusCode: Int {
        switch self {
        case .invalidRequestLine, .invalidTarget, .invalidField, .invalidHost, .invalidBodyLength, .invalidChunk: 400
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedExpectation: 417
        case .headTooLarge: 431
        case .unsupportedMethod, .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        }
    }
}
