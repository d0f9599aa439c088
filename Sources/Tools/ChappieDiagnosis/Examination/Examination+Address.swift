import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import StreamTransport

/// The questions about the base URL itself, after an answer that may be due to it.
extension Examination {
    // MARK: The scheme

    /// Tries TLS where the URL has none, and the answer may be that of a server with TLS; no request is sent.
    mutating func examineScheme() async throws {
        guard !self.requests.endpoint.isSecure, case .found(let http, let time) = self.facts.http, http.mayNeedTLS
        else { return }
        if http.demandsTLS { self.facts.http = .found(.init(.needsTLS), time) }
        guard !http.demandsTLS, let budget = self.budget else { return }
        var endpoint = self.requests.endpoint
        endpoint.isSecure = true
        let observed = LockedValue<TLSOutcome?>(nil)
        let outcome = try await ProbeExchange.establish(
            endpoint, by: self.requests.transport(through: self.proxy), within: min(budget, ExaminationPace.otherScheme)
        ) { made in observed.withLock { $0 = made } }
        if outcome.hasTLS(observed.withLock { $0 }) { self.facts.http = .found(.init(.needsTLS), time) }
    }

    // MARK: The path

    /// Asks for responses where the answer to the GET of `/models` is no API's, which may be that route's alone.
    ///
    /// A refusal of a POST without content, in JSON, is an API's, also where the GET is not answered at all. The POST
    /// asks no model and has no credential. Where the GET is not answered, and the POST with 404, the same POST with
    /// the credential decides.
    mutating func examineOtherRoute() async throws {
        // The opening handshake needs the last step.
        if self.facts.http.facts?.exchange == .timedOut, self.left < self.pace.step * 2 { return }
        guard case .found(var http, let time) = self.facts.http, http.mayBeOfOneRoute || http.hasBrokenRoute,
            case .answered(let answer, let text)? = try await self.post(with: nil)
        else { return }
        switch http.existenceOfResponses(by: answer, text: text) {
        case true?: http.hasResponses = true
        case false? where http.hasBrokenRoute:
            http.hasResponses = try await self.existenceOfResponses(after: answer)
            if http.hasResponses == false { http.responsesAnswer = answer }
        case false?, nil:
            // No API has a success for a request without content: this server says the same to everything.
            guard answer.body == .other, !answer.asksForToken,
                [http.statusCode, answer.statusCode].allSatisfy(\.isSuccess)
            else { return }
            http.hasResponses = false
        }
        self.facts.http = .found(http, time)
    }

    /// Returns whether the path of the responses exists, by the answer to a POST without content and with the
    /// credential after one of 404 without it, which is all that there is where there is no credential; nil where it is
    /// not known.
    private mutating func existenceOfResponses(after answer: HTTPFacts.Answer) async throws -> Bool? {
        guard let credential = try await self.credential() else { return self.inquiry.failure == nil ? false : nil }
        guard self.mayTell(answer), case .answered(let second, let text)? = try await self.post(with: credential) else {
            return nil
        }
        return second.existenceOfResponses(text: text)
    }

    /// The outcome of a POST without content to the path of the responses.
    enum PostOutcome {
        /// It was answered, with this text.
        case answered(HTTPFacts.Answer, text: String)
        /// It was not.
        case failed(TransportFailure)
    }

    /// Sends a POST without content to the path of the responses, which asks no model; returns nil without time for it.
    func post(with credential: ChappieCredential?) async throws -> PostOutcome? {
        guard let budget = self.budget,
            let request = self.requests.emptyPost(credential: credential, capturing: Self.capturedFieldNames)
        else { return nil }
        return switch try await ProbeExchange.answer(to: request, by: self.transport, within: budget) {
        case .failed(let failure): .failed(failure)
        case .answered(let head, let body):
            .answered(self.answer(head, body, to: request), text: String(decoding: body, as: UTF8.self))
        }
    }

    // MARK: The credential

