// The errors of compressed data.
// Values without an owner.

/// The reason for which compressed data could not be used.
///
/// An object that threw an error throws it again at every further call.
package enum DeflateError: Error, Equatable, Sendable {
    /// The data do not follow their format, or their checksum does not match.
    case corruptData
    /// The data end before their format does.
    case truncatedData
    /// Bytes follow the end of the compressed data.
    case trailingData
    /// The output passes the limit; no more was inflated.
    case outputTooLarge(limit: Int)
    /// A content coding that is not known here. Its name is the peer's text and is not repeated.
    case unknownContentCoding
    /// More content codings than anyone has a use for.
    case tooManyContentCodings(limit: Int)
    /// zlib had no memory left.
    case outOfMemory
}
