// Half of the mutations keep a text JSON, or nearly: whole tokens are replaced, repeated and removed.

/// Called by libFuzzer to change an input; bytes and dictionary words are its own business.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateEvent(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: CUnsignedInt) -> Int {
    var mutator = TokenMutator(UnsafeBufferPointer(start: bytes, count: count), seed: seed)
    guard let mutated = mutator.mutated(), mutated.count <= limit else { return mutateBytes(bytes, count, limit) }
    UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: mutated)
    return mutated.count
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Changes a JSON text by tokens.
struct TokenMutator {
    private var tokens: [[UInt8]] = []
    private var state: UInt64

    /// Values of every type, and what stands between them.
    private static let words = [
        "null", "true", "false", "0", "-1", "1.5", "7", "1e999", "18446744073709551616", "999999999999999999", "\"\"",
        "\"x\"", "\"\\ud800\"", "\"\\u0000\"", "\"12\"", "{}", "[]", "[1]", "{\"a\":1}", ",", ":", " ",
    ].map { Array($0.utf8) }

    init(_ bytes: UnsafeBufferPointer<UInt8>, seed: CUnsignedInt) {
        self.state = UInt64(seed)
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = Self.tokenByteCount(rest)
            self.tokens.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }

    /// A changed text; nil when its bytes are to be changed, or there is nothing to change.
    mutating func mutated() -> [UInt8]? {
        guard self.tokens.count > 1, self.next(below: 2) == 0 else { return nil }
        for _ in 0...self.next(below: 3) { self.mutate() }
        return Array(self.tokens.joined())
    }

    private mutating func mutate() {
        let place = self.next(below: self.tokens.count)
        // A member or an element is one to four tokens.
        let run = place..<min(self.tokens.count, place + 1 + self.next(below: 4))
        let word = Self.words[self.next(below: Self.words.count)]
        let target = self.next(below: self.tokens.count)
        switch self.next(below: 5) {
        case 0, 1: self.tokens[place] = word
        case 2: self.tokens[target] = self.tokens[place]
        case 3: self.tokens.insert(contentsOf: self.tokens[run], at: target)
        default: if run.count < self.tokens.count { self.tokens.removeSubrange(run) }
        }
    }

    private mutating func next(below bound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(self.state >> 33) % bound
    }

    /// A string, a bracket or the like, or a run of anything else.
    private static func tokenByteCount(_ bytes: ArraySlice<UInt8>) -> Int {
        let marks = Array("{}[]:,\" \n\r\t".utf8)
        guard bytes.first == UInt8(ascii: "\"") else { return max(1, bytes.prefix { !marks.contains($0) }.count) }
        var isEscaped = false
        for (count, byte) in bytes.dropFirst().enumerated() {
            if !isEscaped, byte == UInt8(ascii: "\"") { return count + 2 }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return bytes.count
    }
}
