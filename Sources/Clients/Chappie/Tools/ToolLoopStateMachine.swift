import ChappieTransport
import ResponseEvents

/// Decides the next actions of a turn with tools: which calls run and when, when the model is asked again, and when the
/// turn ends.
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the turn, inside `next()`. Calls are numbered
/// through the turn, so that late inputs are recognised.
struct ToolLoopStateMachine: Sendable {
    /// The rules of the turn.
    struct Rules: Sendable {
        /// The policies of the host's tools, by name.
        var policies: [String: ChappieToolPolicy]
        /// Indicates whether there is a handler for calls whose policy is `ask`.
        var canAsk: Bool
        /// The limits of the turn.
        var limits: ChappieRunLimits
        /// The schemas of the host's functions, by name; a custom tool has none.
        var schemas: [String: ChappieJSONValue] = [:]
        /// The host's custom tools, which take text.
        var textTools: Set<String> = []
    }

    /// The driver's tasks, in order.
    enum Action: Sendable, Equatable {
        /// Pass an event to the consumer, before the actions that follow.
        case deliver(ChappieStreamEvent)
        /// Ask for the approval of a call.
        case ask(Int)
        /// Run a call.
        case run(Int)
        /// Record an output.
        case record(Int, ToolOutput)
        /// Ask the model again, with all items so far.
        case askModel
        /// End the turn as complete.
        case finish
        /// End the turn with an error.
        case fail(ChappieClientError)
    }

    /// The outcome of a tool.
    enum Outcome: Sendable, Equatable {
        /// The result.
        case returned(ToolOutput)
        /// The text of the error that it threw.
        case threw(String)
    }

    /// The answer of the approval handler.
    enum Answer: Sendable, Equatable {
        /// The call may run.
        case approved
        /// The call may not run.
        case denied(String)
        /// The text of the error that the handler threw.
        case threw(String)
    }

    private enum State: Equatable {
        /// A response is being received; calls that it carries may run.
        case responding
        /// The response is complete, and its calls run.
        case answering
        case finished
    }

    /// The progress of a call.
    private enum Progress: Equatable {
        /// The approval is awaited.
        case asking
        /// The call may run, and waits for its turn.
        case queued
        case running
        case done(ToolOutput)
    }

    private struct Entry {
        let call: FinishedCall
        let policy: ChappieToolPolicy
        let startedAt: Duration
        var progress: Progress
    }

    private var state: State = .responding
    private var entries: [Entry] = []
    /// The calls of the newest complete response, in order.
    private var round: [Int] = []
    /// The number of calls of the responses before the one that is being received.
    private var earlierCallCount = 0
    private var responseCount = 0
    private let rules: Rules

    /// Creates the machine of a turn whose first response is being received.
    init(rules: Rules) { self.rules = rules }

    // MARK: What the driver asks

    /// Returns the call with a number.
    func call(_ number: Int) -> FinishedCall { self.entries[number].call }

    /// Returns the output of a call, once it has one.
    func output(of number: Int) -> ToolOutput? {
        guard case .done(let output) = self.entries[number].progress else { return nil }
        return output
    }

    /// The calls that have an output, whose responses are complete or broken.
    var answeredCalls: [FinishedCall] {
        self.entries.indices.filter { self.output(of: $0) != nil }.map { self.call($0) }
    }

    // MARK: Inputs

    /// Handles a complete response, with its calls that have no output yet.
    mutating func responseCompleted(
        calls: [FinishedCall], endsTurn: Bool, now: Duration
    ) -> [Action] {
        switch self.state {
        case .responding:
            self.responseCount += 1
            guard !calls.isEmpty || !endsTurn else {
                self.state = .finished
                return [.finish]
            }
            if let error = self.refusal(of: calls) { return self.fail(error) }
            self.state = .answering
            return self.begin(calls, now: now) + self.nextStep()
        case .answering, .finished:
            preconditionFailure("a response was complete that nobody asked for")
        }
    }

    /// Handles a finished call of a broken response that is to be sent back to the server; returns its number, and the
    /// actions that come first.
    ///
    /// Its output is available once `output(of:)` returns it. A call that was known before keeps its number and does
    /// not run again. The number is nil when the turn is over.
    mutating func callCarried(_ call: FinishedCall, now: Duration) -> (number: Int?, actions: [Action]) {
        switch self.state {
        case .responding:
            if let number = self.known(call) { return (number, []) }
            let number = self.entries.count
            if let error = self.refusal(of: [call], isLast: false) { return (nil, self.fail(error)) }
            return (number, self.start(call, now: now) + self.runQueued())
        case .answering, .finished:
            // The turn was cancelled while the engine was about to ask.
            return (nil, [])
        }
    }

