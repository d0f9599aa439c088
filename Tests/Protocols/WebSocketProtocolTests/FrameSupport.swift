// Frames of a server, and what a reader makes of them, for the tests of this module.

import WebSocketProtocol

/// Builds frames as a server sends them, and as it must not.
struct ServerFrame {
    /// The first byte's low four bits.
    var opcode: UInt8
    /// The payload.
    var payload: [UInt8] = []
    /// FIN.
    var isFinal = true
    /// The three reserved bits, RSV1 being 4.
    var reservedBits: UInt8 = 0
    /// The key of a frame that must not be masked.
    var maskingKey: [UInt8]?

    /// The bytes on the wire.
    var bytes: [UInt8] {
        var bytes = [(self.isFinal ? 0x80 : 0) | self.reservedBits << 4 | self.opcode]
        let mask: UInt8 = self.maskingKey == nil ? 0 : 0x80
        switch self.payload.count {
        case ...125: bytes.append(mask | UInt8(self.payload.count))
        case ...0xFFFF: bytes += [mask | 126] + Self.bigEndian(self.payload.count, byteCount: 2)
        default: bytes += [mask | 127] + Self.bigEndian(self.payload.count, byteCount: 8)
        }
        guard let key = self.maskingKey else { return bytes + self.payload }
        return bytes + key + self.payload.enumerated().map { $1 ^ key[$0 & 3] }
    }

    static func bigEndian(_ value: Int, byteCount: Int) -> [UInt8] {
        (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static func text(_ text: String, isFinal: Bool = true, reservedBits: UInt8 = 0) -> [UInt8] {
        Self(opcode: 1, payload: Array(text.utf8), isFinal: isFinal, reservedBits: reservedBits).bytes
    }

    static func binary(_ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
        Self(opcode: 2, payload: payload, isFinal: isFinal).bytes
    }

    static func continuation(_ payload: [UInt8], isFinal: Bool) -> [UInt8] {
        Self(opcode: 0, payload: payload, isFinal: isFinal).bytes
    }

    static func close(_ code: UInt16, reason: [UInt8] = []) -> [UInt8] {
        Self(opcode: 8, payload: Self.bigEndian(Int(code), byteCount: 2) + reason).bytes
    }

    static func ping(_ payload: String) -> [UInt8] { Self(opcode: 9, payload: Array(payload.utf8)).bytes }

    static func pong(_ payload: String) -> [UInt8] { Self(opcode: 10, payload: Array(payload.utf8)).bytes }
}

/// The elements of a reader, with the pieces of a message assembled.
enum ReadElement: Equatable {
    case message(MessageKind, isCompressed: Bool, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseFrame)
    case failure(FrameError)

    static func text(_ text: String) -> Self { .message(.text, isCompressed: false, Array(text.utf8)) }
}

/// Reads chunks and collects their elements.
struct FrameCollector {
    private(set) var elements: [ReadElement] = []
    private(set) var pieceCount = 0
    private var reader: FrameReader
    private var payload: [UInt8] = []
    private var expectsFirst = true

    init(configuration: FrameReader.Configuration = .init()) { self.reader = FrameReader(configuration: configuration) }

    /// Reads the bytes in chunks of the sizes given, the rest at once.
    static func read(
        _ bytes: [UInt8], chunkSizes: [Int] = [], configuration: FrameReader.Configuration = .init()
    ) -> [ReadElement] {
        var collector = Self(configuration: configuration)
        var start = 0
        for size in chunkSizes {
            collector.feed(Array(bytes[start..<(start + size)]))
            start += size
        }
        collector.feed(Array(bytes[start...]))
        return collector.elements
    }

    mutating func feed(_ chunk: [UInt8]) {
        if case .failure = self.elements.last { return }
        chunk.withUnsafeBytes { bytes in
            var position = 0
            do throws(FrameError) {
                while let element = try self.reader.next(in: bytes, at: &position) { self.take(element, of: bytes) }
                precondition(position == bytes.count, "the reader stopped early")
            } catch {
                self.elements.append(.failure(error))
            }
        }
    }

    private mutating func take(_ element: FrameReader.Element, of chunk: UnsafeRawBufferPointer) {
        switch element {
        case .data(let piece, let range):
            precondition(piece.isFirst == self.expectsFirst, "the first piece and only it says that it is the first")
            precondition(piece.isLast || !range.isEmpty, "only the last piece may be empty")
            self.pieceCount += 1
            self.payload += chunk[range]
            self.expectsFirst = piece.isLast
            guard piece.isLast else { return }
            self.elements.append(.message(piece.kind, isCompressed: piece.isCompressed, self.payload))
            self.payload = []
        case .ping: self.elements.append(.ping(self.reader.controlPayload))
        case .pong: self.elements.append(.pong(self.reader.controlPayload))
        case .close:
            guard let frame = self.reader.closeFrame else { preconditionFailure("a close without its frame") }
            self.elements.append(.close(frame))
        }
    }
}

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

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}
