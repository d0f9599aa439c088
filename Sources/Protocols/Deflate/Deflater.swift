// zlib's deflate as a Swift type.
// The owner is one task or one thread at a time.

internal import CZlib
package import WebSocketProtocol

/// Compresses bytes in pieces.
///
/// It takes about 256 KiB with a window of 15 bits.
package final class Deflater {
    /// The wrapping of the deflate data.
    package enum Format: Equatable, Sendable {
        /// None (RFC 1951), with a window of 2 to the power of `windowBits`, 9 to 15. zlib has no raw deflate with 8.
        case raw(windowBits: Int)
        /// One gzip member (RFC 1952).
        case gzip
        /// The zlib format (RFC 1950).
        case zlib
    }

    /// The part of the input that the output must contain.
    package enum Flush: Equatable, Sendable {
        /// As much as makes compression efficient.
        case none
        /// All of it, ending with an empty stored block on a byte boundary.
        case sync
        /// All of it, and the end of the stream.
        case finish
    }

    /// zlib keeps a pointer to the stream in its state, so that it must never move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isInitialized = false

    /// Creates a compressor; the level is zlib's, 0 to 9, or its default.
    package init(format: Format, level: Int = Int(Z_DEFAULT_COMPRESSION)) throws(DeflateError) {
        precondition((-1...9).contains(level), "a level is 0 to 9, or -1 for the default")
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        let windowBits: CInt
        switch format {
        case .raw(let bits):
            precondition((9...15).contains(bits), "zlib's raw deflate has windows of 9 to 15 bits")
            windowBits = -CInt(bits)
        case .gzip: windowBits = 15 + 16
        case .zlib: windowBits = 15
        }
        // `deflateInit2` is a macro around this function; 8 is its default memory level.
        let result = deflateInit2_(
            self.stream, CInt(level), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        guard result == Z_OK else { throw .outOfMemory }
        self.isInitialized = true
    }

    deinit {
        if self.isInitialized { deflateEnd(self.stream) }
        self.stream.deallocate()
    }

    /// Appends the compressed form of the input.
    package func deflate(_ input: UnsafeRawBufferPointer, flush: Flush, into output: PaddedBuffer) {
        var position = 0
        repeat {
            // zlib counts in 32 bits.
            let offered = min(input.count - position, 1 << 30)
            let isLast = position + offered == input.count
            self.deflate(
                UnsafeRawBufferPointer(rebasing: input[position..<(position + offered)]),
                mode: isLast ? flush.mode : Z_NO_FLUSH, into: output)
            position += offered
        } while position < input.count
    }

    /// Begins a new stream with an empty window.
    package func reset() { deflateReset(self.stream) }

    private func deflate(_ input: UnsafeRawBufferPointer, mode: CInt, into output: PaddedBuffer) {
        let start = input.baseAddress.map { UnsafeMutableRawPointer(mutating: $0) }
        self.stream.pointee.next_in = start?.assumingMemoryBound(to: Bytef.self)
        self.stream.pointee.avail_in = uInt(input.count)
        // Room for a small message at once, the marker of a flush included: zlib repeats the marker when the room ends
        // right behind it.
        let minimum = min(65_536, Int(deflateBound(self.stream, uLong(input.count))) + 16)
        repeat {
            output.append(atLeast: minimum) { room in
                let roomByteCount = min(room.count, 1 << 30)
                self.stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: Bytef.self)
                self.stream.pointee.avail_out = uInt(roomByteCount)
                let result = CZlib.deflate(self.stream, mode)
                precondition(result != Z_STREAM_ERROR, "the stream was finished before")
                return roomByteCount - Int(self.stream.pointee.avail_out)
            }
        } while self.stream.pointee.avail_out == 0
        self.stream.pointee.next_in = nil
        self.stream.pointee.next_out = nil
    }
}

extension Deflater.Flush {
    fileprivate var mode: CInt {
        switch self {
        case .none: Z_NO_FLUSH
        case .sync: Z_SYNC_FLUSH
        case .finish: Z_FINISH
        }
    }
}
