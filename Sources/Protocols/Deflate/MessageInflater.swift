// The payloads of compressed messages (RFC 7692 section 7.2.2).
// The owner is the one consumer of the connection's messages.

package import WebSocketProtocol

/// Inflates the messages of one connection, one after the other.
package final class MessageInflater {
    /// The bytes that RFC 7692 section 7.2.1 removes from the end of each message.
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    /// The most bytes an inflated message may have.
    package let limit: Int

    private let keepsWindow: Bool
    /// Its memory is allocated with the first byte, because many connections with compression never use it.
    private let inflater: Inflater
    /// The inflated byte count of the current message.
    private var inflatedByteCount = 0
    private var isMessageStart = true
    private var failure: DeflateError?

    /// Creates an inflater for the messages of a server that agreed to these parameters.
    package init(
        agreement: PerMessageDeflateAgreement,
        limit: Int = FrameReader.defaultMessageByteLimit
    ) {
        precondition(limit >= 0, "a limit cannot be negative")
        self.limit = limit
        self.keepsWindow = !agreement.serverNoContextTakeover
        self.inflater = Inflater(format: .raw(windowBits: agreement.serverMaxWindowBits))
    }

    /// Indicates whether no message is incomplete.
    package var isBetweenMessages: Bool { self.isMessageStart }

    /// Frees the memory of the window, unless the current message or the next one may refer to it.
    package func releaseWindow() {
        if self.isMessageStart, !self.keepsWindow { self.inflater.releaseMemory() }
    }

    /// Appends the inflated form of the next piece of a message; inflation stops at the limit.
    ///
    /// `output` receives the message's bytes: the caller may remove them between the pieces, and they count towards the
    /// limit nevertheless.
    package func inflate(
        _ piece: UnsafeRawBufferPointer, isLast: Bool, into output: PaddedBuffer
    ) throws(DeflateError) {
        if let failure = self.failure { throw failure }
        do throws(DeflateError) {
            if !piece.isEmpty {
                self.isMessageStart = false
                try self.inflateAll(piece, upTo: piece.count, into: output)
            }
            if isLast { try self.endMessage(into: output) }
        } catch {
            self.failure = error
            throw error
        }
    }

    /// Appends the inflated form of a whole message, in one call of zlib, which takes a quarter less time than two.
    ///
    /// The four bytes behind the message must belong to the caller too: the message's tail is written there
    /// temporarily, and the original bytes are restored.
    package func inflateWhole(_ message: UnsafeMutableRawBufferPointer, into output: PaddedBuffer) throws(DeflateError)
    {
        guard self.isMessageStart, let start = message.baseAddress, !message.isEmpty else {
            return try self.inflate(UnsafeRawBufferPointer(message), isLast: true, into: output)
        }
        if let failure = self.failure { throw failure }
        let room = start + message.count
        let saved = room.loadUnaligned(as: UInt32.self)
        room.copyMemory(from: Self.tail, byteCount: Self.tail.count)
        defer { room.storeBytes(of: saved, as: UInt32.self) }
        let input = UnsafeRawBufferPointer(start: start, count: message.count + Self.tail.count)
        do throws(DeflateError) {
            try self.inflateAll(input, tailPosition: message.count, into: output)
            self.inflatedByteCount = 0
            if !self.keepsWindow { self.inflater.reset() }
        } catch {
            self.failure = error
            throw error
        }
    }

    /// Inflates a message with its tail, which begins at `tailPosition`.
    private func inflateAll(
        _ input: UnsafeRawBufferPointer, tailPosition: Int, into output: PaddedBuffer
    ) throws(DeflateError) {
        let position = try self.inflateAll(input, upTo: tailPosition, into: output)
        // A stream that BFINAL ended at the end of the message's own bytes needs no tail; one that ended in the tail
        // was cut off.
        let isAtEnd = self.inflater.isAtStreamEnd ? position == tailPosition : self.inflater.isBetweenBlocks
        guard isAtEnd else { throw .truncatedData }
    }

    /// Inflates to the end of the input, or to the end of a deflate stream that lies at or behind `end`; returns the
    /// position that it reached.
    @discardableResult
    private func inflateAll(
        _ input: UnsafeRawBufferPointer, upTo end: Int, into output: PaddedBuffer
    ) throws(DeflateError) -> Int {
        var position = 0
        repeat {
            // RFC 7692 section 7.2.3.4: a block with BFINAL ends the deflate stream, but neither the message nor the
            // window.
            if self.inflater.isAtStreamEnd {
                if position >= end { return position }
                self.inflater.resetKeepingWindow()
            }
            let countBefore = output.count
            // Room for one byte more than allowed shows whether the limit is exceeded.
            let room = self.limit - self.inflatedByteCount
            let (outputLimit, isUnbounded) = countBefore.addingReportingOverflow(room)
            let progress: Inflater.Progress
            do throws(DeflateError) {
                progress = try self.inflater.inflate(
                    input, at: &position, into: output,
                    upTo: isUnbounded || outputLimit == .max ? .max : outputLimit + 1)
            } catch {
                // zlib may have written the byte over the limit before it found that the data are corrupt.
                try self.count(output, since: countBefore)
                throw error
            }
            try self.count(output, since: countBefore)
            if progress == .needsInput { return position }
        } while position < input.count
        return position
    }

    /// Counts the appended bytes, and removes those that exceed the limit.
    private func count(_ output: PaddedBuffer, since countBefore: Int) throws(DeflateError) {
        self.inflatedByteCount += output.count - countBefore
        guard self.inflatedByteCount > self.limit else { return }
        output.removeLast(self.inflatedByteCount - self.limit)
        throw .outputTooLarge(limit: self.limit)
    }

    private func endMessage(into output: PaddedBuffer) throws(DeflateError) {
        // A compressed message has at least one byte. An empty payload can only mean an empty message, and a tail alone
        // would leave zlib in the middle of a block.
        if !self.isMessageStart { try self.endStream(into: output) }
        self.isMessageStart = true
        self.inflatedByteCount = 0
    }

    private func endStream(into output: PaddedBuffer) throws(DeflateError) {
        // A sender that ended with BFINAL must append an empty block (RFC 7692 section 7.2.3.4). Without that block the
        // message is complete, and the tail would be the beginning of another one.
        if !self.inflater.isAtStreamEnd {
            _ = try Self.tail.withUnsafeBufferPointer { bytes throws(DeflateError) in
                try self.inflateAll(UnsafeRawBufferPointer(bytes), upTo: bytes.count, into: output)
            }
            guard !self.inflater.isAtStreamEnd, self.inflater.isBetweenBlocks else { throw .truncatedData }
        }
        if !self.keepsWindow { self.inflater.reset() }
    }
}
