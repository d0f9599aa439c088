// A response's content at its consumer, and its amount: the values that the promise is about.

/// The output of one response, as a consumer concatenates it.
package struct ResponseContent: Sendable {
    /// The text, in UTF-8.
    package var text: [UInt8] = []
    /// The words of refusals, in UTF-8.
    package var refusal: [UInt8] = []
    /// The reasoning and its summaries, in UTF-8.
    package var reasoning: [UInt8] = []
    /// The finished tool calls.
    package var calls: [SimulatedCall] = []

    /// Creates empty content.
    package init() {}

    /// Text, and calls of functions.
    package init(text: String, reasoning: String = "", calls: [SimulatedCall] = []) {
        self.text = Array(text.utf8)
        self.reasoning = Array(reasoning.utf8)
        self.calls = calls
    }

    /// The amount of content.
    package var size: ContentSize {
        ContentSize(
            text: self.text.count, refusal: self.refusal.count, reasoning: self.reasoning.count,
            calls: self.calls.count)
    }

    /// True when the beginning of both is the same, so far in each channel.
    func isEqual(to other: Self, upTo size: ContentSize) -> Bool {
        self.text.prefix(size.text) == other.text.prefix(size.text)
            && self.refusal.prefix(size.refusal) == other.refusal.prefix(size.refusal)
            && self.reasoning.prefix(size.reasoning) == other.reasoning.prefix(size.reasoning)
            && self.calls.prefix(size.calls).elementsEqual(other.calls.prefix(size.calls)) { $0.isSame(as: $1) }
    }
}

/// The amount of a response, in each channel.
package struct ContentSize: Sendable, Equatable {
    /// Bytes of text.
    package var text = 0
    /// Bytes of refusals.
    package var refusal = 0
    /// Bytes of reasoning.
    package var reasoning = 0
    /// Finished tool calls.
    package var calls = 0

    /// So much of each.
    package init(text: Int = 0, refusal: Int = 0, reasoning: Int = 0, calls: Int = 0) {
        self.text = text
        self.refusal = refusal
        self.reasoning = reasoning
        self.calls = calls
    }

    /// Adds bytes of an atom.
    mutating func add(_ byteCount: Int, of content: SimulatedResponse.Atom.Content) {
        switch content {
        case .text: self.text += byteCount
        case .refusal: self.refusal += byteCount
        case .summary, .reasoning: self.reasoning += byteCount
        case .call: break
        }
    }

    /// The most bytes of one channel.
    var largestByteCount: Int { max(self.text, self.refusal, self.reasoning) }

    /// True when there is at least as much in every channel.
    func covers(_ other: Self) -> Bool {
        self.text >= other.text && self.refusal >= other.refusal && self.reasoning >= other.reasoning
            && self.calls >= other.calls
    }

    /// The smaller of two sizes in each channel.
    func intersection(_ other: Self) -> Self {
        Self(
            text: min(self.text, other.text), refusal: min(self.refusal, other.refusal),
            reasoning: min(self.reasoning, other.reasoning), calls: min(self.calls, other.calls))
    }
}
