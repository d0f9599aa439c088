/// Takes secrets out of what a server said: some repeat what they were sent.
///
/// A value of one turn or exchange. It knows the credentials that it has used, and the fields that look like another.
package struct SecretRedaction: Sendable {
    /// Stands in the place of a secret.
    static let mark = "[redacted]"

    /// Less could be any word.
    private static let minimumByteCount = 6

    private var secrets: [String] = []

    /// Knows these secrets.
    package init(_ secrets: [String]) {
        for secret in secrets { self.add(secret) }
    }

    /// Knows the secrets among a configuration's own fields.
    init(_ configuration: ChappieTransportConfiguration) {
        for field in configuration.additionalFields where Self.namesSecret(field.name) { self.add(field.value) }
    }

    /// Learns a credential.
    mutating func add(_ credential: ChappieCredential?) {
        guard let credential else { return }
        self.add(credential.bearerToken)
    }

    /// Learns a field's value, and the last word of it: a scheme may stand before the secret.
    private mutating func add(_ value: String) {
        for secret in [value] + value.split(separator: " ").suffix(1).map(String.init)
        where secret.utf8.count >= Self.minimumByteCount && !self.secrets.contains(secret) {
            self.secrets.append(secret)
        }
        // The longest first: a part of a secret must not be all that is taken out.
        self.secrets.sort { $0.utf8.count > $1.utf8.count }
    }

    private static func namesSecret(_ fieldName: String) -> Bool {
        let name = fieldName.lowercased()
        return ["auth", "key", "token", "secret", "password", "cookie"].contains { name.contains($0) }
    }

    /// The words without the secrets.
    package func words(_ text: String) -> String {
        var text = text
        for secret in self.secrets { text = text.replacing(secret, with: Self.mark) }
        return text
    }

    /// The error without the secrets.
    func error(_ error: any Error) -> any Error {
        (error as? ChappieClientError).map { self.clientError($0) } ?? error
    }

    /// The error without the secrets.
    func clientError(_ error: ChappieClientError) -> ChappieClientError {
        switch error {
        case .reauthenticationRequired(let reason): .reauthenticationRequired(self.words(reason))
        case .usageLimitReached(let limit): .usageLimitReached(limit.replacingMessage(self.words(limit.message)))
        case .responseTerminalFailure(let response): .responseTerminalFailure(response.replacingWords(self.words))
        case .httpError(let status, let body): .httpError(status, self.words(body))
        case .transport(let failure): .transport(failure.replacingWords(self.words))
        // What they hold is the program's own, or was delivered.
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolApprovalDenied,
            .toolExecutionFailed, .toolLoopLimitExceeded, .streamingTransportReplayDiverged, .invalidResponse,
            .alreadyRunning, .runTimeLimitExceeded, .requestRefused:
            error
        }
    }
}

extension ChappieUsageLimit {
    fileprivate func replacingMessage(_ message: String) -> Self {
        Self(
            type: self.type, message: message, plan: self.plan, resetsAt: self.resetsAt,
            windows: (primary: self.primary, secondary: self.secondary))
    }
}

extension ChappieResponse {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        var copy = Self(
            id: self.id, status: self.status, errorCode: self.errorCode.map(replace),
            errorMessage: self.errorMessage.map(replace), incompleteReason: self.incompleteReason.map(replace))
        copy.model = self.model
        copy.outputText = self.outputText
        copy.usage = self.usage
        copy.requestID = self.requestID
        copy.errorPayload = self.errorPayload.map(replace)
        return copy
    }
}

extension ChappieTransportFailure {
    fileprivate func replacingWords(_ replace: (String) -> String) -> Self {
        var details = self.details
        details.closeReason = details.closeReason.map(replace)
        details.issuer = details.issuer.map(replace)
        return Self(
            code: self.code, phase: self.phase, transport: self.transport,
            progress: (attempts: self.attempts, replaySafety: self.replaySafety), details: details)
    }
}
