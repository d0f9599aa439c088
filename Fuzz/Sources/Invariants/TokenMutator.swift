// Half of the mutations keep a text JSON, or nearly: values are replaced, members repeated, characters inserted.

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Changes a JSON text by tokens.
public struct TokenMutator {
    /// Changes an input of libFuzzer in place; bytes and dictionary words are libFuzzer's own business.
    ///
    /// A target of JSON calls it from its `LLVMFuzzerCustomMutator`.
    public static func mutate(
        _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, limit: Int, seed: CUnsignedInt
    ) -> Int {
        var mutator = Self(UnsafeBufferPointer(start: bytes, count: count), seed: seed)
        guard let mutated = mutator.mutated(), mutated.count <= limit else { return mutateBytes(bytes, count, limit) }
        _ = UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: mutated)
        return mutated.count
    }

    private var tokens: [[UInt8]] = []
    private var state: UInt64

    /// Values of every type.
    private static let values = [
        "null", "true", "false", "0", "-1", "1.5", "7", "1e999", "18446744073709551616", "999999999999999999", "\"\"",
        "\"x\"", "\"12\"", "{}", "[]", "[1]", "{\"a\":1}",
    ].map { Array($0.utf8) }

    /// The characters of a string, escaped or not.
    private static let characters = [
        "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u0000", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "é", "😀", "x",
    ].map { Array($0.utf8) }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, seed: CUnsignedInt) {
        self.state = UInt64(seed)
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = Self.tokenByteCount(rest)
            self.tokens.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }

    /// Returns a changed text; nil when its bytes are to be changed, or it has no token.
    private mutating func mutated() -> [UInt8]? {
        guard self.next(below: 2) == 0 else { return nil }
        for _ in 0...self.next(below: 2) {
            guard self.mutate() else { return nil }
        }
        return Array(self.tokens.joined())
    }

    /// Changes a token; returns false when there is none.
    private mutating func mutate() -> Bool {
        let members = self.tokens.indices.filter { self.isMember($0) }
        guard !members.isEmpty else { return false }
        let scalar = self.choose(from: self.tokens.indices.filter { self.isScalar($0) })
        let member = self.choose(from: members)
        switch self.next(below: 8) {
        case 0, 1: self.tokens[scalar] = Self.values[self.next(below: Self.values.count)]
        case 2: self.tokens[member + 2] = self.tokens[scalar]
        case 3, 4: self.insertCharacter(into: scalar)
        case 5, 6:
            let copy = self.tokens[member...member + 2] + [[UInt8(ascii: ",")]]
            self.tokens.insert(contentsOf: copy, at: self.choose(from: members))
        default: self.tokens.removeSubrange(member..<min(self.tokens.count, member + 4))
        }
        return true
    }

    private mutating func choose(from places: [Int]) -> Int { places[self.next(below: places.count)] }

    /// Returns whether a token is a string, a number or a word.
    private func isScalar(_ place: Int) -> Bool {
        self.tokens.indices.contains(place) && !"{}[]:, \n\r\t".utf8.contains(self.tokens[place].first ?? 0)
    }

    /// Returns whether a token is the name of a member whose value is one token.
    private func isMember(_ place: Int) -> Bool {
        self.isScalar(place) && self.isScalar(place + 2) && self.tokens[place + 1] == [UInt8(ascii: ":")]
    }

    private mutating func insertCharacter(into place: Int) {
        let character = Self.characters[self.next(below: Self.characters.count)]
        let end = max(1, self.tokens[place].count - 1)
        self.tokens[place].insert(contentsOf: character, at: 1 + self.next(below: end))
    }

    private mutating func next(below bound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(self.state >> 33) % bound
    }

    /// Returns the byte count of a string, a bracket or the like, or a run of other bytes.
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