    /// Asks with the credential where the answer may be due to its lack, if the server may be told it.
    ///
    /// An error in JSON is as much an API's as the demand for a credential in JSON is.
    mutating func examineInquiry() async throws {
        guard case .found(var http, let time) = self.facts.http, self.budget != nil,
            http.mayAskForCredential || http.mayChangeWithCredential, case .answered(let answer) = http.exchange
        else { return }
        if self.mayTell(answer) {
            http.inquiry = try await self.answerToCredential()
        } else {
            // A page with 401 is the question for a credential, whether there is one or not.
            let isQuestion = http.mayAskForCredential && answer.statusCode == 401
            let credential = isQuestion ? nil : try await self.credential()
            http.inquiry = isQuestion || credential != nil ? .withheld : .impossible
        }
        self.facts.http = .found(http, time)
    }

    private mutating func answerToCredential() async throws -> HTTPFacts.Inquiry? {
        guard let credential = try await self.credential() else { return .impossible }
        // The source of the credential may have taken a step's time.
        guard let budget = self.budget,
            let request = self.requests.document(
                at: "/models", credential: credential, capturing: Self.capturedFieldNames),
            case .answered(let head, let body) = try await ProbeExchange.answer(
                to: request, by: self.transport, within: budget)
        else { return nil }
        let answer = HTTPFacts(.answered(self.answer(head, body, to: request)))
        let asksForCredential = self.facts.http.facts?.mayAskForCredential == true
        return (asksForCredential ? answer.mayAskForCredential : !answer.isOfAPI) ? .refused : .met
    }

    /// Returns whether the sender of an answer may be told the credential: a verified server, one on this machine, or
    /// an API as far as can be seen.
    private func mayTell(_ answer: HTTPFacts.Answer) -> Bool {
        self.requests.endpoint.isSecure || self.isOnThisMachine || answer.body == .json && answer.redirection == nil
    }

    /// Indicates whether nothing stands between here and the server, which is on the same machine.
    var isOnThisMachine: Bool {
        let host = self.requests.endpoint.host
        let isLoopback = AddressLookup.isNumeric(host) ? host.hasPrefix("127.") || host == "::1" : host == "localhost"
        return isLoopback && self.proxy == nil
    }

    /// Asks whether the path of the responses exists, takes the credential, and can be reached by a POST.
    ///
    /// The credential is the one that an opening handshake is sent with; `examineAnswering` has decided that the server
    /// may have it.
    mutating func examinePath(_ credential: ChappieCredential?) async throws {
        guard self.facts.mayLackResponses, let outcome = try await self.post(with: credential) else { return }
        switch outcome {
        case .failed(let failure):
            if self.noteEnvironment(failure) { return }
            self.facts.noteResponses(failure.exchange, hasCredential: credential != nil)
        case .answered(let answer, let text):
            self.facts.noteResponses(.answered(answer), text: text, hasCredential: credential != nil)
        }
        // The refusal says nothing about WebSockets.
        for reason in [SkipReason.notReached, .needsCredential] where self.facts.upgrade == .skipped(reason) {
            self.facts.skipAboveUpgrade(reason)
        }
    }
}

extension ProbeExchange.Establishment {
    /// Returns whether the server has TLS: its handshake was completed, or failed because of its certificate, or ended
    /// with its alert.
    ///
    /// An alert of this side is no evidence, because it sends one to a server whose answer is not TLS.
    fileprivate func hasTLS(_ outcome: TLSOutcome?) -> Bool {
        switch (self, outcome) {
        case (.established, _), (.failed, .alerted(_, isByServer: true)?): true
        case (.failed(let failure), _): failure.hasCertificate
        }
    }
}

extension HTTPFacts {
    /// The status code of the answer; nil without one.
    fileprivate var statusCode: Int? {
        if case .answered(let answer) = self.exchange { answer.statusCode } else { nil }
    }
}

extension Int? {
    /// Indicates whether a status code is that of a success.
    fileprivate var isSuccess: Bool { self.map { (200..<300).contains($0) } ?? false }
}
