// Bytes that never move, as the arena's do while they are read.

/// Pieces of bytes one behind the other, in memory of which 64 more bytes can be read.
/// - Safety: the bytes are written once, before anybody else can see them, and live as long as the value.
final class Lendable: @unchecked Sendable {
    /// The pieces, in order.
    let pieces: [UnsafeRawBufferPointer]
    private let memory: UnsafeMutableRawBufferPointer

    /// Copies pieces.
    init(_ pieces: [[UInt8]]) {
        let count = pieces.reduce(0) { $0 + $1.count }
        self.memory = .allocate(byteCount: count + 64, alignment: 64)
        var offset = 0
        var lent: [UnsafeRawBufferPointer] = []
        for piece in pieces {
            let target = UnsafeMutableRawBufferPointer(rebasing: self.memory[offset..<offset + piece.count])
            target.copyBytes(from: piece)
            lent.append(UnsafeRawBufferPointer(target))
            offset += piece.count
        }
        for index in offset..<offset + 64 { self.memory[index] = 0 }
        self.pieces = lent
    }

    deinit { self.memory.deallocate() }
}
