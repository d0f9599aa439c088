/// The boundaries between the slots' bytes, in a few bytes for each change of the slot.
///
/// It is a part of `ReplayChannel` and belongs to its owner. It is read in the order in which it was written.
///
/// # Memory
///
/// A run is encoded as its difference from the previous one: kind, output index, part index and length, each a number
/// of seven bits a byte. In a response that is five bytes where a run is shorter than 128 bytes, and six up to 16 KiB.
/// A server that finishes a part before it begins the next one makes one run for each slot. One that changes the slot
/// with every delta makes one for each delta: five bytes, beside a delta of some ten.
struct ReplayRunLog: Sendable {
    /// A stretch of bytes that belong to one slot.
    struct Run: Equatable, Sendable {
        var slot: ReplaySlot
        /// The offset behind the run's last byte.
        var end: Int

        /// The predecessor of the first run.
        static let none = Self(slot: ReplaySlot(.text, outputIndex: 0), end: 0)
    }

    /// A place between two runs.
    struct Position: Sendable {
        /// The run before it.
        fileprivate(set) var run: Run = .none
        fileprivate var offset = 0

        /// Before the first run.
        static let start = Self()
    }

    private var code: [UInt8] = []
    private var last: Run = .none

    /// The size of the runs, in bytes.
    var byteCount: Int { self.code.count }

    /// Adds a run; it must not end before the previous one.
    mutating func append(_ run: Run) {
        self.append(UInt64(run.slot.kind.code))
        self.append(Self.zigzag(run.slot.outputIndex &- self.last.slot.outputIndex))
        self.append(Self.zigzag(run.slot.partIndex &- self.last.slot.partIndex))
        self.append(UInt64(run.end - self.last.end))
        self.last = run
    }

    /// Moves a position behind the next run, which becomes its `run`; returns false at the end.
    func advance(_ position: inout Position) -> Bool {
        guard position.offset < self.code.count else { return false }
        let kind = ReplaySlot.Kind(code: Int(self.number(at: &position.offset)))
        let outputIndex = Self.unzigzag(self.number(at: &position.offset)) &+ position.run.slot.outputIndex
        let partIndex = Self.unzigzag(self.number(at: &position.offset)) &+ position.run.slot.partIndex
        position.run.slot = ReplaySlot(kind, outputIndex: outputIndex, partIndex: partIndex)
        position.run.end += Int(self.number(at: &position.offset))
        return true
    }

    /// Appends a number with seven bits a byte, the lowest first; the eighth bit marks that more follow.
    private mutating func append(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            self.code.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.code.append(UInt8(rest))
    }

    private func number(at offset: inout Int) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = self.code[offset]
            offset += 1
            number |= UInt64(byte & 0x7F) << shift
            guard byte > 0x7F else { return number }
            shift += 7
        }
    }

    /// Maps a difference to a number that is small when the difference is, for either sign.
    private static func zigzag(_ difference: Int) -> UInt64 {
        UInt64(bitPattern: Int64((difference << 1) ^ (difference >> (Int.bitWidth - 1))))
    }

    private static func unzigzag(_ number: UInt64) -> Int {
        Int(truncatingIfNeeded: (number >> 1) ^ (0 &- (number & 1)))
    }
}

extension ReplaySlot.Kind {
    /// The number of the kind in a log.
    fileprivate var code: Int {
        switch self {
        case .text: 0
        case .refusal: 1
        case .reasoningSummary: 2
        case .reasoningText: 3
        case .toolCall: 4
        }
    }

    /// Creates the kind with a number that `code` returned.
    fileprivate init(code: Int) {
        switch code {
        case 0: self = .text
        case 1: self = .refusal
        case 2: self = .reasoningSummary
        case 3: self = .reasoningText
        default: self = .toolCall
        }
    }
}
