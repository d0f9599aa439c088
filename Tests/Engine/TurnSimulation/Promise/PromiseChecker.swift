// The promise, as a pure value: it is told what the server said, what the engine did and what the consumer got.

/// Watches one instance over its turns, and says when a promise is broken.
///
/// It belongs to the simulation. It draws no chance and reads no clock.
package struct PromiseChecker: Sendable {
    /// A broken promise.
    package struct Violation: Error, Sendable, CustomStringConvertible {
        /// The promise.
        package let promise: Promise
        /// The description of the violation.
        package let description: String
    }

    /// The promise that is checked.
    package enum Promise: String, Sendable, CaseIterable {
        /// The delivered output is a prefix of the newest answer's.
        case prefix
        /// No received output is held back.
        case noGap
        /// An answer that contradicts what was delivered ends the turn.
        case noMixture
        /// An answer without a contradiction is not said to have one.
        case noFalseContradiction
        /// `completed` comes once, last, and when everything was delivered.
        case completion
        /// No event follows the end.
        case silenceAfterEnd
        /// No more output than the limits allow.
        case bounds
        /// A divergence is one, and carries what was delivered.
        case divergence
        /// One request at a time.
        case oneRequest
        /// No more requests than the policies allow.
        case requestBudget
        /// A request is repeated only where the policy allows it.
        case repetition
        /// No request after the end or a cancellation.
        case noRequestAfterEnd
        /// Each tool runs at most once.
        case oneExecution
        /// A turn ends, and in time.
        case ends
        /// Only documented errors are thrown.
        case documentedErrors
        /// The replay safety of an error is true.
        case replaySafety
        /// Delays between attempts are those of the policies.
        case delays
        /// Every connection is closed or kept at the end: one WebSocket at most, and one that is being opened.
        case connections
    }

    /// The condition under which a request may be repeated.
    package enum Repetition: Sendable {
        /// Whatever was delivered: the answer is compared.
        case always
        /// Before any output was delivered; the rest of a response may be asked for.
        case beforeOutput
        /// Never, once the server may have it and has not refused it.
        case never
    }

    /// The limits of a turn.
    package struct Limits: Sendable {
        /// The largest number of requests.
        package var requestCount = Int.max
        /// The condition under which a request may be repeated.
        package var repetition = Repetition.always
        /// The time by which the turn must be over.
        package var end: Duration?
        /// The largest number of answers that may replace an earlier one.
        package var restartCount = 0
        /// Indicates whether finished calls are handed to the consumer.
        package var deliversCalls = true
        /// The largest number of bytes of each kind of output.
        package var outputByteCount = Int.max
        /// The longest time of a connection without an event of its response.
        package var progress: Duration?
        /// The delays that the policies allow.
        package var delays = DelayRules()

        /// No limits.
        package init() {}
    }

    struct Connection {
        let isWebSocket: Bool
        var isOpen = true
        var isEstablished = false
        /// A request was sent in the turn at hand.
        var hasSent = false
    }

    /// The answer whose output was handed to the engine last.
    struct Answer {
        let connection: Int
        let content: ResponseContent
        /// The amount of content that the engine has.
        var size: ContentSize
        var isComplete = false
        /// The part of it that has been refuted.
        var refutation: Refutation?
        /// The delivered content when the answer began.
        let sizeBefore: ContentSize
        /// The time of the last progress of the response; nil as long as it has no output.
        var lastProgress: Duration?
    }

    /// The first violation.
    package private(set) var violation: Violation?
    /// The content that the consumer has.
    package internal(set) var delivered = ResponseContent()
    var size = ContentSize()
    var limits = Limits()
    var answer: Answer?
    var connections: [Int: Connection] = [:]
    var requestCount = 0
    /// Indicates whether a server may have seen the whole request.
    var reachedServer = false
    /// Indicates whether it may, and has not refused it.
    var serverHasRequest = false
    /// Calls, by position, whose outputs the engine has asked for.
    var askedOutputs: Set<Int> = []
    var isCancelled = false
    var hasCompleted = false
    var isOver = false
    /// Indicates whether two answers have differed, or one has contradicted itself.
    var hasVaried = false
    /// The number of answers that have replaced an earlier one in this turn.
    var restartCount = 0
    /// Indicates whether an event that had come before has come as another one.
    var hasContradiction = false
    /// Indicates whether a response has contradicted itself.
    var isRefuted = false
    /// Indicates whether an answer of the turn has contradicted another one or itself, or may seem to have done so.
    var isDoubted = false

    /// An instance without a turn.
    package init() {}

    mutating func fail(_ promise: Promise, _ description: String) {
        guard self.violation == nil else { return }
        self.violation = Violation(promise: promise, description: "\(promise.rawValue): \(description)")
    }

    // MARK: Turns

    /// A turn begins.
    package mutating func began(_ limits: Limits) {
        self.limits = limits
        self.delivered = ResponseContent()
        self.size = ContentSize()
        self.answer = nil
        self.requestCount = 0
        self.reachedServer = false
        self.serverHasRequest = false
        self.askedOutputs = []
        self.isCancelled = false
        self.hasCompleted = false
        self.isOver = false
        self.hasVaried = false
        self.restartCount = 0
        self.hasContradiction = false
        self.isRefuted = false
        self.isDoubted = false
        self.connections = self.connections.filter { $0.value.isOpen }
        for id in self.connections.keys { self.connections[id]?.hasSent = false }
    }

    /// The consumer, or its task, has cancelled, or has gone.
    package mutating func cancelled() { self.isCancelled = true }

    /// An answer differs from an earlier one, or contradicts itself.
    package mutating func varied() {
        self.hasVaried = true
        self.isDoubted = true
    }

    /// An answer has events that another one or a client's mistake could explain.
    package mutating func doubted() { self.isDoubted = true }

    /// An event of a response that is resumed comes again as another one, which may have had no output.
    package mutating func contradicted() { self.hasContradiction = true }

    /// The caller has spent time that no budget of the engine covers.
    package mutating func extended(by duration: Duration) { self.limits.end = self.limits.end.map { $0 + duration } }

    // MARK: The server's side

    /// A request has an answer, of which the engine is known to have so much already.
    package mutating func answerBegan(
        on connection: Int, content: ResponseContent, from size: ContentSize
    ) {
        self.answer = Answer(connection: connection, content: content, size: size, sizeBefore: self.size)
    }

    /// The engine was given more of the answer: so much it has in all.
    package mutating func handed(
        on connection: Int, upTo size: ContentSize, isComplete: Bool, refutation: Refutation? = nil,
        now: Duration = .zero
    ) {
        guard let answer = self.answer, answer.connection == connection else { return }
        if answer.lastProgress != nil || answer.size != size { self.answer?.lastProgress = now }
        self.answer?.size = size
        if isComplete { self.answer?.isComplete = true }
        guard let refutation else { return }
        self.isDoubted = true
        self.answer?.refutation = refutation
        if refutation == .response { self.isRefuted = true }
    }

    /// The engine has dealt with everything that it was given, and asks for more.
    package mutating func asked(_ connection: Int, now: Duration = .zero) {
        guard !self.isOver, let answer = self.answer, answer.connection == connection else { return }
        guard self.connections[connection]?.isOpen ?? false else { return }
        let size = self.relevant(answer.size)
        guard answer.content.isEqual(to: self.delivered, upTo: size.intersection(self.size)) else {
            return self.fail(.noMixture, "the answer contradicts what was delivered, and the turn goes on")
        }
        if size.covers(answer.sizeBefore), size != self.size {
            self.fail(.noGap, "the engine has \(size), and the consumer \(self.size)")
        }
        guard !self.isCancelled else { return }
        if answer.isComplete { self.fail(.completion, "the response is complete, and the turn goes on") }
        if let refutation = answer.refutation {
            self.fail(.noMixture, "the \(refutation) has turned out to be untrue, and the turn goes on")
        }
        if let progress = self.limits.progress, let last = answer.lastProgress, now > last + progress {
            self.fail(.ends, "nothing was said of the response since \(last), and the turn goes on")
        }
    }

    /// Indicates whether a request is under way.
    var isAnswering: Bool { self.connections.values.contains { $0.isOpen && $0.hasSent } }

    /// The whole content of the newest answer.
    package var answerContent: ResponseContent? { self.answer?.content }

    func relevant(_ size: ContentSize) -> ContentSize {
        guard !self.limits.deliversCalls else { return size }
        var size = size
        size.calls = 0
        return size
    }
}
