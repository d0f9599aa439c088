import StreamTransport

/// Messages in their order, each taken from the front in constant time.
///
/// It belongs to the service thread.
struct OutboundMessageQueue {
    /// The number of places that are kept when the queue becomes empty, so that few of a burst are allocated again.
    private static let keptCount = 128
    /// The number of taken places above which they are removed, when they are half of all.
    private static let takenLimit = 32

    private static let taken = OutboundMessage([], kind: .binary)

    /// The messages, behind places whose messages were taken.
    private var places: [OutboundMessage] = []
    private var takenCount = 0

    /// The number of messages.
    var count: Int { self.places.count - self.takenCount }

    /// Indicates whether there is no message.
    var isEmpty: Bool { self.places.count == self.takenCount }

    /// The message that is taken next.
    var first: OutboundMessage? { self.isEmpty ? nil : self.places[self.takenCount] }

    /// Appends a message.
    mutating func append(_ message: OutboundMessage) { self.places.append(message) }

    /// Takes the first message, of at least one, whose bytes are freed.
    mutating func removeFirst() {
        precondition(!self.isEmpty, "there is no message to take")
        self.places[self.takenCount] = Self.taken
        self.takenCount += 1
        if self.isEmpty {
            self.places.removeAll(keepingCapacity: self.places.capacity <= Self.keptCount)
            self.takenCount = 0
        } else if self.takenCount >= Self.takenLimit, self.takenCount * 2 >= self.places.count {
            self.places.removeFirst(self.takenCount)
            self.takenCount = 0
        }
    }

    /// Removes the newest messages except the first `count`.
    mutating func removeAll(after count: Int) {
        guard count < self.count else { return }
        self.places.removeLast(self.count - count)
    }

    /// Returns the number of messages before the first that meets a condition; that of all when none does.
    func count(before condition: (OutboundMessage) -> Bool) -> Int {
        let index = self.places[self.takenCount...].firstIndex(where: condition)
        return index.map { $0 - self.takenCount } ?? self.count
    }
}
