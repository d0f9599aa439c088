// Half of the mutations change whole pieces: the choices at the beginning, frames behind a head, lines.

/// Called by libFuzzer to change an input; bytes and dictionary words are its own business.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateEngineInput(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: CUnsignedInt
) -> Int {
    var mutator = EngineMutator(Array(UnsafeBufferPointer(start: bytes, count: count)), seed: seed)
    guard let mutated = mutator.mutated(), mutated.count <= limit else { return mutateBytes(bytes, count, limit) }
    _ = UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: mutated)
    return mutated.count
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Changes an input piece by piece.
struct EngineMutator {
    private let bytes: [UInt8]
    private var state: UInt64

    init(_ bytes: [UInt8], seed: CUnsignedInt) {
        self.bytes = bytes
        self.state = UInt64(seed)
    }

    /// A changed input; nil when its bytes are to be changed.
    mutating func mutated() -> [UInt8]? {
        guard self.bytes.count > 3, self.next(below: 2) == 0 else { return nil }
        let input = EngineInput(self.bytes)
        var choices = Array(self.bytes.prefix(3))
        if self.next(below: 6) == 0 {
            choices[self.next(below: 3)] ^= 1 << UInt8(self.next(below: 8))
            return choices + input.content
        }
        switch input.mode {
        case .headed where input.isWebSocket: return choices + self.changedFrames(input.content)
        case .lines: return choices + self.changedPieces(Self.lines(of: input.content)).joined()
        case .headed, .raw, .scripted: return nil
        }
    }

    private mutating func next(below bound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(self.state >> 33) % bound
    }

    // MARK: Pieces

    /// One piece repeated, moved or removed.
    private mutating func changedPieces(_ pieces: [[UInt8]]) -> [[UInt8]] {
        guard !pieces.isEmpty else { return pieces }
        var pieces = pieces
        let place = self.next(below: pieces.count)
        let piece = pieces[place]
        if self.next(below: 3) > 0 { pieces.remove(at: place) }
        if self.next(below: 3) > 0 { pieces.insert(piece, at: self.next(below: pieces.count + 1)) }
        return pieces
    }

    /// Lines with their ends.
    private static func lines(of content: [UInt8]) -> [[UInt8]] {
        content.split(separator: 0x0A).map { Array($0) + [0x0A] }
    }

    // MARK: Frames

    private struct Frame {
        /// FIN, the reserved bits and the opcode.
        var first: UInt8
        var payload: [UInt8]
        /// The number of bytes of the length: 0, 2 or 8 behind the byte that determines it.
        var lengthWidth: Int
        var isMasked = false

        init(_ first: UInt8, _ payload: [UInt8]) {
            self.first = first
            self.payload = payload
            self.lengthWidth = payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8
        }

        var bytes: [UInt8] {
            let count = self.payload.count
            let marker: UInt8 =
                self.lengthWidth == 0 ? UInt8(truncatingIfNeeded: count & 0x7F) : self.lengthWidth == 2 ? 126 : 127
            let length = (0..<self.lengthWidth).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
            return [self.first, marker | (self.isMasked ? 0x80 : 0)] + length + self.payload
        }
    }

    private mutating func changedFrames(_ content: [UInt8]) -> [UInt8] {
        var frames = Self.frames(of: content)
        let place = self.next(below: frames.count)
        switch self.next(below: 8) {
        case 0: frames[place].first ^= 1 << UInt8(self.next(below: 8))
        case 1: frames[place].lengthWidth = [0, 2, 8][self.next(below: 3)]
        case 2: frames[place].isMasked.toggle()
        case 3, 4: frames.insert(self.controlFrame(), at: self.next(below: frames.count + 1))
        case 5: frames.replaceSubrange(place...place, with: self.fragments(of: frames[place]))
        default: return Array(self.changedPieces(frames.map(\.bytes)).joined())
        }
        return frames.flatMap(\.bytes)
    }

    /// The frames in some bytes, one at least; a length beyond the end stops there.
    private static func frames(of content: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var rest = content[...]
        while rest.count >= 2, let first = rest.popFirst(), let second = rest.popFirst() {
            var length = Int(second & 0x7F)
            let width = length < 126 ? 0 : length == 126 ? 2 : 8
            if width > 0 { length = rest.prefix(width).reduce(0) { ($0 & 0xFF_FFFF) << 8 | Int($1) } }
            rest = rest.dropFirst(width)
            frames.append(Frame(first, Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        return frames.isEmpty ? [Frame(0x81, content)] : frames
    }

    /// A close frame, a ping or a pong, with lengths and codes around what is allowed.
    private mutating func controlFrame() -> Frame {
        let opcode = 8 + UInt8(self.next(below: 3))
        let count = [0, 1, 2, 3, 124, 125, 126][self.next(below: 7)]
        let codes = [
            999, 1_000, 1_003, 1_004, 1_005, 1_006, 1_007, 1_011, 1_014, 1_015, 1_016, 2_999, 3_000, 4_999, 5_000,
        ]
        let code = codes[self.next(below: codes.count)]
        let filler = [UInt8](repeating: [0x61, 0xFF][self.next(below: 8) / 7], count: 126)
        return Frame(0x80 | opcode, Array(([UInt8(code >> 8), UInt8(code & 0xFF)] + filler).prefix(count)))
    }

    /// A frame as two fragments.
    private mutating func fragments(of frame: Frame) -> [Frame] {
        let cut = self.next(below: frame.payload.count + 1)
        let first = Frame(frame.first & 0x7F, Array(frame.payload[..<cut]))
        return [first, Frame(frame.first & 0x80, Array(frame.payload[cut...]))]
    }
}
