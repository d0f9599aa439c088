// Output for the consumer, and its turn's end.

extension PromiseChecker {
    /// The output that a consumer can receive.
    package enum Output: Sendable {
        /// A piece of text.
        case text([UInt8])
        /// A piece of a refusal.
        case refusal([UInt8])
        /// A piece of reasoning.
        case reasoning([UInt8])
        /// A finished call: the consumer runs the tool.
        case call(SimulatedCall)
        /// Another answer replaces this text.
        case restarted(String)
        /// The response is complete.
        case completed
        /// Any other output.
        case other
    }

    /// The end of a turn for its consumer.
    package enum Ending: Sendable {
        /// The stream has ended without an error.
        case ended
        /// It has thrown `CancellationError`.
        case cancelled
        /// It has thrown a divergence with this text.
        case diverged(String)
        /// It has thrown an error below HTTP, which says so about sending again.
        case transport(Safety)
        /// It has thrown another documented error.
        case failed
        /// It has thrown an undocumented error.
        case undocumented(String)
        /// The consumer has gone before the end.
        case abandoned
    }

    /// The replay safety that an error reports.
    package enum Safety: Sendable {
        /// The server has not seen the whole request.
        case notSent
        /// No output of its answer was delivered.
        case sentNoOutput
        /// Output was delivered.
        case outputDelivered
        /// The response was complete.
        case completed
    }

    /// Records output that the consumer has received.
    package mutating func received(_ output: Output) {
        if self.isOver || self.hasCompleted { return self.fail(.silenceAfterEnd, "\(output) after the end") }
        switch output {
        case .text(let bytes): self.delivered.text += bytes
        case .refusal(let bytes): self.delivered.refusal += bytes
        case .reasoning(let bytes): self.delivered.reasoning += bytes
        case .call(let call): self.execute(call)
        case .restarted(let text): return self.restarted(text)
        case .completed: return self.completed()
        case .other: return
        }
        self.checkPrefix()
    }

    /// The consumer gets a finished call that the newest answer does not have.
    package mutating func mangled(_ payload: String) { self.fail(.prefix, "no call of the answer: \(payload)") }

    /// The engine asks for the output of a call.
    package mutating func askedForOutput(ofCall ordinal: Int) {
        guard let calls = self.answer?.content.calls, calls.indices.contains(ordinal) else {
            return self.fail(.oneExecution, "the output of call \(ordinal), which the answer does not have")
        }
        let position = calls[ordinal].position
        if !self.askedOutputs.insert(position).inserted {
            self.fail(.oneExecution, "the output of the call at \(position) is asked for twice")
        }
        if self.limits.deliversCalls, !self.delivered.calls.contains(where: { $0.position == position }) {
            self.fail(.oneExecution, "the output of the call at \(position), which was not handed over")
        }
    }

    /// The circuit breaker has ended the turn.
    package mutating func refusedByCircuit(isExpected: Bool) {
        guard isExpected else { return self.fail(.documentedErrors, "the circuit is open, and may not be") }
        if self.requestCount > 0 { self.fail(.noRequestAfterEnd, "a request, and the circuit is open") }
    }

    private mutating func execute(_ call: SimulatedCall) {
        if self.delivered.calls.contains(where: { $0.position == call.position }) {
            self.fail(.oneExecution, "the tool of item \(call.position) runs twice")
        }
        self.delivered.calls.append(call)
    }

    /// Checks that new output continues the newest answer; old output was compared when it came.
    private mutating func checkPrefix() {
        let before = self.size
        self.size = self.delivered.size
        guard let answer = self.answer else { return self.fail(.prefix, "output before any answer") }
        guard self.size != before else { return self.fail(.prefix, "an empty delta") }
        if self.size.largestByteCount > self.limits.outputByteCount {
            self.fail(.bounds, "the consumer has \(self.size), of \(self.limits.outputByteCount) bytes")
        }
        guard answer.size.covers(self.size) else {
            return self.fail(.prefix, "the consumer has \(self.size), and the answer has said \(answer.size)")
        }
        if !answer.content.isEqual(to: self.delivered, upTo: self.size) {
            self.fail(.prefix, "what was delivered is no beginning of the answer")
        }
    }

    private mutating func restarted(_ text: String) {
        self.restartCount += 1
        if self.restartCount > self.limits.restartCount { self.fail(.divergence, "restart \(self.restartCount)") }
        if !self.delivered.calls.isEmpty { self.fail(.oneExecution, "a restart behind a call that was handed over") }
        self.checkDivergence(text)
        (self.delivered.text, self.delivered.refusal, self.delivered.reasoning) = ([], [], [])
        self.size = self.delivered.size
    }

    private mutating func completed() {
        self.hasCompleted = true
        guard let answer = self.answer, answer.isComplete else {
            return self.fail(.completion, "no response is complete")
        }
        if self.size != self.relevant(answer.content.size)
            || !answer.content.isEqual(to: self.delivered, upTo: self.size)
        {
            self.fail(.completion, "the consumer has \(self.size) of \(answer.content.size)")
        }
    }

    // MARK: The end

    /// The turn has ended.
    package mutating func finished(_ ending: Ending, now: Duration) {
        if self.isOver { self.fail(.silenceAfterEnd, "a second end") }
        self.isOver = true
        if let end = self.limits.end, now > end { self.fail(.ends, "the turn is over at \(now), not at \(end)") }
        switch ending {
        case .ended:
            // A task that is cancelled between two elements sees the end of the stream, which is the library's doing.
            if !self.hasCompleted, !self.isCancelled { self.fail(.completion, "the end without `completed`") }
        case .cancelled:
            if !self.isCancelled { self.fail(.documentedErrors, "nobody has cancelled") }
        case .diverged(let text):
            self.checkDivergence(text)
        case .transport(let safety):
            self.check(safety)
        case .failed, .abandoned:
            break
        case .undocumented(let error):
            self.fail(.documentedErrors, error)
        }
        switch ending {
        case .ended, .abandoned: break
        case .cancelled, .diverged, .transport, .failed, .undocumented:
            if self.hasCompleted { self.fail(.silenceAfterEnd, "an error after `completed`") }
        }
    }

    /// The turn ends because events have contradicted others.
    package mutating func calledContradictory() {
        if !self.isDoubted { self.fail(.noFalseContradiction, "no event has contradicted another one") }
    }

    /// The turn has taken more steps than any turn can need, or waits for what will never come.
    package mutating func stuck(_ description: String) { self.fail(.ends, description) }

    private mutating func checkDivergence(_ text: String) {
        if !text.utf8.elementsEqual(self.delivered.text) {
            self.fail(.divergence, "the error carries \(text.utf8.count) of \(self.size.text) bytes, or other ones")
        }
        if !self.hasVaried { self.fail(.divergence, "every answer was the same") }
        if self.size == ContentSize(), !self.hasContradiction { self.fail(.divergence, "nothing was delivered") }
    }

    private mutating func check(_ safety: Safety) {
        // A tool that has run is not undone by sending the request again.
        let hasOutput = self.size != ContentSize() || !self.askedOutputs.isEmpty
        switch safety {
        case .notSent:
            if hasOutput || self.reachedServer { self.fail(.replaySafety, "`notSent`, and the server has the request") }
        case .sentNoOutput:
            if hasOutput { self.fail(.replaySafety, "`sentNoOutput`, and output was delivered") }
        case .outputDelivered:
            if !hasOutput { self.fail(.replaySafety, "`outputDelivered`, and nothing was") }
        case .completed:
            self.fail(.replaySafety, "an error about a response that was complete")
        }
    }
}
