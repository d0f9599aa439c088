// zlib's inflate as a Swift type: it outputs bytes as soon as they can be determined.
// The owner is one task or one thread at a time.

internal import CZlib
package import WebSocketProtocol

/// Inflates a stream that arrives in pieces.
package final class Inflater {
    /// The wrapping of the deflate data.
    package enum Format: Equatable, Sendable {
        /// None (RFC 1951), with a window of 2 to the power of `windowBits`, 8 to 15.
        case raw(windowBits: Int)
        /// One or more gzip members (RFC 1952 section 2.2).
        case gzip
        /// The zlib format (RFC 1950).
        case zlib
        /// The zlib format or none: both are sent as the content coding `deflate`. RFC 9110 section 8.4.1.2 requires
        /// zlib and notes that some senders omit it; the first byte tells which.
        case zlibOrRaw
    }

    /// zlib's version at run time, as the library gives it.
    package static var libraryVersion: String { String(cString: zlibVersion()) }

    /// The reason for which a call returned.
    package enum Progress: Equatable, Sendable {
        /// All input is used, and all of its output is written.
        case needsInput
        /// The output has reached its limit; there may be more.
        case outputFull
        /// The deflate stream, or the gzip member, has ended. Input after it is not used.
        case streamEnd
    }

    private let format: Format
    /// zlib keeps a pointer to the stream in its state, so that it must never move.
    private let stream: UnsafeMutablePointer<z_stream>

    private struct State {
        var failure: DeflateError?
        /// Indicates whether zlib's state exists: it waits for the first byte.
        var isInitialized = false
        var isAtStreamEnd = false
    }

    /// A pointer, because properties of a class would be checked for exclusive access each time.
    private let state: UnsafeMutablePointer<State>

    /// Indicates whether the deflate stream has ended and no other was begun after it.
    var isAtStreamEnd: Bool { self.state.pointee.isAtStreamEnd }

    /// Creates an inflater.
    ///
    /// It takes about 10 KiB from the first byte on, and the window in addition once there is output.
    package init(format: Format) {
        if case .raw(let windowBits) = format {
            precondition((8...15).contains(windowBits), "a window has 8 to 15 bits")
        }
        self.format = format
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: State())
    }

    deinit {
        self.releaseMemory()
        self.stream.deallocate()
        self.state.deallocate()
    }

    /// Inflates from `input[position...]`, moves `position` past the used bytes, and appends to `output` until that
    /// holds `limit` bytes.
    package func inflate(
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        into output: PaddedBuffer,
        upTo limit: Int = .max
    ) throws(DeflateError) -> Progress {
        if let failure = self.state.pointee.failure { throw failure }
        do throws(DeflateError) {
            if !self.state.pointee.isInitialized {
                guard position < input.count else { return .needsInput }
                try self.initialize(firstByte: input[position])
            }
            while true {
                if let progress = try self.step(input, at: &position, into: output, upTo: limit) { return progress }
            }
        } catch {
            self.state.pointee.failure = error
            throw error
        }
    }

    /// Begins a new stream with an empty window.
    package func reset() {
        self.state.pointee.isAtStreamEnd = false
        self.state.pointee.failure = nil
        if self.state.pointee.isInitialized { inflateReset(self.stream) }
    }

    /// Begins a new stream with an empty window, and allocates no memory until its first byte arrives.
    func releaseMemory() {
        if self.state.pointee.isInitialized { inflateEnd(self.stream) }
        self.state.pointee = State()
    }

    /// Begins a new deflate stream that may refer to the output of the previous one.
    ///
    /// The call keeps zlib's window where it is. `inflateGetDictionary` and `inflateSetDictionary` would copy 32 KiB
    /// twice, for a stream that may be two bytes long.
    func resetKeepingWindow() {
        self.state.pointee.isAtStreamEnd = false
        if self.state.pointee.isInitialized { inflateResetKeep(self.stream) }
    }

    /// Indicates whether the last byte used was the last of a block that is not marked as final.
    var isBetweenBlocks: Bool {
        // zlib.h, `data_type`: 128 after a block, 64 in the final one, and the number of unused bits of the last byte.
        self.stream.pointee.data_type & 0xFF == 128
    }

    /// Indicates whether zlib has stopped before a block's header: it lacks input, and has no output left.
    private var isAfterBlock: Bool { self.stream.pointee.data_type & 128 != 0 }

    private func initialize(firstByte: UInt8) throws(DeflateError) {
        let windowBits: CInt =
            switch self.format {
            // Some servers' zlib makes a window of 9 bits when 8 were agreed; reading with 9 costs 256 bytes.
            case .raw(let windowBits): -CInt(max(9, windowBits))
            // For zlib, 16 added to the bits of the window means gzip.
            case .gzip: 15 + 16
            case .zlib: 15
            // RFC 1950 section 2.2: the low four bits are 8, the high four at most 7. A raw stream can begin with these
            // bits only if its first block is stored and has non-zero padding, which no compressor writes.
            case .zlibOrRaw: firstByte & 0x8F == 0x08 ? 15 : -15
            }
        // `inflateInit2` is a macro around this function.
        let result = inflateInit2_(self.stream, windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        guard result == Z_OK else { throw .outOfMemory }
        self.state.pointee.isInitialized = true
    }

    /// Calls zlib once; nil when another call is needed.
    private func step(
        _ input: UnsafeRawBufferPointer,
        at position: inout Int,
        into output: PaddedBuffer,
        upTo limit: Int
    ) throws(DeflateError) -> Progress? {
        guard !self.isAtStreamEnd else { return .streamEnd }
        guard output.count < limit else { return .outputFull }
        // zlib counts in 32 bits.
        let offered = min(input.count - position, 1 << 30)
        let room = output.lend(upTo: limit)
        let roomByteCount = min(room.count, 1 << 30)
        // Without a base address there is no input; zlib requires a non-null pointer nevertheless.
        let source = input.baseAddress.map { $0 + position } ?? UnsafeRawPointer(self.stream)
        self.stream.pointee.next_in = UnsafeMutablePointer(
            mutating: source.assumingMemoryBound(to: Bytef.self))
        self.stream.pointee.avail_in = uInt(offered)
        self.stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: Bytef.self)
        self.stream.pointee.avail_out = uInt(roomByteCount)
        // With a flush mode other than Z_FINISH zlib writes all available output, so that none waits for more input.
        let result = CZlib.inflate(self.stream, Z_SYNC_FLUSH)
        let isOutputUsedUp = self.stream.pointee.avail_out == 0
        output.keep(roomByteCount - Int(self.stream.pointee.avail_out))
        let used = offered - Int(self.stream.pointee.avail_in)
        position += used
        self.stream.pointee.next_in = nil
        self.stream.pointee.next_out = nil
        switch result {
        case Z_STREAM_END:
            self.state.pointee.isAtStreamEnd = true
            return .streamEnd
        case Z_OK:
            // After a block no output waits for room, and another call without input would clear `data_type`.
            let mayHaveOutput = isOutputUsedUp && !self.isAfterBlock
            return mayHaveOutput || position < input.count ? nil : .needsInput
        case Z_BUF_ERROR:
            // Not an error: zlib could make no progress with its input and output.
            return .needsInput
        case Z_MEM_ERROR:
            throw .outOfMemory
        default:
            throw .corruptData
        }
    }
}