    /// Handles the answer to a request for approval.
    mutating func answered(_ number: Int, _ answer: Answer, now: Duration) -> [Action] {
        // The turn may be over, and a call that is no longer waiting was answered twice.
        guard self.state != .finished, self.entries[number].progress == .asking else { return [] }
        switch answer {
        case .approved:
            self.entries[number].progress = .queued
            return self.runQueued()
        case .denied(let reason):
            let words = reason.isEmpty ? "The call was not approved." : reason
            return self.finished(number, ToolOutput(status: .denied, text: words, of: self.call(number)), now: now)
        case .threw(let message):
            return self.fail(
                .toolApprovalDenied(self.call(number).name, message), because: number, status: .denied,
                words: message, now: now)
        }
    }

    /// Handles the end of a tool.
    mutating func ended(_ number: Int, _ outcome: Outcome, now: Duration) -> [Action] {
        // The turn may be over: a later result of a tool has no effect.
        guard self.state != .finished, self.entries[number].progress == .running else { return [] }
        switch outcome {
        case .returned(let output):
            return self.finished(number, output, now: now)
        case .threw(let message):
            return self.fail(
                .toolExecutionFailed(self.call(number).name, message), because: number, status: .failed,
                words: message, now: now)
        }
    }

    /// Handles the end of the turn's time limit.
    mutating func timeLimitPassed(now: Duration) -> [Action] {
        switch self.state {
        case .responding, .answering:
            let cancelled = self.cancelOthers(now: now)
            return cancelled + self.fail(.runTimeLimitExceeded(self.rules.limits.duration ?? .zero))
        case .finished:
            // The last response was complete at the same moment.
            return []
        }
    }

    // MARK: Refusing

    /// Returns the reason for which calls cannot be answered; nil when they can.
    ///
    /// It is checked before any of them runs, so that none runs in vain.
    private func refusal(of calls: [FinishedCall], isLast: Bool = true) -> ChappieClientError? {
        let limits = self.rules.limits
        if isLast, self.responseCount >= limits.roundTrips { return .toolLoopLimitExceeded(limits.roundTrips) }
        let newCount = calls.count { self.known($0) == nil }
        if self.entries.count + newCount > limits.toolCalls { return .toolLoopLimitExceeded(limits.toolCalls) }
        for (index, call) in calls.enumerated() {
            guard let policy = self.rules.policies[call.toolName] else { return .missingToolHandler(call.toolName) }
            if policy == .ask, !self.rules.canAsk {
                return .toolApprovalDenied(call.name, "there is no approval handler")
            }
            // One output cannot answer two different calls.
            let isAnswerShared = calls[..<index].contains { $0.callID.isExactly(call.callID) && $0 != call }
            if isAnswerShared { return .invalidResponse }
        }
        return nil
    }

    private mutating func fail(_ error: ChappieClientError) -> [Action] {
        self.state = .finished
        return [.fail(error)]
    }

    /// Ends the turn because of one call: the consumer receives its end, and the cancellation of the others.
    private mutating func fail(
        _ error: ChappieClientError, because number: Int, status: ChappieToolStatus, words: String, now: Duration
    ) -> [Action] {
        let output = ToolOutput(status: status, text: words, of: self.call(number))
        self.entries[number].progress = .done(output)
        let result = self.result(of: number, output, now: now)
        return [.record(number, output), .deliver(result)] + self.cancelOthers(now: now) + self.fail(error)
    }

    /// Returns the events for calls that will not end.
    private func cancelOthers(now: Duration) -> [Action] {
        self.entries.indices.filter { self.output(of: $0) == nil }.map { number in
            let output = ToolOutput(status: .cancelled, text: "", of: self.call(number))
            return .deliver(self.result(of: number, output, now: now))
        }
    }

    // MARK: Calling

    /// Returns the number of a call that this response, or a broken attempt at it, has had before.
    ///
    /// A call with the same identifier and other content is another call. So is one of an earlier response: servers
    /// number calls by response (reported: vllm-project/vllm issue 50295, open-webui/open-webui issue 28570), and a
    /// model that asks again wants to know what has changed.
    private func known(_ call: FinishedCall) -> Int? {
        self.entries[self.earlierCallCount...].lastIndex { $0.call == call }
    }

