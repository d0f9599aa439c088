/// The events of a kept response that another turn has delivered: all up to a number.
///
/// They are read like any others, as the rest of the response is compared with them, and nothing of them is passed on.
/// An event without a number belongs to the numbered one before it. It is a part of `Delivery` and belongs to its
/// owner.
struct EarlierDelivery: Sendable {
    private let lastNumber: Int
    /// Indicates whether the last of these events has been read.
    private(set) var isOver = false

    /// Creates the value before the first event.
    init(upTo lastNumber: Int) { self.lastNumber = lastNumber }

    /// Returns whether the next event of the response was delivered.
    mutating func includes(_ number: Int?) -> Bool {
        if let number, number > self.lastNumber { self.isOver = true }
        return !self.isOver
    }

    /// Records that an event was read.
    mutating func read(_ number: Int?) {
        if let number, number >= self.lastNumber { self.isOver = true }
    }

    /// Returns the failure of a response whose first events do not count from its beginning: it is not known which of
    /// them were delivered, or how its output begins.
    ///
    /// A server may count from 0 or from 1.
    func fault(ofFirst number: Int?, isOutput: Bool) -> AttemptFailure? {
        guard let number else { return isOutput ? .sequenceGap(expected: 0, found: nil) : nil }
        return number > 1 ? .sequenceGap(expected: 0, found: number) : nil
    }
}
