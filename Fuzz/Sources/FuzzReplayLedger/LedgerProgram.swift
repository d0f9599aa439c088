// From the input's bytes to operations on a ledger. Operations that repeat what the model expects lead far into
// replays.

import StreamSession

/// One thing that happens to a ledger.
enum LedgerOperation {
    case delta(ReplaySlot, [UInt8])
    case call(LedgerCall)
    case raw(type: String, outputIndex: Int?)
    case replay
    case replaySettling(Int)
    case finish
    case beginItem(Int, of: ItemKind)
    /// A slot is closed with its text, and what it has beyond the deltas follows.
    case close(ReplaySlot, [UInt8])
    /// A delta that may come behind the text that has closed its slot; it has at least one byte.
    case late(ReplaySlot, [UInt8])
    /// All texts of a kind are closed in the same way.
    case closeKind(ReplaySlot.Kind, [(slot: ReplaySlot, bytes: [UInt8])])
}

/// Reads operations from bytes; any bytes are valid.
struct LedgerProgram {
    private var bytes: ArraySlice<UInt8>
    /// More raw events than the ledger has counts for take long, and come once at most.
    private var mayFlood: Bool

    init(_ bytes: [UInt8], mayFlood: Bool) {
        self.bytes = bytes[...]
        self.mayFlood = mayFlood
    }

    /// The next operations; nil at the end.
    mutating func next(for model: LedgerModel) -> [LedgerOperation]? {
        guard let code = self.bytes.popFirst() else { return nil }
        if code >= 208 { return self.closing(code, for: model) }
        switch code % 13 {
        case 0, 1: return [.delta(self.slot(), self.text())]
        case 2, 3: return self.echo(of: model)
        case 4: return model.everythingExpected()
        case 5: return [.call(self.call())]
        case 6: return model.expectedCall.map { [.call($0)] } ?? []
        case 7: return [.raw(type: self.type(), outputIndex: self.optionalIndex())]
        case 8: return [.replay]
        case 9: return [.replaySettling(self.index())]
        case 10: return [.finish]
        case 11: return self.flood()
        // A response that continues where it broke repeats no output, and the ledger receives no input.
        default: return []
        }
    }

    mutating func byte() -> Int { Int(self.bytes.popFirst() ?? 0) }

    // MARK: Values

    /// A small index, or one at the end of what there is.
    mutating func index() -> Int {
        let ends = [Int.min, .min + 1, -2, -1, .max - 1, .max]
        let byte = self.byte()
        return byte < 0x80 ? byte % 4 : ends[byte % ends.count]
    }

    private mutating func optionalIndex() -> Int? { self.byte() % 3 == 0 ? nil : self.index() }

    mutating func slot() -> ReplaySlot {
        let kinds = ReplaySlot.Kind.allCases
        return ReplaySlot(kinds[self.byte() % kinds.count], outputIndex: self.index(), partIndex: self.index())
    }

    /// One to four bytes a scalar; some of them share their first bytes, and some make one cluster of two.
    private static let scalars = [
        "a", "b", "\u{E9}", "e", "\u{301}", "😀", "😁", "\u{FFFD}", "\r", "\n", "\0", "\u{20AC}", "\u{20AD}",
    ].map { Array($0.utf8) }

    private mutating func text() -> [UInt8] {
        let byte = self.byte()
        let count = [0, 1, 2, 3, 5, 9, 17, 130][byte % 8]
        return (0..<count).flatMap { Self.scalars[(byte / 8 + $0) % Self.scalars.count] }
    }

    private mutating func word() -> String {
        let words = ["", "a", "b", "\u{E9}", "e\u{301}", "{\"a\":1}", String(repeating: "w", count: 200)]
        return words[self.byte() % words.count]
    }

    private mutating func call() -> LedgerCall {
        let byte = self.byte()
        let outputIndex = self.index()
        let words = [byte % 2 == 0 ? "f" : "c", self.word(), byte % 3 == 0 ? self.word() : "", self.word()]
        return LedgerCall(outputIndex: outputIndex, content: Array(words.joined(separator: "\n").utf8))
    }

    private mutating func type() -> String {
        let byte = self.byte()
        return byte < 0x40 ? "type \(byte)" : String(repeating: "t", count: byte)
    }

    // MARK: Several at once

    /// A part of what a channel expects, as it was or with a change, and perhaps more behind it.
    private mutating func echo(of model: LedgerModel) -> [LedgerOperation] {
        let choice = self.byte()
        guard let (slot, expected) = model.expected(in: LedgerChannel.allCases[choice % 4]) else { return [] }
        let scalarCount = 1 + self.byte()
        var text = Array(String(decoding: expected, as: UTF8.self).unicodeScalars.prefix(scalarCount))
        switch choice / 4 % 8 {
        case 0: text[self.byte() % text.count] = "c"
        case 1, 2: return [.delta(slot, Array(String(String.UnicodeScalarView(text)).utf8) + self.text())]
        case 3: return [.delta(self.slot(), Array(String(String.UnicodeScalarView(text)).utf8))]
        default: break
        }
        return [.delta(slot, Array(String(String.UnicodeScalarView(text)).utf8))]
    }

    /// More types or items than the ledger counts apart.
    private mutating func flood() -> [LedgerOperation] {
        let choice = self.byte()
        let count = self.byte()
        guard choice % 64 > 61, self.mayFlood else { return [] }
        self.mayFlood = false
        guard choice % 2 == 0 else {
            return (0..<count * 2).map { .raw(type: "flood \(choice + $0)", outputIndex: nil) }
        }
        return (0..<count * 20).map { .raw(type: "item", outputIndex: $0 + choice) }
    }
}

/// A way to cut the deltas of a program.
enum LedgerCut {
    /// Each scalar is a delta.
    case scalars
    /// Deltas that follow each other in one slot are one.
    case merged
    /// Both, here and there.
    case random

    /// The program with its deltas cut so, and without raw events, which a delta's cut has no influence on.
    func applied(to operations: [LedgerOperation]) -> [LedgerOperation] {
        let operations = operations.filter { !$0.isRaw }
        return switch self {
        case .scalars: operations.flatMap { $0.scalars }
        case .merged: Self.merge(operations) { true }
        case .random: Self.random(operations)
        }
    }

    private static func random(_ operations: [LedgerOperation]) -> [LedgerOperation] {
        var state = UInt64(operations.count) &+ 0x9E37_79B9_7F4A_7C15
        return Self.merge(operations.flatMap { $0.scalars }) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 62 != 0
        }
    }

    private static func merge(_ operations: [LedgerOperation], if joins: () -> Bool) -> [LedgerOperation] {
        var result: [LedgerOperation] = []
        for operation in operations {
            if case .delta(let slot, let bytes) = operation, case .delta(slot, let before)? = result.last, joins() {
                result[result.count - 1] = .delta(slot, before + bytes)
            } else {
                result.append(operation)
            }
        }
        return result
    }
}

extension LedgerOperation {
    fileprivate var isRaw: Bool {
        guard case .raw = self else { return false }
        return true
    }

    /// A delta as deltas of one scalar; any other operation unchanged.
    fileprivate var scalars: [LedgerOperation] {
        guard case .delta(let slot, let bytes) = self, !bytes.isEmpty else { return [self] }
        return String(decoding: bytes, as: UTF8.self).unicodeScalars.map { .delta(slot, Array(String($0).utf8)) }
    }
}
