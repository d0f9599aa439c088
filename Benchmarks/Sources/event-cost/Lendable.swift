// Bytes that never move, like those of the arena while they are read.

/// Contiguous pieces of bytes, followed by 64 readable bytes.
///
/// The events in them have numbers of nine digits, which rise each time a piece is lent: the engine drops an event with
/// a number that came before.
/// - Safety: it is used on one thread alone, and its bytes live as long as it does.
final class Lendable: @unchecked Sendable {
    /// The pieces, in order.
    let pieces: [UnsafeRawBufferPointer]
    private let memory: UnsafeMutableRawBufferPointer
    /// The offset after the last digit of each number, by the piece that the number begins in.
    private var numberEnds: [[Int]]
    /// The number of events.
    private var numberCount = 0
    /// The digit of the thousands in each piece's number, when there are a thousand pieces of one event each.
    private var thousands: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>?

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
        self.numberEnds = Array(repeating: [], count: pieces.count)
        let name = Array(#""sequence_number":"#.utf8)
        var piece = 0
        var pieceEnd = pieces.first?.count ?? 0
        var index = 0
        while index + name.count + Self.digitCount <= offset {
            while index >= pieceEnd {
                piece += 1
                pieceEnd += pieces[piece].count
            }
            if self.memory[index] == name[0], self.memory[index..<index + name.count].elementsEqual(name) {
                index += name.count + Self.digitCount
                self.numberEnds[piece].append(index)
                self.numberCount += 1
            } else {
                index += 1
            }
        }
        guard self.numberCount == 1_000, self.numberEnds.allSatisfy({ $0.count == 1 }),
            let start = self.memory.baseAddress
        else { return }
        let thousands = UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>.allocate(capacity: 1_000)
        for (piece, ends) in self.numberEnds.enumerated() {
            let digit = (start + ends[0] - 4).assumingMemoryBound(to: UInt8.self)
            (thousands + piece).initialize(to: digit)
        }
        self.thousands = thousands
    }

    /// The number of digits of an event's number.
    static let digitCount = 9

    /// The first number of a workload: the smallest with that number of digits.
    static let firstNumber = 100_000_000

    /// Returns a piece with event numbers that follow those of its last time.
    @inline(__always)
    func renumbered(_ piece: Int) -> UnsafeRawBufferPointer {
        if let place = self.thousands?[piece] {
            // A thousand messages with a number each: usually one digit changes.
            place.pointee += 1
            if place.pointee > UInt8(ascii: "9") {
                place.pointee = UInt8(ascii: "0")
                self.add(1, at: self.numberEnds[piece][0] - 5)
            }
            return self.pieces[piece]
        }
        for end in self.numberEnds[piece] { self.add(self.numberCount, at: end - 1) }
        return self.pieces[piece]
    }

    @inline(never)
    private func add(_ count: Int, at lowest: Int) {
        var rest = count
        var place = lowest
        while rest > 0 {
            let sum = Int(self.memory[place] & 0x0F) + rest % 10
            self.memory[place] = UInt8(ascii: "0") + UInt8(sum % 10)
            rest = rest / 10 + sum / 10
            place -= 1
        }
    }

    deinit {
        self.thousands?.deallocate()
        self.memory.deallocate()
    }
}
