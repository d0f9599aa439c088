// The path of the responses, beside a list of models. Pure.

extension PathFacts {
    /// Indicates whether a POST without content to the path of the responses is still to be sent.
    ///
    /// It decides whether turns over HTTP are possible: a list of models does not, and a public one says nothing of the
    /// credential. A server that demands a credential is not asked without one.
    package var mayLackResponses: Bool {
        guard let http = self.http.facts, case .answered = http.exchange, !http.isProbe, http.hasResponses == nil,
            self.credential.facts?.responsesCode == nil
        else { return false }
        switch self.upgrade {
        case .found: return true
        case .skipped(let reason): return reason == .httpOnly
        }
    }

    /// Notes the outcome of a POST without content to the path of the responses, and the text of its answer.
    ///
    /// It is asked where `mayLackResponses` is true. After it the refusal of a WebSocket that is due to a missing path,
    /// or to the credential, is no fact about WebSockets. A WebSocket that was established works without the POST.
    package mutating func noteResponses(_ outcome: HTTPFacts.Exchange, text: String = "", hasCredential: Bool) {
        guard case .found(var http, let time) = self.http else { return }
        guard case .answered(let answer) = outcome, StepJudge.finding(forResponses: outcome) == nil else {
            http.refusal = outcome
            return self.http = .found(http, time)
        }
        let isMissing = self.isMissing(answer, text)
        let refusesCredential = [401, 403].contains(answer.statusCode) && hasCredential
        http.responsesAnswer = answer
        if self.isUpgraded {
            if isMissing || refusesCredential { http.refusal = outcome }
            return self.http = .found(http, time)
        }
        http.hasResponses = !isMissing
        http.isUnknownPath = Self.isUnknownPath(text)
        self.http = .found(http, time)
        if isMissing { return self.upgrade = .skipped(.notReached) }
        let demandsCredential = [401, 403].contains(answer.statusCode) && (answer.body == .json || answer.asksForToken)
        if demandsCredential, !hasCredential, self.mayRefuseForCredential {
            return self.upgrade = .skipped(.needsCredential)
        }
        guard refusesCredential, case .found(var credential, let time) = self.credential else { return }
        credential.responsesCode = answer.statusCode
        self.credential = .found(credential, time)
        self.upgrade = .skipped(.notReached)
    }

    /// Returns whether an answer says that the path does not exist.
    private func isMissing(_ answer: HTTPFacts.Answer, _ text: String) -> Bool {
        switch answer.statusCode {
        case 404: return !HTTPFacts.isAboutModel(text)
        // The path has neither method, or no other than that of the WebSocket.
        case 405: return self.refusalCode == 405 || self.isUpgraded
        // No API has a success for a request without content; some servers say in one that they do not know the path.
        case 200..<300:
            let text = text.lowercased()
            let isError = text.contains("\"error\"") && !Self.isUnknownPath(text)
            let isSame = self.refusalCode.map { (200..<300).contains($0) } ?? (self.upgrade == .skipped(.httpOnly))
            return !isError && isSame
        default: return answer.body == .other && !answer.asksForToken && self.hasSameRefusal(of: answer.statusCode)
        }
    }

    /// Returns whether a success says that the server does not know the path, as LM Studio's does.
    private static func isUnknownPath(_ text: String) -> Bool { text.lowercased().contains("unexpected endpoint") }

    /// Returns whether everything was refused with the same status code, and not in JSON: such a server has no API.
    ///
    /// The status codes of a credential and of a limit, and errors of a server, are those of APIs too.
    private func hasSameRefusal(of code: Int) -> Bool {
        guard (300..<500).contains(code), ![401, 403, 429].contains(code),
            case .answered(let list)? = self.http.facts?.exchange, list.statusCode == code, list.body == .other
        else { return false }
        if case .answered(let withCredential)? = self.credential.facts?.outcome, withCredential != code { return false }
        return self.refusalCode.map { $0 == code } ?? (self.upgrade == .skipped(.httpOnly))
    }

    /// Indicates whether the refusal of a WebSocket may be due to the lack of a credential, as is one that was not
    /// asked for.
    private var mayRefuseForCredential: Bool {
        guard let upgrade = self.upgrade.facts else { return true }
        return upgrade.isRefusalOfServer && self.refusalCode != 426
    }

    /// Indicates whether a limit of requests hides whether turns over HTTP are possible.
    ///
    /// Turns over HTTP are not needed beside a WebSocket that works; a limit that refuses the upgrade too is
    /// `webSocketLimited`.
    var hasLimitedResponses: Bool {
        self.http.facts?.responsesCode == 429 && !self.isUpgraded && self.refusalCode != 429
    }

    /// Indicates whether a WebSocket was established.
    var isUpgraded: Bool { self.upgrade.facts?.handshake == .established }

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
