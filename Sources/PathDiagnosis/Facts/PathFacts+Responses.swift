// The path of the responses, beside a list of models. Pure.

extension PathFacts {
    /// Indicates whether the server may have a list of models, and no responses at this base URL.
    ///
    /// So does one that speaks Chat Completions only. A refused WebSocket may be due to that, or to the credential, which
    /// a public list of models does not examine.
    package var mayLackResponses: Bool {
        guard let http = self.http.facts, case .answered = http.exchange, !http.isProbe, http.hasResponses == nil,
            self.credential.facts?.responsesCode == nil
        else { return false }
        switch self.upgrade {
        case .found(let upgrade, _):
            guard case .refused(let code, _) = upgrade.handshake else { return false }
            // A server that answers 426 knows the path.
            return (200..<300).contains(code) || (400..<500).contains(code) && code != 426 || code == 501
        case .skipped(let reason): return reason == .httpOnly
        }
    }

    /// Notes the answer to a POST without content to the path of the responses.
    ///
    /// It is asked where `mayHaveOtherPath` or `mayLackResponses` is true. After it the refusal of a WebSocket that is
    /// due to a missing path, or to the credential, is no fact about WebSockets. A gateway that does not reach the server
    /// knows nothing of its paths.
    package mutating func noteResponses(statusCode: Int, text: String, hasCredential: Bool) {
        guard case .found(var http, let time) = self.http else { return }
        let answer = HTTPFacts.Answer(statusCode: statusCode, body: .init(contentType: nil, text: text))
        let isOfGateway = StepJudge.finding(for: answer) == .gatewayError
        http.hasResponses = isOfGateway ? nil : !self.isMissing(statusCode, text)
        http.responsesCode = statusCode
        self.http = .found(http, time)
        guard let hasResponses = http.hasResponses else { return }
        guard hasResponses else { return self.upgrade = .skipped(.notReached) }
        guard [401, 403].contains(statusCode), hasCredential,
            answer.body == .json, case .found(var credential, let time) = self.credential
        else { return }
        credential.responsesCode = statusCode
        self.credential = .found(credential, time)
        self.upgrade = .skipped(.notReached)
    }

    /// Returns whether an answer says that the path does not exist.
    private func isMissing(_ statusCode: Int, _ text: String) -> Bool {
        switch statusCode {
        case 404: return !HTTPFacts.isAboutModel(text)
        // The path has neither method.
        case 405: return self.refusalCode == 405
        // No API has a success for a request without content; some servers say in one that they do not know the path.
        case 200..<300:
            let text = text.lowercased()
            let isError = text.contains("\"error\"") && !text.contains("unexpected endpoint")
            return !isError && (self.refusalCode.map { (200..<300).contains($0) } ?? true)
        default: return false
        }
    }

    /// The status code of the refusal of a WebSocket; nil without one.
    private var refusalCode: Int? {
        guard case .refused(let code, _)? = self.upgrade.facts?.handshake else { return nil }
        return code
    }

    /// Indicates whether a list of models has answered, without the credential or with it.
    var hasModels: Bool {
        if case .answered(let code)? = self.credential.facts?.outcome, (200..<300).contains(code) { return true }
        guard case .answered(let answer)? = self.http.facts?.exchange else { return false }
        return answer.body == .json && (200..<300).contains(answer.statusCode)
    }
}
