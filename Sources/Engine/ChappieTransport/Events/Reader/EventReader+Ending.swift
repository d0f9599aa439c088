import ResponseEvents
import StreamSession

/// The reading of a response's end, of errors, and of events about steering.
extension EventReader {
    /// Handles the end of the response according to its status: some servers end every response with
    /// `response.completed`.
    mutating func ended(
        _ summary: ResponseSummary, behind carriedItems: @autoclosure () -> [[UInt8]], attempt: Int
    ) -> Outcome {
        switch summary.status {
        case "incomplete": return self.incomplete(summary, attempt: attempt)
        case "cancelled": return self.stopped(summary, status: "cancelled")
        case "failed": return self.failed(summary, attempt: attempt)
        case _ where summary.hasError: return self.failed(summary, attempt: attempt)
        case _ where summary.incompleteReason?.isEmpty == false: return self.incomplete(summary, attempt: attempt)
        default: break
        }
        guard !summary.isOutputCut else {
            self.fail(.tooManyItems(limit: ResponseSummary.maximumOutputCount))
            return .ended
        }
        guard self.complete(summary, attempt: attempt) else { return .ended }
        if self.options.runsCalls {
            if self.record.isTooLarge {
                self.fail(.eventTooLarge(limit: self.options.limits.eventByteCount))
                return .ended
            }
            // Of ambiguous calls it is unknown which was meant; to run both, or one, would be a guess.
            if self.record.completedResponse(behind: carriedItems())?.hasAmbiguousCalls == true {
                self.end = .decided(self.machine.rejected(attempt: attempt), after: nil)
                return .ended
            }
        }
        if self.steering.isOpen { return self.awaitSuccessor(of: summary, isComplete: true, attempt: attempt) }
        self.end = .decided(self.completed(attempt: attempt), after: nil)
        return .ended
    }

    /// Returns the action behind a complete response.
    private mutating func completed(attempt: Int) -> TurnStateMachine.Action {
        let action = self.machine.completed(attempt: attempt)
        guard case .restart(let deliveredText) = action else { return action }
        self.restart(deliveredText: deliveredText)
        return self.machine.completed(attempt: attempt)
    }

    /// Handles a response that the server has ended early.
    mutating func incomplete(_ summary: ResponseSummary, attempt: Int) -> Outcome {
        if summary.incompleteReason == "steered", self.steering.endedResponse() {
            self.record.steered(summary)
            self.evidence.ended(summary, status: "incomplete")
            return self.awaitSuccessor(of: summary, isComplete: false, attempt: attempt)
        }
        self.deliverRest(summary, attempt: attempt)
        return self.end == nil ? self.stopped(summary, status: "incomplete") : .ended
    }

    private mutating func stopped(_ summary: ResponseSummary, status: String) -> Outcome {
        self.evidence.ended(summary, status: status)
        self.fail(.responseIncomplete(reason: summary.incompleteReason))
        return .ended
    }

    /// Handles a response that failed or was cancelled: a repeated request would revive the cancelled one.
    ///
    /// It is over: where the server keeps it, there are no further events to request.
    mutating func failed(_ summary: ResponseSummary, attempt: Int) -> Outcome {
        if summary.status == "cancelled" { return self.stopped(summary, status: "cancelled") }
        self.machine.responseEnded(attempt: attempt)
        self.evidence.ended(summary, status: "failed")
        self.fail(
            .responseFailed(
                self.evidence.refusal(
                    ServerErrorFacts(summary), statusCode: nil, fields: [], known: self.usageLimits)))
        return .ended
    }

    /// Handles an error outside of a response object.
    mutating func received(_ event: ErrorEvent, json: UnsafeRawBufferPointer) -> Outcome {
        unsafe self.evidence.received(event, json: json)
        self.fail(
            .errorEvent(
                self.evidence.refusal(
                    event.facts, statusCode: event.statusCode, fields: event.headers, known: self.usageLimits)))
        return .ended
    }

    // MARK: Events of other protocols

    /// Handles an error that is no event of the Responses API, or an event of another API.
    mutating func received(_ event: UntypedEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        guard self.machine.isReading(attempt) else { return }
        self.machine.eventReceived(attempt: attempt)
        switch event {
        case .error(let error): _ = unsafe self.received(error, json: json)
        case .otherAPI(let dialect): self.fail(.otherAPI(OtherAPI(dialect)))
        }
    }

    /// Returns whether an event of an unknown type ends the attempt: the beginning of a response of another API does so
    /// only before one of this API.
    mutating func isEnd(_ event: UntypedEvent) -> Bool {
        guard case .otherAPI = event else { return true }
        return self.responseID == nil
    }

    // MARK: Steering

    /// Handles an event about steering, if it is one: a response that was over has waited for it.
    mutating func noteSteering(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        guard self.steering.isUsed,
            let answer = unsafe SteeringMessage.answer(type: String(event.typeName), json: json)
        else { return }
        self.steering.answered(answer)
        defer { self.endSettled(attempt: attempt) }
        switch answer {
        case .accepted: self.report(ChappieDiagnostic(kind: .steered, transport: self.transport))
        case .pending: self.report(ChappieDiagnostic(kind: .steerPending, transport: self.transport))
        case .failed(_, let code):
            self.report(ChappieDiagnostic(kind: .steerFailed, transport: self.transport, reason: code))
        }
    }

    /// Waits for what becomes of the input of a steered response that has ended: a successor may follow.
    private mutating func awaitSuccessor(of summary: ResponseSummary, isComplete: Bool, attempt: Int) -> Outcome {
        self.calls.restart()
        self.findings.hasGap = false
        self.steering.responseEnded()
        let action = self.machine.steeredResponseEnded(
            attempt: attempt, isComplete: isComplete, after: summary.id ?? self.responseID)
        if action != .ignore { self.end = .decided(action, after: nil) }
        self.steeredEnd = isComplete ? .complete : .early
        return .steered
    }

    /// Ends the turn when each steering of a response that is over is refused or pending.
    ///
    /// A response that was ended early for input that the server then refuses is incomplete.
    private mutating func endSettled(attempt: Int) {
        guard let ended = self.steeredEnd, !self.steering.isOpen else { return }
        switch ended {
        case .complete: self.end = .decided(self.completed(attempt: attempt), after: nil)
        case .early: self.fail(.responseIncomplete(reason: "steered"))
        }
    }

    /// Begins the successor of a steered response: its beginning commits the input.
    mutating func beginSuccessor(attempt: Int) {
        self.steeredEnd = nil
        self.responseID = nil
        self.machine.successorBegan(attempt: attempt)
        self.record.continues(with: self.steering.committed())
    }

    /// Adds the input that no response has answered to the record of a complete turn.
    ///
    /// What is pending comes with the outputs that the server waits for; a caller that continues the turn sends the
    /// rest with its next request, on another connection, so that the server gets it once.
    mutating func leaveSteering() {
        let remains = self.steering.remains
        self.record.leaves(remains)
        if !remains.unanswered.isEmpty {
            self.report(
                ChappieDiagnostic(
                    kind: self.options.runsCalls ? .steerPending : .steerFailed, transport: self.transport))
        }
        if remains.hasUnknown { self.report(ChappieDiagnostic(kind: .steerFailed, transport: self.transport)) }
    }
}
