// The payloads of compressed messages (RFC 7692 section 7.2.2).
// The owner is the one consumer of the connection's messages.

package import WebSocketProtocol

/// Inflates the messages of one connection, one after the other.
package final class MessageInflater {
    /// What RFC 7692 section 7.2.1 removes from the end of each message.
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    /// The most bytes an inflated message may have.
    package let limit: Int

    private let keepsWindow: Bool
    /// It has no memory until the first byte comes, because not every connection that may compress does.
    private let inflater: Inflater
    /// Of the current message.
    private var inflatedByteCount = 0
    private var isMessageStart = true
    private var failure: DeflateError?

    /// Makes an inflater for the messages of a server that agreed to these parameters.
    package init(
        agreement: PerMessageDeflateAgreement,
        limit: Int = FrameReader.defaultMessageByteLimit
    ) {
        precondition(limit >= 0, "a limit cannot be negative")
        self.limit = limit
        self.keepsWindow = !agreement.serverNoContextTakeover
        self.inflater = Inflater(format: .raw(windowBits: agreement.serverMaxWindowBits))
    }

    /// Indicates whether no message was begun and not ended.
    package var isBetweenMessages: Bool { self.isMessageStart }

    /// Gives the memory for the window back, unless a message in hand or the next one may refer to it.
    package func releaseWindow() {
        if self.isMessageStart, !self.keepsWindow { self.inflater.releaseMemory() }
    }

    /// Appends what the next piece of a message inflates to, which the limit stops while it is inflated.
    ///
    /// The output is the message's own part of `output`: the caller may take it away between the pieces, and the limit
    /// counts it all the same.
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

    /// Appends what a whole message inflates to, in one call of zlib, which takes a quarter less time than two.
    ///
    /// The four bytes behind the message must be the caller's too: its tail stands there meanwhile, and what stood
    /// there is put back.
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
        // Ended by BFINAL at the end of the message's own bytes, it needs no tail; ended in the tail, it was cut off.
        let isAtEnd = self.inflater.isAtStreamEnd ? position == tailPosition : self.inflater.isBetweenBlocks
        guard isAtEnd else { throw .truncatedData }
    }

    /// Inflates to the end of the input, or to the end of a deflate stream that lies at or behind `end`; how far it has
    /// come.
    @discardableResult
    private func inflateAll(
        _ input: UnsafeRawBufferPointer, upTo end: Int, into output: PaddedBuffer
    ) throws(DeflateError) -> Int {
        var position = 0
        repeat {
            // RFC 7692 section 7.2.3.4: a block with BFINAL ends the deflate stream, not the message, and not the window.
            if self.inflater.isAtStreamEnd {
                if position >= end { return position }
                self.inflater.resetKeepingWindow()
            }
            let countBefore = output.count
            // One byte more than allowed is room enough to see that there is more.
            let room = self.limit - self.inflatedByteCount
            let (outputLimit, isUnbounded) = countBefore.addingReportingOverflow(room)
            let progress: Inflater.Progress
            do throws(DeflateError) {
                progress = try self.inflater.inflate(
                    input, at: &position, into: output,
                    upTo: isUnbounded || outputLimit == .max ? .max : outputLimit + 1)
            } catch {
                // zlib may have written the byte over the limit before it saw that the data are corrupt.
                try self.count(output, since: countBefore)
                throw error
            }
            try self.count(output, since: countBefore)
            if progress == .needsInput { return position }
        } while position < input.count
        return position
    }

    /// Counts what was appended, and takes back what passes the limit.
    private func count(_ output: PaddedBuffer, since countBefore: Int) throws(DeflateError) {
        self.inflatedByteCount += output.count - countBefore
        guard self.inflatedByteCount > self.limit else { return }
        output.removeLast(self.inflatedByteCount - self.limit)
        throw .outputTooLarge(limit: self.limit)
    }

    private func endMessage(into output: PaddedBuffer) throws(DeflateError) {
        // A compressed message has at least one byte. None at all can only mean that the message is empty, and a tail
        // alone would leave zlib in the middle of a block.
        if !self.isMessageStart { try self.endStream(into: output) }
        self.isMessageStart = true
        self.inflatedByteCount = 0
    }

    private func endStream(into output: PaddedBuffer) throws(DeflateError) {
        // A sender that ended with BFINAL owes an empty block after it (RFC 7692 section 7.2.3.4). Without that block
        // the message is complete, and the tail would be the beginning of another one.
        if !self.inflater.isAtStreamEnd {
            _ = try Self.tail.withUnsafeBufferPointer { bytes throws(DeflateError) in
                try self.inflateAll(UnsafeRawBufferPointer(bytes), upTo: bytes.count, into: output)
            }
            guard !self.inflater.isAtStreamEnd, self.inflater.isBetweenBlocks else { throw .truncatedData }
        }
        if !self.keepsWindow { self.inflater.reset() }
    }
}
