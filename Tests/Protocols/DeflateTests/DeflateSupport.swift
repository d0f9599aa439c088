// Data for the tests of this module, and zlib in one call to compare with.

import CZlib
import Deflate
import WebSocketProtocol

/// Repeatable random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// Bytes that compress a little, a lot, or not at all.
    mutating func content(upTo limit: Int) -> [UInt8] {
        let count = Int.random(in: 0...limit, using: &self)
        switch Int.random(in: 0...2, using: &self) {
        case 0: return (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
        case 1: return [UInt8](repeating: 0x61, count: count)
        default:
            let words = ["data: ", "{\"type\":\"response.output_text.delta\"", "héllo 😀", "\n\n", "0", "xyz"]
            var bytes: [UInt8] = []
            while bytes.count < count { bytes += Array((words.randomElement(using: &self) ?? "").utf8) }
            return bytes
        }
    }

    /// Sizes that add up to the count.
    mutating func chunkSizes(of count: Int) -> [Int] {
        var sizes: [Int] = []
        var rest = count
        while rest > 0 {
            let size = Int.random(in: 0...min(rest, Int.random(in: 1...500, using: &self)), using: &self)
            sizes.append(size)
            rest -= size
        }
        return sizes
    }
}

/// zlib in one call, for known data.
enum OneCallZlib {
    /// Compresses; `windowBits` says the format as zlib does.
    static func compress(
        _ input: [UInt8], windowBits: CInt, level: CInt = Z_DEFAULT_COMPRESSION, flush: CInt = Z_FINISH
    ) -> [UInt8] {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        let result = deflateInit2_(
            stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        precondition(result == Z_OK)
        var input = input
        var output = [UInt8](repeating: 0, count: Int(deflateBound(stream, uLong(input.count))) + 64)
        let capacity = output.count
        let left = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.pointee.next_in = source.baseAddress
                stream.pointee.avail_in = uInt(source.count)
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = uInt(target.count)
                _ = deflate(stream, flush)
                return Int(stream.pointee.avail_out)
            }
        }
        deflateEnd(stream)
        return Array(output.prefix(capacity - left))
    }

    static func gzip(_ input: [UInt8]) -> [UInt8] { Self.compress(input, windowBits: 15 + 16) }

    static func zlib(_ input: [UInt8]) -> [UInt8] { Self.compress(input, windowBits: 15) }

    static func raw(_ input: [UInt8]) -> [UInt8] { Self.compress(input, windowBits: -15) }

    /// The payload of a message: raw deflate, flushed, without the last four bytes.
    static func message(_ input: [UInt8], level: CInt = Z_DEFAULT_COMPRESSION) -> [UInt8] {
        Array(Self.compress(input, windowBits: -15, level: level, flush: Z_SYNC_FLUSH).dropLast(4))
    }

    /// The payload of a message that ends with a final block.
    static func finalMessage(_ input: [UInt8]) -> [UInt8] { Self.raw(input) + [0] }
}

extension [UInt8] {
    /// The bytes cut into chunks of these sizes, the rest last.
    func chunks(of sizes: [Int]) -> [[UInt8]] {
        var start = 0
        var chunks: [[UInt8]] = []
        for size in sizes {
            chunks.append(Array(self[start..<(start + size)]))
            start += size
        }
        return chunks + [Array(self[start...])]
    }

    /// Lends the bytes for writing, with a typed error.
    mutating func lendMutable(
        _ body: (UnsafeMutableRawBufferPointer) throws(DeflateError) -> Void
    ) throws(DeflateError) {
        let result = self.withUnsafeMutableBytes { bytes in
            Result { () throws(DeflateError) in try body(bytes) }
        }
        try result.get()
    }

    /// Lends the bytes to a call that throws `DeflateError`.
    func lend<Value>(_ body: (UnsafeRawBufferPointer) throws(DeflateError) -> Value) throws(DeflateError) -> Value {
        try self.withUnsafeBufferPointer { run throws(DeflateError) in try body(UnsafeRawBufferPointer(run)) }
    }
}
