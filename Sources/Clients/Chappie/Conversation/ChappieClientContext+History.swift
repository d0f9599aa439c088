/// The history of a conversation: its items as they are read by a program, replaced, and trimmed.
extension ChappieClientContext {
    /// Creates a conversation that begins with these items, such as messages of another program.
    public init(history: [ChappieHistoryItem]) {
        self.init()
        self.history = history
    }

    /// The items in order, each as what it is: a message with its role, text and pictures, a call, an output.
    ///
    /// They may be replaced, removed and added. A call belongs to its output and to the reasoning before it: servers
    /// refuse one without the other. `trim(toTurns:)` keeps them together.
    ///
    /// ```swift
    /// client.context.history.insert(ChappieHistoryItem(.developer("Answer in one sentence.")), at: 0)
    /// ```
    public var history: [ChappieHistoryItem] {
        get { self.itemTexts.map { ChappieHistoryItem(bytes: $0) } }
        set { self.itemTexts = newValue.map(\.bytes) }
    }

    /// The number of bytes of the items as they are sent; English text has about four bytes for each token.
    public var byteCount: Int { self.itemTexts.reduce(0) { $0 + $1.count } }

    /// Removes the oldest turns, so that at most this number of turns remains.
    ///
    /// A turn begins with the messages of the person or the program behind an answer, so that calls, outputs and
    /// reasoning stay together. The messages of the system and the program before the first turn stay. The next request
    /// is sent whole, and a server's prompt cache begins anew.
    public mutating func trim(toTurns count: Int) {
        let starts = self.turnStarts
        guard starts.count > count, let first = starts.first else { return }
        self.itemTexts.removeSubrange(first..<(count > 0 ? starts[starts.count - count] : self.itemTexts.count))
    }

    /// Removes the oldest turns, so that the items have at most this number of bytes.
    ///
    /// The newest turn stays, however large it is. See `trim(toTurns:)`.
    public mutating func trim(toByteCount limit: Int) {
        let starts = self.turnStarts
        guard let first = starts.first else { return }
        var byteCount = self.byteCount
        var end = first
        for start in starts.dropFirst() where byteCount > limit {
            byteCount -= self.itemTexts[end..<start].reduce(0) { $0 + $1.count }
            end = start
        }
        self.itemTexts.removeSubrange(first..<end)
    }

    /// The places where turns begin: at messages that are not the model's, behind others, while no call waits for its
    /// output.
    private var turnStarts: [Int] {
        var starts: [Int] = []
        var openCalls: Set<String> = []
        let history = self.history
        let head = history.prefix { $0.role == .system || $0.role == .developer }.count
        var isBehindInput = false
        for (index, item) in history.enumerated().dropFirst(head) {
            let isInput = item.role.map { $0 != .assistant } ?? false
            if isInput, !isBehindInput, openCalls.isEmpty { starts.append(index) }
            isBehindInput = isInput
            if let call = item.call { openCalls.insert(call.callID) }
            if let callID = item.answeredCallID { openCalls.remove(callID) }
        }
        return starts
    }
}
