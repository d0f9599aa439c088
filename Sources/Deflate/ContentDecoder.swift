// The content of an HTTP response whose `Content-Encoding` says how it was encoded (RFC 9110 section 8.4).
// The owner is the one consumer of the response.

package import WebSocketProtocol

/// Decodes content that arrives in pieces, and lets no byte wait that can be known.
///
/// The output is pulled: one call gives at most as much as the caller has room for, so that a small piece which
/// inflates to a thousand times its size needs no memory of that size.
package final class ContentDecoder {
    /// The most codings one after the other.
    package static let codingLimit = 3
    /// How many bytes may stand between two codings.
    private static let intermediateByteCount = 16_384

    /// One coding, and what it has inflated that the next has not used yet.
    private final class Stage {
        let inflater: Inflater
        let acceptsMembers: Bool
        let output = PaddedBuffer()
        var outputPosition = 0
        /// Whether zlib may know more than the output had room for.
        var hasPendingOutput = false
        var hasInput = false

        init(format: Inflater.Format) {
            self.inflater = Inflater(format: format)
            self.acceptsMembers = format == .gzip
        }
    }

    /// In the order in which they are undone: the reverse of the field's.
    private let stages: [Stage]
    private var failure: DeflateError?

    /// Makes a decoder for the value of `Content-Encoding`, several fields joined by commas; nil when there is none.
    package init(contentEncoding: String?) throws(DeflateError) {
        var stages: [Stage] = []
        for coding in FieldValue.tokens(of: contentEncoding ?? "").reversed() {
            guard let format = try Self.format(of: coding) else { continue }
            guard stages.count < Self.codingLimit else { throw .tooManyContentCodings(limit: Self.codingLimit) }
            stages.append(Stage(format: format))
        }
        self.stages = stages
    }

    /// Whether the content is as it was sent: it need not be decoded at all.
    package var isIdentity: Bool { self.stages.isEmpty }

    /// Decodes from `input[position...]`, moves `position` past what was used, and appends to `output` until that holds
    /// `limit` bytes.
    ///
    /// - Returns: whether the input is used up and everything it says is in the output. Otherwise make room and call
    ///   again with the same input.
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
        guard self.stages.first?.hasInput ?? false else { return }
        for stage in self.stages {
            let isAtEnd = stage.inflater.isAtStreamEnd && !stage.hasPendingOutput
            guard isAtEnd, stage === self.stages.last || stage.outputPosition == stage.output.count else {
                throw .truncatedData
            }
        }
    }

    /// Coding names are compared without regard to case (RFC 9110 section 8.4.1).
    private static func format(of coding: String) throws(DeflateError) -> Inflater.Format? {
        if FieldValue.isEqual(coding, "identity") { return nil }
        // RFC 9110 section 8.4.1.3: x-gzip is gzip.
        if FieldValue.isEqual(coding, "gzip") || FieldValue.isEqual(coding, "x-gzip") { return .gzip }
        if FieldValue.isEqual(coding, "deflate") { return .zlibOrRaw }
        throw .unknownContentCoding
    }

    private func run(
        _ input: UnsafeRawBufferPointer, at position: inout Int, into output: PaddedBuffer, upTo limit: Int
    ) throws(DeflateError) -> Bool {
        guard let last = self.stages.indices.last else {
            let end = position + min(input.count - position, max(0, limit - output.count))
            output.append(UnsafeRawBufferPointer(rebasing: input[position..<end]))
            position = end
            return end == input.count
        }
        try self.fill(last, input, at: &position, into: output, upTo: limit)
        return position == input.count && !self.stages.contains { $0.hasPendingOutput }
            && !self.stages.dropLast().contains { $0.outputPosition < $0.output.count }
    }

    /// Lets a stage write until `limit`, asking the stage before it for input as long as that has any.
    private func fill(
        _ index: Int,
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        into output: PaddedBuffer,
        upTo limit: Int
    ) throws(DeflateError) {
        let stage = self.stages[index]
        guard index > 0 else {
            try self.inflate(input, at: &position, with: stage, into: output, upTo: limit)
            return
        }
        let source = self.stages[index - 1]
        while output.count < limit {
            try self.inflate(source.output.bytes, at: &source.outputPosition, with: stage, into: output, upTo: limit)
            guard !stage.hasPendingOutput, source.outputPosition == source.output.count else { return }
            source.output.removeAll()
            source.outputPosition = 0
            try self.fill(index - 1, input, at: &position, into: source.output, upTo: Self.intermediateByteCount)
            if source.output.count == 0 { return }
        }
    }

    /// Inflates until the input is used up or the output is full, gzip member after gzip member.
    private func inflate(
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        with stage: Stage,
        into output: PaddedBuffer,
        upTo limit: Int
    ) throws(DeflateError) {
        if position < input.count { stage.hasInput = true }
        while true {
            let progress = try stage.inflater.inflate(input, at: &position, into: output, upTo: limit)
            stage.hasPendingOutput = progress == .outputFull
            guard progress == .streamEnd, position < input.count else { return }
            // RFC 1952 section 2.2: a file is a series of members.
            guard stage.acceptsMembers else { throw .trailingData }
            stage.inflater.reset()
        }
    }
}
