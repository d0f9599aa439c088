import HTTPProtocol
import ResponseEvents
import StreamTransport
package import TransportSurface

// The values of a turn without the secrets in their words.

extension SecretRedaction {
    /// Creates a redaction of the secrets among a configuration's own fields, and those of its proxies.
    init(_ configuration: ChappieTransportConfiguration) {
        self.init(fields: configuration.additionalFields, proxy: configuration.proxy)
    }

    /// Adds a credential.
    mutating func add(_ credential: ChappieCredential?) {
        guard let credential else { return }
        self.add(credential.bearerToken)
    }

    /// Returns the document without the secrets.
    func document(_ document: FetchedDocument) -> FetchedDocument {
        FetchedDocument(
            statusCode: document.statusCode, fields: self.fields(document.fields), body: self.bytes(document.body))
    }

    /// Returns a complete response without the secrets in its displayed parts.
    ///
    /// Its items go back to the server unchanged.
    func response(_ response: CompletedResponse) -> CompletedResponse {
        var copy = response
        copy.id = response.id.map(self.words)
        copy.model = response.model.map(self.words)
        copy.serviceTier = response.serviceTier.map(self.words)
        return copy
    }

    /// Returns the response without the secrets.
    func response(_ response: ChappieResponse) -> ChappieResponse { response.replacingWords(self.words) }

    /// Returns the event without the secrets, unless it is text, which is the model's and is delivered unchanged.
    ///
    /// Arguments of calls are for people and logs here: tools and approval handlers get them unchanged, elsewhere.
    package func event(_ event: ChappieStreamEvent) -> ChappieStreamEvent {
        switch event {
        case .textDelta, .reasoningDelta, .refusalDelta, .restarted, .completed: event
        case .raw(let type, let payload): .raw(type: self.words(type), payload: self.words(payload))
        case .usageLimits(let snapshot): .usageLimits(snapshot.replacingWords(self.words))
        case .diagnostic(let diagnostic): .diagnostic(diagnostic.replacingWords(self.words))
        case .toolCallRequested(let call):
            .toolCallRequested(
                .init(
                    callID: self.words(call.callID), name: call.name, arguments: self.words(call.arguments),
                    policy: call.policy))
        case .approvalRequested(let call):
            .approvalRequested(
                .init(callID: self.words(call.callID), name: call.name, arguments: self.words(call.arguments)))
        case .toolCallCompleted(let call):
            .toolCallCompleted(
                .init(
                    callID: self.words(call.callID), name: call.name, status: call.status, output: call.output,
                    duration: call.duration))
        }
    }

    /// Returns the error without the secrets.
    func error(_ error: any Error) -> any Error {
        (error as? ChappieClientError).map { self.clientError($0) } ?? error
    }

    /// Returns the error without the secrets.
    func clientError(_ error: ChappieClientError) -> ChappieClientError {
        switch error {
        case .reauthenticationRequired(let reason): .reauthenticationRequired(self.words(reason))
        case .usageLimitReached(let limit): .usageLimitReached(limit.replacingWords(self.words))
        case .responseTerminalFailure(let response): .responseTerminalFailure(response.replacingWords(self.words))
        case .httpError(let status, let body):
            // A secret that is cut at the end of the server's text is recognised there, before the line behind it.
            .httpError(status, RetryDelay.refusal(body, replacingText: self.body))
        case .transport(let failure): .transport(failure.replacingWords(self.words, inBody: self.body))
        // Their content is the program's own, or was delivered.
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolApprovalDenied,
            .toolExecutionFailed, .toolLoopLimitExceeded, .streamingTransportReplayDiverged, .invalidResponse,
            .alreadyRunning, .alreadyRead, .runTimeLimitExceeded, .requestRefused:
            error
        }
    }
}

extension ChappieUsageLimitSnapshot {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        Self(primary: self.primary, secondary: self.secondary, planType: self.planType.map(replace))
    }
}

extension ChappieDiagnostic {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        Self(
            kind: self.kind, transport: self.transport, attempt: self.attempt, limit: self.limit,
            reason: self.reason.map(replace), byteCount: self.byteCount, rung: self.rung,
            connectionAge: self.connectionAge, delay: self.delay)
    }
}

extension ChappieUsageLimit {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        Self(
            type: replace(self.type), message: replace(self.message),
            plan: self.plan.map {
                Plan(rawValue: replace($0.rawValue), displayName: replace($0.displayName))
            },
            resetsAt: self.resetsAt, primary: self.primary, secondary: self.secondary)
    }
}

extension ChappieResponse {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        var copy = Self(
            id: self.id.map(replace), status: self.status, errorCode: self.errorCode.map(replace),
            errorMessage: self.errorMessage.map(replace), incompleteReason: self.incompleteReason.map(replace))
        copy.errorType = self.errorType.map(replace)
        copy.model = self.model.map(replace)
        copy.serviceTier = self.serviceTier.map(replace)
        copy.outputText = self.outputText
        copy.usage = self.usage
        copy.requestID = self.requestID.map(replace)
        copy.rateLimits = self.rateLimits
        copy.errorPayload = self.errorPayload.map(replace)
        return copy
    }
}
