// The errors of a response's framing.
// Values without an owner.

/// The error of a response that HTTP/1.1 does not allow, that exceeds a limit, or that ended too early.
package enum HTTPError: Error, Equatable, Sendable {
    // MARK: Head

    /// Bytes that cannot be a status line of HTTP/1.x with three digits of status code (RFC 9112 section 4).
    case notHTTP
    /// A status code 101 although the request named no protocol to switch to (RFC 9110 section 15.2.2).
    case unexpectedSwitchingProtocols
    /// A control character in the reason phrase or in a field value, a CR without LF included (RFC 9110 section 5.5,
    /// RFC 9112 section 2.2).
    case controlCharacter(UInt8)
    /// A field line that does not begin with a token and a colon right behind it (RFC 9112 section 5), or white space
    /// before the first field line (RFC 9112 section 2.2).
    case invalidFieldLine
    /// More bytes of heads than the limit, those of interim responses included.
    case headTooLarge(limit: Int)
    /// A field line, with the lines that continue it, of more bytes than the limit.
    case fieldLineTooLong(limit: Int)
    /// More field lines in one head than the limit.
    case tooManyFieldLines(limit: Int)

    // MARK: Body framing

    /// A `Content-Length` that is no decimal number, or one above `Int.max` (RFC 9112 section 6.3).
    case invalidContentLength
    /// `Content-Length` values that differ (RFC 9112 section 6.3).
    case conflictingLengths
    /// A transfer coding other than `chunked`, or several in one field line (RFC 9112 sections 6.1 and 7).
    case unsupportedTransferCoding
    /// A `Transfer-Encoding` in a response of HTTP/1.0, whose framing is faulty therefore (RFC 9112 section 6.1).
    case transferEncodingInHTTP10

    // MARK: Chunks

    /// A chunk line without digits, with another byte behind them than its extensions or its CRLF, or with an
    /// extension that has a control character or an open quoted string (RFC 9112 section 7.1).
    case invalidChunkLine
    /// A chunk size above `Int.max` (RFC 9112 section 7.1).
    case chunkSizeOverflow
    /// A chunk line of more bytes than the limit.
    case chunkLineTooLong(limit: Int)
    /// Chunk data with something other than CRLF behind it (RFC 9112 section 7.1).
    case missingChunkTerminator
    /// A trailer section of more bytes than the limit.
    case trailerSectionTooLarge(limit: Int)

    // MARK: Ends of the connection (RFC 9112 section 8)

    /// The connection ended before the first byte of a response.
    case noResponse
    /// The connection ended inside a head, or between an interim response and the final one.
    case incompleteHead
    /// The connection ended before the body was complete; the number of missing bytes by `Content-Length`.
    case incompleteBody(missing: Int)
    /// The connection ended inside a chunk; the number of missing bytes of its data.
    case incompleteChunk(missing: Int)
    /// The connection ended between two chunks or in a chunk line.
    case missingLastChunk
    /// The connection ended after the last chunk and before the end of the trailer section.
    case incompleteTrailerSection
}
