// The content of an HTTP response whose `Content-Encoding` says how it was encoded (RFC 9110 section 8.4).
// The owner is the one consumer of the response.

package import WebSocketProtocol

/// Decodes content in pieces, and outputs every byte as soon as it can be determined.
///
/// The output is pulled: one call gives at most as much as the caller has room for, so that a small piece that inflates
/// to a thousand times its size needs no memory of that size. A call reads at most a slice of the input, so that input
/// without output, such as a gzip member's comment, takes no longer than other input.
package final class ContentDecoder {
    /// The most codings one after the other.
    ///
    /// Servers use one. Several would multiply what little input costs.
    package static let codingLimit = 1
    /// The most input that one call reads, in bytes.
    package static let sliceByteCount = 65_536

    /// Nil when the content is as it was sent.
    private let inflater: Inflater?
    private let acceptsMembers: Bool
    /// Indicates whether zlib may know more than the output had room for.
    private var hasPendingOutput = false
    private var hasInput = false
    private var failure: DeflateError?

    /// Creates a decoder for the value of `Content-Encoding`, several fields joined by commas; nil when there is none.
    ///
    /// Throws `unknownContentCoding`, and `tooManyContentCodings` for more than one besides `identity`.
    package init(contentEncoding: String?) throws(DeflateError) {
        var formats: [Inflater.Format] = []
        for coding in FieldValue.tokens(of: contentEncoding ?? "") {
            guard let format = try Self.format(of: coding) else { continue }
            guard formats.count < Self.codingLimit else { throw .tooManyContentCodings(limit: Self.codingLimit) }
            formats.append(format)
        }
        self.inflater = formats.first.map { Inflater(format: $0) }
        self.acceptsMembers = formats.first == .gzip
    }

    /// Returns whether the value of `Content-Encoding` names a coding that changes the content.
    package static func isCoded(_ contentEncoding: String) -> Bool {
        FieldValue.tokens(of: contentEncoding).contains { !Self.isIdentity($0) }
    }

    /// Indicates whether the content is as it was sent: it need not be decoded at all.
    package var isIdentity: Bool { self.inflater == nil }

    /// Decodes from `input[position...]`, moves `position` past what was used, and appends to `output` until that holds
    /// `limit` bytes.
    ///
    /// - Returns: whether the input is used up and everything it says is in the output. Otherwise make room and call
    ///   again with the same input; there may be no output although there was room.
    package func decode(
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        into output: PaddedBuffer,
        upTo limit: Int = 65_536
    ) throws(DeflateError) -> Bool {
        if let failure = self.failure { throw failure }
        do throws(DeflateError) {
            return try self.run(input, at: &position, into: output, upTo: limit)
        } catch {
            self.failure = error
            throw error
        }
    }

    /// Ends the content, and throws when it ends too early.
    ///
    /// Content of no bytes at all is complete.
    package func finish() throws(DeflateError) {
        if let failure = self.failure { throw failure }
        guard let inflater = self.inflater, self.hasInput else { return }
        guard inflater.isAtStreamEnd, !self.hasPendingOutput else { throw .truncatedData }
    }

    /// Coding names are compared without regard to case (RFC 9110 section 8.4.1).
    private static func format(of coding: String) throws(DeflateError) -> Inflater.Format? {
        if Self.isIdentity(coding) { return nil }
        // RFC 9110 section 8.4.1.3: x-gzip is gzip.
        if FieldValue.isEqual(coding, "gzip") || FieldValue.isEqual(coding, "x-gzip") { return .gzip }
        if FieldValue.isEqual(coding, "deflate") { return .zlibOrRaw }
        throw .unknownContentCoding
    }

    /// Returns whether a coding leaves the content as it is: `identity`, for which some servers write `none`.
    private static func isIdentity(_ coding: String) -> Bool {
        FieldValue.isEqual(coding, "identity") || FieldValue.isEqual(coding, "none")
    }

    private func run(
        _ input: UnsafeRawBufferPointer, at position: inout Int, into output: PaddedBuffer, upTo limit: Int
    ) throws(DeflateError) -> Bool {
        let sliceEnd = position + min(input.count - position, Self.sliceByteCount)
        guard let inflater = self.inflater else {
            let end = min(sliceEnd, position + max(0, limit - output.count))
            output.append(UnsafeRawBufferPointer(rebasing: input[position..<end]))
            position = end
            return end == input.count
        }
        let slice = UnsafeRawBufferPointer(rebasing: input[..<sliceEnd])
        try self.inflate(slice, at: &position, with: inflater, into: output, upTo: limit)
        return position == input.count && !self.hasPendingOutput
    }

    /// Inflates until the input is used up or the output is full, gzip member after gzip member.
    private func inflate(
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        with inflater: Inflater,
        into output: PaddedBuffer,
        upTo limit: Int
    ) throws(DeflateError) {
        if position < input.count { self.hasInput = true }
        while true {
            let progress = try inflater.inflate(input, at: &position, into: output, upTo: limit)
            self.hasPendingOutput = progress == .outputFull
            guard progress == .streamEnd, position < input.count else { return }
            // RFC 1952 section 2.2: a file is a series of members.
            guard self.acceptsMembers else { throw .trailingData }
            inflater.reset()
        }
    }
}
