import ResponseEvents
import StreamSession

/// How a response ends, and what it leaves behind.
extension TurnDriver {
    /// What the response leaves behind, once it is complete; nil before, and when its items are too large to be kept.
    ///
    /// It belongs to the stream's one consumer.
    package var completedResponse: CompletedResponse? {
        guard self.reader.machine.replaySafety == .completed else { return nil }
        let carriedItems = self.outgoing?.carriedItems ?? []
        var response = self.reader.record.completedResponse(behind: carriedItems).map(self.redaction.response)
        response?.requestID = self.evidence.requestID
        response?.turnState = self.outgoing?.turnState
        return response
    }

    /// The response has ended, as its status says: some servers end every response with `response.completed`.
    func responseEnded(_ summary: ResponseSummary, attempt: Int) {
        switch summary.status {
        case "incomplete": self.responseIncomplete(summary, attempt: attempt)
        case "cancelled": self.responseStopped(summary, status: "cancelled")
        case "failed": self.responseFailed(summary, attempt: attempt)
        default: self.responseCompleted(summary, attempt: attempt)
        }
    }

    /// The server says that the response is complete.
    private func responseCompleted(_ summary: ResponseSummary, attempt: Int) {
        let isComplete = self.reader.complete(summary, attempt: attempt)
        self.noteReplay()
        guard isComplete else { return self.followEnd() }
        self.keepUnusedSteering()
        guard self.request.runsCalls else { return self.action = self.reader.machine.completed(attempt: attempt) }
        if self.reader.record.isTooLarge {
            return self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        }
        let response = self.reader.record.completedResponse(behind: self.outgoing?.carriedItems ?? [])
        if response?.hasAmbiguousCalls == true {
            // Which of the calls was meant, nobody can tell; to run both, or one, would be a guess.
            self.action = self.reader.machine.rejected(attempt: attempt)
        } else {
            self.action = self.reader.machine.completed(attempt: attempt)
        }
    }

    /// The server has ended the response early.
    func responseIncomplete(_ summary: ResponseSummary, attempt: Int) {
        if self.continuesSteered(summary, attempt: attempt) { return }
        self.reader.deliverRest(summary, attempt: attempt)
        self.noteReplay()
        if self.reader.end == nil { self.responseStopped(summary, status: "incomplete") } else { self.followEnd() }
    }

    private func responseStopped(_ summary: ResponseSummary, status: String) {
        self.evidence.response = ChappieResponse(
            summary, status: status, requestID: self.evidence.requestID,
            byteCountLimit: self.errorPayloadByteCountLimit)
        self.failed(.responseIncomplete(reason: summary.incompleteReason))
    }

    /// The response failed, in the server's words, or was cancelled: to ask again would bring back what was stopped.
    ///
    /// It is over: where the server keeps it, there is nothing behind this that could be asked for.
    func responseFailed(_ summary: ResponseSummary, attempt: Int) {
        if summary.status == "cancelled" { return self.responseStopped(summary, status: "cancelled") }
        self.reader.machine.responseEnded(attempt: attempt)
        self.evidence.response = ChappieResponse(
            summary, status: "failed", requestID: self.evidence.requestID,
            byteCountLimit: self.errorPayloadByteCountLimit)
        var facts = ServerErrorFacts()
        facts.code = summary.errorCode
        facts.type = summary.errorType
        facts.message = summary.errorMessage
        self.failed(.responseFailed(self.refusal(facts, statusCode: nil, fields: [])))
    }

    /// An error outside a response object.
    func receivedError(_ event: ErrorEvent, json: UnsafeRawBufferPointer) {
        let limit = max(0, self.engine.configuration.limits.errorBodyByteCount)
        self.evidence.statusCode = event.statusCode
        self.evidence.body = unsafe String(decoding: json.prefix(limit), as: UTF8.self)
        var response = ChappieResponse(
            id: nil, status: "failed", errorCode: event.facts.code ?? event.facts.type,
            errorMessage: event.facts.message)
        response.errorType = event.facts.type
        response.errorPayload = ServerErrorFacts.payload(
            of: unsafe Array(json), byteCountLimit: self.errorPayloadByteCountLimit, orWhole: true)
        response.requestID = self.evidence.requestID
        self.evidence.response = response
        self.failed(
            .errorEvent(self.refusal(event.facts, statusCode: event.statusCode, fields: event.headers)))
    }

    private var errorPayloadByteCountLimit: Int {
        max(0, min(ChappieResponse.errorPayloadByteCountLimit, self.engine.configuration.limits.errorBodyByteCount))
    }
}
