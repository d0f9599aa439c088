// zlib itself, over a whole input at once: what the inflaters are held against.

import CZlib
import Deflate

/// zlib's result for some bytes.
struct ZlibResult {
    /// The reason for which it stopped.
    enum Stop {
        /// The deflate stream, with its checksum if it has one, has ended.
        case streamEnd
        /// There is no more input, and the last block has ended: it was not the final one, and no bit is left over.
        case betweenBlocks
        /// There is no more input.
        case needsInput
        /// The input is wrong.
        case corrupt
        /// There is more output than anyone wants.
        case tooLarge
    }

    /// The reason for which it stopped.
    var stop: Stop
    /// The output until then.
    var output: [UInt8]
    /// The number of input bytes that it took.
    var usedByteCount: Int
}

/// zlib's functions in their simplest use.
enum OneCallZlib {
    /// The most that is inflated.
    static let capacity = 1 << 21

    /// The memory for zlib's output, reused because that is faster than an allocation for each input.
    ///
    /// - Safety: a fuzz target has one thread.
    nonisolated(unsafe) private static let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.capacity)

    /// Inflates in one call, or with room for `step` bytes at a time, so that only the window can be referred to.
    ///
    /// - Parameters:
    ///   - input: the whole input
    ///   - windowBits: the format, as `inflateInit2` has it
    ///   - history: what may be referred to
    ///   - step: how many bytes of output one call has room for
    /// - Returns: what came of it, and why that is all
    static func inflate(
        _ input: ArraySlice<UInt8>, windowBits: CInt, history: [UInt8] = [], step: Int = Self.capacity
    ) -> ZlibResult {
        var stream = z_stream()
        var input = Array(input)
        return withUnsafeMutablePointer(to: &stream) { stream in
            let result = inflateInit2_(stream, windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
            precondition(result == Z_OK)
            defer { inflateEnd(stream) }
            let dictionary = history.suffix(1 << abs(Int(windowBits)))
            if !dictionary.isEmpty {
                _ = dictionary.withUnsafeBufferPointer {
                    inflateSetDictionary(stream, $0.baseAddress, uInt($0.count))
                }
            }
            return input.withUnsafeMutableBufferPointer { source in
                stream.pointee.next_in = source.baseAddress
                stream.pointee.avail_in = uInt(source.count)
                let (code, byteCount) = Self.run(stream, step: step)
                return ZlibResult(
                    stop: Self.stop(code, stream, byteCount), output: Array(Self.room.prefix(byteCount)),
                    usedByteCount: source.count - Int(stream.pointee.avail_in))
            }
        }
    }

    private static func run(_ stream: UnsafeMutablePointer<z_stream>, step: Int) -> (code: CInt, byteCount: Int) {
        var byteCount = 0
        while true {
            let offered = min(step, Self.capacity - byteCount)
            stream.pointee.next_out = Self.room.baseAddress.map { $0 + byteCount }
            stream.pointee.avail_out = uInt(offered)
            let code = CZlib.inflate(stream, Z_SYNC_FLUSH)
            byteCount += offered - Int(stream.pointee.avail_out)
            let isFull = stream.pointee.avail_out == 0 && byteCount < Self.capacity
            if code != Z_OK || !isFull { return (code, byteCount) }
        }
    }

    private static func stop(
        _ code: CInt, _ stream: UnsafeMutablePointer<z_stream>, _ byteCount: Int
    ) -> ZlibResult.Stop {
        switch code {
        case Z_STREAM_END: .streamEnd
        case Z_OK, Z_BUF_ERROR:
            // zlib.h, `data_type`: 128 after a block, 64 in the final one, and the bits left over of the last byte.
            byteCount == Self.capacity
                ? .tooLarge : stream.pointee.data_type & 0xFF == 128 ? .betweenBlocks : .needsInput
        default: .corrupt
        }
    }

    /// Compresses at once; `windowBits` is the format, as `deflateInit2` has it.
    static func deflate(_ input: ArraySlice<UInt8>, windowBits: CInt, level: Int) -> [UInt8] {
        var stream = z_stream()
        var input = Array(input)
        return withUnsafeMutablePointer(to: &stream) { stream in
            let result = deflateInit2_(
                stream, CInt(level), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                CInt(MemoryLayout<z_stream>.size))
            precondition(result == Z_OK)
            defer { deflateEnd(stream) }
            return input.withUnsafeMutableBufferPointer { source in
                stream.pointee.next_in = source.baseAddress
                stream.pointee.avail_in = uInt(source.count)
                stream.pointee.next_out = Self.room.baseAddress
                stream.pointee.avail_out = uInt(Self.capacity)
                let end = CZlib.deflate(stream, Z_FINISH)
                precondition(end == Z_STREAM_END)
                return Array(Self.room.prefix(Self.capacity - Int(stream.pointee.avail_out)))
            }
        }
    }
}
