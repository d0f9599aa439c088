// The median and the spread of several runs.

extension [Double] {
    /// The value in the middle, or the mean of the two in the middle; NaN when there is no value.
    public var median: Double {
        let sorted = self.sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// The distance of the lowest and the highest value as a share of the median, as text; empty for a single value.
    public var spread: String {
        guard let low = self.min(), let high = self.max(), self.count > 1, self.median != 0 else { return "" }
        return "\(Int(((high - low) / abs(self.median) * 100).rounded())) %"
    }
}
