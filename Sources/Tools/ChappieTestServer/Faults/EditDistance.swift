// The edit distance of two words, for suggestions. Pure.

/// Finds the known word that is nearest to a mistyped one.
package enum EditDistance {
    /// Returns the number of letters that have to be inserted, removed, replaced or swapped with their neighbour to
    /// turn one word into the other (optimal string alignment).
    package static func between(_ first: String, _ second: String) -> Int {
        let first = Array(first.utf8)
        let second = Array(second.utf8)
        var beforeLast = [Int](repeating: 0, count: second.count + 1)
        var last = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                var cost = last[column] + (first[row] == second[column] ? 0 : 1)
                cost = min(cost, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[second.count]
    }

    /// Returns the candidate nearest to a word; one that begins with the word is nearer than any other.
    ///
    /// Nil when more than a third of the letters differ from every candidate's. Only the beginning of a very long word
    /// is compared.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let word = String(word.prefix(64))
        if !word.isEmpty, let completion = candidates.first(where: { $0.hasPrefix(word) }) { return completion }
        let near = candidates.map { (name: $0, distance: Self.between(word, $0)) }
            .filter { $0.distance * 3 <= max(word.utf8.count, $0.name.utf8.count) + 2 }
        return near.min { $0.distance < $1.distance }?.name
    }
}
