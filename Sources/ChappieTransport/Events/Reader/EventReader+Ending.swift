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
        self.keepUnusedSteering()
        guard self.options.runsCalls else {
            self.end = .decided(self.machine.completed(attempt: attempt), after: nil)
            return .ended
        }
        if self.record.isTooLarge {
            self.fail(.eventTooLarge(limit: self.options.limits.eventByteCount))
            return .ended
        }
        // Of ambiguous calls it is unknown which was meant; to run both, or one, would be a guess.
        let isAmbiguous = self.record.completedResponse(behind: carriedItems())?.hasAmbiguousCalls == true
        let action = isAmbiguous ? self.machine.rejected(attempt: attempt) : self.machine.completed(attempt: attempt)
        self.end = .decided(action, after: nil)
        return .ended
    }

    /// Handles a response that the server has ended early.
    mutating func incomplete(_ summary: ResponseSummary, attempt: Int) -> Outcome {
        if self.continuesSteered(summary, attempt: attempt) { return .steered }
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
        case .otherAPI(.chatCompletions): self.fail(.otherAPI(.chatCompletions))
        case .otherAPI(.messages): self.fail(.otherAPI(.messages))
        }
    }

    /// Returns whether an event of an unknown type ends the attempt: the beginning of a response of another API does so
    /// only before one of this API.
    func isEnd(_ event: UntypedEvent) -> Bool {
        guard case .otherAPI = event else { return true }
        return self.responseID == nil
    }

    // MARK: Steering

    /// Reports an event about steering, if it is one.
    mutating func noteSteering(_ event: ResponseEvent, json: UnsafeRawBufferPointer) {
        guard self.steering.isUsed,
            let answer = unsafe SteeringMessage.answer(type: String(event.typeName), json: json)
        else { return }
        self.steering.answered(answer)
        switch answer {
        case .accepted: self.report(ChappieDiagnostic(kind: .steered, transport: self.transport))
        case .pending: self.report(ChappieDiagnostic(kind: .steerPending, transport: self.transport))
        case .failed(let code):
            self.report(ChappieDiagnostic(kind: .steerFailed, transport: self.transport, reason: code))
        }
    }

    /// Adds the input that the server has accepted and not used behind a complete response: it goes with the next
    /// request.
    ///
    /// The connection is not used again, so the server gets the input once. Input that was not accepted came too late.
    private mutating func keepUnusedSteering() {
        let unused = self.steering.unused
        self.record.leaves(unused.items)
        guard unused.hasOthers else { return }
        self.report(
            ChappieDiagnostic(kind: .steerFailed, transport: self.transport, reason: "response_already_completed"))
    }

    /// Continues with the successor of a response that has ended because it was steered; returns false for any other
    /// end.
    private mutating func continuesSteered(_ summary: ResponseSummary, attempt: Int) -> Bool {
        guard summary.incompleteReason == "steered", self.steering.isUsed else { return false }
        self.record.steered(summary, with: self.steering.takeUsed())
        self.calls.restart()
        let action = self.machine.successorFollows(attempt: attempt, after: summary.id ?? self.responseID)
        if action != .ignore { self.end = .decided(action, after: nil) }
        self.responseID = nil
        self.findings.hasGap = false
        return true
    }
}
