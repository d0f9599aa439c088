/// A set of output indices, one bit each.
///
/// It is a part of `ResponseOrder` and belongs to its owner. It grows with its largest index, to 8 KiB at most.
struct ItemIndexSet: Sendable {
    /// The largest index that the set can hold.
    static let maximumIndex = 65_535

    private var words: [UInt64] = []

    /// Indicates whether no index is in the set.
    var isEmpty: Bool { self.words.isEmpty }

    /// Returns the first index above all that are in the set and not in another one.
    func end(besides other: Self = Self()) -> Int {
        for word in self.words.indices.reversed() {
            let own = self.words[word] & ~(other.words.indices.contains(word) ? other.words[word] : 0)
            if own != 0 { return (word + 1) << 6 - own.leadingZeroBitCount }
        }
        return 0
    }

    /// Returns whether the index is in the set.
    func contains(_ index: Int) -> Bool {
        let word = index >> 6
        return self.words.indices.contains(word) && self.words[word] & (1 << UInt64(index & 63)) != 0
    }

    /// Adds an index from 0 to the largest; returns false when it was present.
    mutating func insert(_ index: Int) -> Bool {
        precondition(index >= 0 && index <= Self.maximumIndex, "an index out of range")
        guard !self.contains(index) else { return false }
        let word = index >> 6
        if word >= self.words.count {
            self.words.append(contentsOf: repeatElement(0, count: word + 1 - self.words.count))
        }
        self.words[word] |= 1 << UInt64(index & 63)
        return true
    }

    /// The number of leading indices 0, 1, 2 … before the first that is not in the set.
    var leadingCount: Int {
        var count = 0
        for word in self.words {
            count += (~word).trailingZeroBitCount
            guard word == .max else { break }
        }
        return count
    }
}
