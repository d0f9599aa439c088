import ChappieTransport
import PathDiagnosis

/// The questions about the base URL itself, after an answer that may be due to it.
extension Examination {
    // MARK: The scheme

    /// Tries TLS where the URL has none, and the answer may be that of a server with TLS; no request is sent.
    mutating func examineScheme() async throws {
        guard !self.requests.endpoint.isSecure, case .found(let http, let time) = self.facts.http, http.mayNeedTLS,
            let budget = self.budget
        else { return }
        var endpoint = self.requests.endpoint
        endpoint.isSecure = true
        let outcome = try await ProbeExchange.establish(
            endpoint, by: self.requests.transport(through: self.proxy), within: min(budget, ExaminationPace.otherScheme)
        )
        if outcome.hasTLS { self.facts.http = .found(.init(.needsTLS), time) }
    }

    // MARK: The path

    /// Asks for responses where the answer to the GET of `/models` may be that route's alone.
    ///
    /// A refusal of a POST without content, in JSON, is an API's. The POST asks no model and has no credential.
    mutating func examineOtherRoute() async throws {
        guard case .found(var http, let time) = self.facts.http, http.mayBeOfOneRoute, let budget = self.budget,
            let request = self.requests.emptyPost(credential: nil)
        else { return }
        let outcome = try await ProbeExchange.answer(to: request, by: self.transport, within: budget)
        guard case .answered(let head, let body) = outcome else { return }
        let answer = self.answer(head, body)
        guard answer.body == .json || answer.asksForToken, [400, 401, 403, 415, 422].contains(answer.statusCode) else {
            return
        }
        http.hasResponses = true
        self.facts.http = .found(http, time)
    }

    /// Asks whether the path of the responses exists, where the server has neither a list of models nor a WebSocket.
    ///
    /// The credential is the one that an opening handshake is sent with; `examineAnswering` has decided that the server may
    /// have it.
    mutating func examinePath(_ credential: ChappieCredential?) async throws {
        guard self.facts.mayHaveOtherPath, case .found(var http, let time) = self.facts.http,
            let budget = self.budget, let request = self.requests.emptyPost(credential: credential)
        else { return }
        let answer = try await ProbeExchange.answer(to: request, by: self.transport, within: budget)
        guard case .answered(let head, _) = answer else { return }
        http.hasResponses = head.statusCode != 404
        self.facts.http = .found(http, time)
        guard head.statusCode == 404 else { return }
        // The refusal says nothing about WebSockets.
        self.facts.upgrade = .skipped(.notReached)
        self.facts.skipAboveUpgrade(.notReached)
    }
}

extension ProbeExchange.Establishment {
    /// Indicates whether the server has TLS: its handshake was completed, or failed because of its certificate.
    ///
    /// An alert is no evidence, because this side sends one to a server whose answer is not TLS.
    fileprivate var hasTLS: Bool {
        switch self {
        case .established: true
        case .failed(let failure): failure.hasCertificate
        }
    }
}