    private mutating func begin(_ calls: [FinishedCall], now: Duration) -> [Action] {
        self.round = []
        var actions: [Action] = []
        for call in calls {
            if let number = self.known(call) {
                // It occurs twice, or was answered before: its output is used, and it does not run again.
                if let output = self.output(of: number), !self.round.contains(number) {
                    actions.append(.record(number, output))
                }
                self.round.append(number)
            } else {
                self.round.append(self.entries.count)
                actions += self.start(call, now: now)
            }
        }
        return actions + self.runQueued()
    }

    /// Announces a call, and decides whether it runs.
    private mutating func start(_ call: FinishedCall, now: Duration) -> [Action] {
        let number = self.entries.count
        let policy = self.rules.policies[call.name] ?? .deny
        let request = ChappieToolExecutionRequest(
            callID: call.callID, name: call.name, arguments: call.payload, policy: policy)
        var actions: [Action] = [.deliver(.toolCallRequested(request))]
        self.entries.append(Entry(call: call, policy: policy, startedAt: now, progress: .queued))
        if let output = self.outputWithoutRunning(call, policy) {
            self.entries[number].progress = .done(output)
            actions += [.record(number, output), .deliver(self.result(of: number, output, now: now))]
        } else if policy == .ask {
            self.entries[number].progress = .asking
            let approval = ChappieApprovalRequest(callID: call.callID, name: call.name, arguments: call.payload)
            actions += [.deliver(.approvalRequested(approval)), .ask(number)]
        }
        return actions
    }

    /// Returns the output of a call that must not run; nil for one that may.
    private func outputWithoutRunning(_ call: FinishedCall, _ policy: ChappieToolPolicy) -> ToolOutput? {
        if policy == .deny { return ToolOutput(status: .denied, text: "This tool may not be used.", of: call) }
        return self.fault(of: call).map { ToolOutput(status: .failed, text: $0, of: call) }
    }

    /// Returns the fault of a call's input, for the model; nil when the tool can take it.
    private func fault(of call: FinishedCall) -> String? {
        if call.isIncomplete { return "The tool was not run: the call is incomplete." }
        if call.kind == .custom {
            let isFunction = self.rules.schemas[call.name] != nil
            return isFunction ? "The tool was not run: it is a function, and takes a JSON object." : nil
        }
        if self.rules.textTools.contains(call.name) {
            return "The tool was not run: it is a custom tool, and takes text."
        }
        return self.rules.schemas[call.name].flatMap { ToolArguments(call.payload, schema: $0).fault }
    }

    /// Starts as many calls as may run at the same time, in order.
    private mutating func runQueued() -> [Action] {
        var runningCount = self.entries.count { $0.progress == .running }
        var actions: [Action] = []
        for number in self.entries.indices where self.entries[number].progress == .queued {
            guard runningCount < self.rules.limits.concurrentTools else { break }
            self.entries[number].progress = .running
            runningCount += 1
            actions.append(.run(number))
        }
        return actions
    }

    private mutating func finished(_ number: Int, _ output: ToolOutput, now: Duration) -> [Action] {
        self.entries[number].progress = .done(output)
        let result = self.result(of: number, output, now: now)
        return [.record(number, output), .deliver(result)] + self.runQueued() + self.nextStep()
    }

    /// Asks the model again once every call of the round has its output.
    private mutating func nextStep() -> [Action] {
        guard self.state == .answering, self.round.allSatisfy({ self.output(of: $0) != nil }) else { return [] }
        self.state = .responding
        self.round = []
        self.earlierCallCount = self.entries.count
        return [.askModel]
    }

    private func result(of number: Int, _ output: ToolOutput, now: Duration) -> ChappieStreamEvent {
        let entry = self.entries[number]
        return .toolCallCompleted(
            ChappieToolExecutionResult(
                callID: entry.call.callID, name: entry.call.name, status: output.status, output: output.text,
                duration: max(.zero, now - entry.startedAt)))
    }
}

extension FinishedCall {
    /// The name of the tool, with the namespace before it where that is not the tool's own.
    ///
    /// A host's tools have none; some servers name a function's namespace after the function.
    fileprivate var toolName: String {
        self.namespace.isEmpty || self.namespace.isExactly(self.name) ? self.name : "\(self.namespace).\(self.name)"
    }
}
