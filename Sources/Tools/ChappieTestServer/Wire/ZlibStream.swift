// zlib as two small types: a compressor and a decompressor that keep their window between calls.
//
// Owned by the exchange that made them, on its connection thread.
import CZlib

/// The container around deflate's blocks.
enum DeflateContainer {
    /// No container, with a window of 2 to the given power (RFC 7692).
    case raw(windowBits: Int)
    /// The gzip format (RFC 1952).
    case gzip
    /// The zlib format, which HTTP calls `deflate` (RFC 9110 section 8.4.1.2).
    case zlib

    /// zlib's `windowBits` argument for the container.
    var windowBits: CInt {
        switch self {
        case .raw(let bits): -CInt(bits)
        case .gzip: 15 + 16
        case .zlib: 15
        }
    }
}

/// Compresses a stream piece by piece.
final class Compressor {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Starts a stream.
    init(_ container: DeflateContainer) {
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        let version = ZLIB_VERSION
        let size = CInt(MemoryLayout<z_stream>.size)
        deflateInit2_(self.stream, 6, Z_DEFLATED, container.windowBits, 8, Z_DEFAULT_STRATEGY, version, size)
    }

    deinit {
        deflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Compresses `bytes` so that the receiver can read all of them at once.
    func compress(_ bytes: [UInt8]) -> [UInt8] { self.run(bytes, flush: Z_SYNC_FLUSH) }

    /// Ends the stream with its last block and the container's trailer.
    func finish() -> [UInt8] { self.run([], flush: Z_FINISH) }

    /// Clears the window.
    func reset() { deflateReset(self.stream) }

    private func run(_ bytes: [UInt8], flush: CInt) -> [UInt8] {
        var input = bytes
        var output: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 16 * 1024)
        let stream = self.stream
        input.withUnsafeMutableBufferPointer { source in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = uInt(source.count)
            repeat {
                let count = scratch.withUnsafeMutableBufferPointer { target -> Int in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = uInt(target.count)
                    deflate(stream, flush)
                    return target.count - Int(stream.pointee.avail_out)
                }
                output.append(contentsOf: scratch[..<count])
            } while stream.pointee.avail_out == 0
        }
        return output
    }
}

/// Decompresses the messages of one WebSocket direction.
final class Decompressor {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Starts a stream.
    init(_ container: DeflateContainer) {
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        inflateInit2_(self.stream, container.windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Clears the window.
    func reset() { inflateReset(self.stream) }

    /// Returns the decompressed bytes; nil when they are not valid deflate data or more than `limit`.
    func decompress(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        var input = bytes
        var output: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 16 * 1024)
        let stream = self.stream
        return input.withUnsafeMutableBufferPointer { source -> [UInt8]? in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = uInt(source.count)
            repeat {
                var result = Z_OK
                let count = scratch.withUnsafeMutableBufferPointer { target -> Int in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = uInt(target.count)
                    result = inflate(stream, Z_SYNC_FLUSH)
                    return target.count - Int(stream.pointee.avail_out)
                }
                guard result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END else { return nil }
                output.append(contentsOf: scratch[..<count])
                if output.count > limit { return nil }
                if result == Z_STREAM_END { self.reset() }
                if result == Z_BUF_ERROR { break }
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
            return output
        }
    }
}
