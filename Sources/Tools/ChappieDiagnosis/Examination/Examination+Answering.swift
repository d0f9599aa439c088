import ChappieTransport
import HTTPProtocol
import LibwebsocketsTransport
import PathDiagnosis
import PlatformFoundation
import ResponseEvents
import StreamTransport
import TransportSurface

/// The steps from HTTP upwards.
extension Examination {
    static let capturedFieldNames = [
        "age", "content-type", "date", "location", "retry-after", "retry-after-ms", "via", "www-authenticate",
        Self.probeFieldName,
    ]

    /// Examines HTTP, the credential and the WebSocket.
    mutating func examineAnswering() async throws {
        try await self.examineHTTP()
        try await self.examineOtherRoute()
        try await self.examineScheme()
        try await self.examineInquiry()
        let http = self.facts.http.facts
        guard PathJudge(self.facts).mayAsk, http?.inquiry != .withheld else {
            // A server that has no responses has answered itself.
            let reason: SkipReason = http?.responsesCode == nil ? .notTrusted : .notReached
            self.facts.credential = .skipped(http?.inquiry == .refused ? .notReached : reason)
            self.facts.upgrade = .skipped(reason)
            self.facts.skipAboveUpgrade(reason)
            return
        }
        let hasAPI = PathJudge(self.facts).hasAPI && !self.isProbe
        // Without an API's answer only a verified server is told the credential, and a probe server needs none.
        let mayTell = hasAPI || self.requests.endpoint.isSecure && !self.isProbe
        let mayWait = self.budget != nil
        var credential = mayTell && mayWait ? try await self.credential() : nil
        if hasAPI { try await self.examine(&credential) }
        if self.isProbe { self.facts.credential = .skipped(.probe) }
        guard PathJudge(self.facts).mayAsk else { return self.facts.skipAboveUpgrade(.notReached) }
        try await self.examineWebSocket(credential)
        try await self.examinePath(credential)
        guard PathJudge(self.facts).mayAsk else { return }
        if self.isProbe { return try await self.examineEventStream() }
        if self.facts.upgrade.facts?.handshake == .established { self.facts.messages = .skipped(.needsProbe) }
        self.facts.eventStream = .skipped(.needsProbe)
    }

    // MARK: HTTP

    private mutating func examineHTTP() async throws {
        guard let budget = self.pace.patience(withLeft: self.left),
            let request = self.requests.document(
                at: "/models", credential: nil, capturing: Self.capturedFieldNames)
        else {
            self.facts.http = .skipped(.noTime)
            return
        }
        let start = ContinuousClock.now
        let reply = try await ProbeExchange.reply(to: request, by: self.transport, within: budget)
        let time = self.time(since: start)
        switch reply.answer {
        case .failed(let failure):
            if self.noteEnvironment(failure) { return }
            if failure.phase == .tls {
                // In TLS 1.3 the server refuses a certificate, or the lack of one, after the client's handshake.
                self.facts.tls = .found(.init(failure.handshake), time)
            } else {
                self.facts.http = .found(.init(failure.exchange), time)
            }
        case .answered(let head, let body) where reply.isHeldBack && self.needsBody(head, body, of: request):
            var facts = HTTPFacts(.timedOut)
            facts.heldCode = head.statusCode
            self.facts.http = .found(facts, time)
        case .answered(let head, let body):
            self.firstAnswer = time.duration
            self.isProbe = head.value(of: Self.probeFieldName) != nil
            let seen = self.isProbe ? Self.seen(of: request, body) : nil
            var facts = HTTPFacts(.answered(self.answer(head, body, to: request)), isProbe: self.isProbe, seen: seen)
            facts.isOnThisMachine = self.isOnThisMachine
            self.facts.http = .found(facts, time)
            self.noteClock(head.value(of: "date"), age: head.value(of: "age"))
        }
    }

    /// Returns whether an answer tells nothing without its whole body: a success that is no page.
    private func needsBody(_ head: ResponseHead, _ body: [UInt8], of request: TransportRequest) -> Bool {
        (200..<300).contains(head.statusCode)
            && [.json, .other].contains(self.answer(head, body, to: request).body)
    }

    /// Returns the parts of an answer that tell who has answered.
    func answer(_ head: ResponseHead, _ body: [UInt8], to request: TransportRequest) -> HTTPFacts.Answer {
        let text = String(decoding: body, as: UTF8.self)
        let type = head.value(of: "content-type")
        // Some APIs give their JSON the type of a page.
        let isTypedAsPage = WebPage.isContentType(type) && HTTPFacts.Body(contentType: nil, text: text) != .json
        let isPage = isTypedAsPage || WebPage(text) != nil
        let kind: HTTPFacts.Body =
            if WebPage(text) == .cloudflareBlock {
                .blockPage
            } else if isPage { .init(page: text) } else { .init(contentType: type, text: text) }
        let challenge = head.value(of: "www-authenticate")
        let redirection = (300..<400).contains(head.statusCode) ? head.value(of: "location") : nil
        var answer = HTTPFacts.Answer(
            statusCode: head.statusCode, body: kind,
            redirection: redirection.map { .init(location: $0, of: request.endpoint) },
            asksForToken: challenge?.lowercased().hasPrefix("bearer") ?? false,
            demand: kind == .json ? nil : .init(statusCode: head.statusCode, text: text),
            login: challenge.flatMap { .init(challenge: $0) })
        answer.isList = kind == .json && text.contains("\"data\"")
        answer.retryAfter = head.secondsOfRetry
        return answer
    }

    private mutating func noteClock(_ date: String?, age: String?) {
        let now = Int(Date().timeIntervalSince1970)
        guard let date, let sent = HTTPDate.secondsSince1970(date, now: now) else { return }
        self.facts.environment.clockLead = EnvironmentFacts.clockLead(at: now, date: sent, age: age)
    }

    /// Asks the API with the credential, which is replaced once when it is refused, as in a turn.
    private mutating func examine(_ credential: inout ChappieCredential?) async throws {
        guard let first = credential else { return self.noteMissingCredential() }
        let start = ContinuousClock.now
        guard var facts = try await self.answer(to: first) else {
            self.facts.credential = .skipped(.noTime)
            return
        }
        if facts.outcome == .answered(statusCode: 401), self.budget != nil,
            let next = try await self.requests.credential(for: .rejected(first)), next != first
        {
            credential = next
            facts = try await self.answer(to: next) ?? facts
        }
        if self.facts.http.facts?.hasResponses != true,
            [.answered(statusCode: 401), .answered(statusCode: 403)].contains(facts.outcome), let credential
        {
            facts.responsesCode = try await self.codeOfResponses(to: credential)
        }
        self.facts.credential = .found(facts, self.time(since: start))
    }

    /// Returns the status code of the answer to a POST without content to `/responses`, where that takes a credential
    /// to which the list of models is refused; nil where it does not, or takes requests without one too.
    private func codeOfResponses(to credential: ChappieCredential) async throws -> Int? {
        let (accepted, refused): (Set<Int>, Set<Int>) = ([400, 415, 422], [401, 403])
        guard let code = try await self.codeOfResponses(with: credential), accepted.contains(code),
            let codeWithout = try await self.codeOfResponses(with: nil), refused.contains(codeWithout)
        else { return nil }
        return code
    }

    private func codeOfResponses(with credential: ChappieCredential?) async throws -> Int? {
        guard case .answered(let answer, _)? = try await self.post(with: credential) else { return nil }
        return answer.body == .json || answer.asksForToken ? answer.statusCode : nil
    }

    /// Returns the facts of the API's answer to a request with a credential; nil without time to ask.
    ///
    /// What is missing behind the credential is noted, because some servers ask for it first.
    private mutating func answer(to credential: ChappieCredential) async throws -> CredentialFacts? {
        var statusCode: Int?
        // Where the list of models does not work, the responses are asked.
        if self.facts.http.facts?.hasResponses == true {
            guard let outcome = try await self.post(with: credential) else { return nil }
            if case .answered(let answer, let text) = outcome {
                statusCode = answer.statusCode
                self.noteResponses(answer, text)
            }
        } else {
            guard let budget = self.budget,
                let request = self.requests.document(
                    at: "/models", credential: credential, capturing: Self.capturedFieldNames)
            else { return nil }
            let outcome = try await ProbeExchange.answer(to: request, by: self.transport, within: budget)
            if case .answered(let head, _) = outcome { statusCode = head.statusCode }
        }
        return CredentialFacts(statusCode: statusCode, form: self.inquiry.form)
    }

    private mutating func noteResponses(_ answer: HTTPFacts.Answer, _ text: String) {
        guard case .found(var http, let time) = self.facts.http else { return }
        if answer.existenceOfResponses(text: text) == false { http.hasResponses = false }
        http.responsesAnswer = answer
        self.facts.http = .found(http, time)
    }

    private mutating func noteMissingCredential() {
        switch self.inquiry.failure {
        case .thrown: self.facts.credential = .found(.init(.unavailable), self.time(since: .now))
        case .unusable:
            self.facts.credential = .found(.init(.unusable, form: self.inquiry.form), self.time(since: .now))
        case .late: self.facts.credential = .skipped(.credentialLate)
        case nil: self.facts.credential = .skipped(self.budget == nil ? .noTime : .noCredential)
        }
    }

    // MARK: WebSocket

    private mutating func examineWebSocket(_ credential: ChappieCredential?) async throws {
        guard self.requests.opensWebSockets else { return self.skipWebSocket(.httpOnly) }
        guard let budget = self.budget else { return self.skipWebSocket(.noTime) }
        let start = ContinuousClock.now
        let isOffered = self.requests.offersCompression
        let first = try await self.open(credential, isCompressed: isOffered, within: budget)
        defer { first.exchange.end() }
        if let reason = self.reasonToSkip(first.handshake, credential) { return self.skipWebSocket(reason) }
        self.note(first, since: start)
        if first.isOpen { return try await self.examineOpen(first) }
        try await self.examineWithoutUpgrade(credential, hasVia: first.hasVia)
        if isOffered, first.mayFailByCompression, try await self.examineUncompressed(credential, first, since: start) {
            return
        }
        if first.handshake == .established {
            self.facts.earlyClose = .found(.init(closeCode: first.closeCode), first.timeOfClose(self))
        }
    }

    /// Asks at the same path without the upgrade, where a refusal may be the server's or that of something on the path.
    ///
    /// A proxy that names itself in the refusal alone has refused.
    private mutating func examineWithoutUpgrade(_ credential: ChappieCredential?, hasVia: Bool) async throws {
        guard case .found(var upgrade, let time) = self.facts.upgrade, upgrade.mayBeOfEither,
            case .refused(let code, let isPage) = upgrade.handshake, let budget = self.budget,
            let request = self.requests.document(credential: credential, capturing: Self.capturedFieldNames),
            case .answered(let head, _) = try await ProbeExchange.answer(
                to: request, by: self.transport, within: budget)
        else { return }
        let isSamePage = WebPage.isContentType(head.mediaType) == isPage
        upgrade.isSameWithoutUpgrade = head.statusCode == code && isSamePage
        if hasVia, head.value(of: "via") == nil { upgrade.isOfPath = true }
        self.facts.upgrade = .found(upgrade, time)
    }

    private func open(
        _ credential: ChappieCredential?, isCompressed: Bool, within budget: Duration
    ) async throws -> ProbeSocket {
        try await ProbeSocket.open(
            self.requests, credential, isCompressed: isCompressed, by: self.transport, within: budget)
    }

    private mutating func note(
        _ socket: ProbeSocket, since start: ContinuousClock.Instant, worksUncompressed: Bool? = nil
    ) {
        var facts = UpgradeFacts(
            socket.handshake, offersCompression: self.requests.offersCompression, isCompressed: socket.isCompressed,
            worksUncompressed: worksUncompressed, isOfPath: socket.isOfPath)
        facts.retryAfter = socket.retryAfter
        self.facts.upgrade = .found(facts, self.time(since: start))
    }

    /// Returns the reason for which a refusal says nothing about WebSockets; nil for any other outcome.
    private func reasonToSkip(
        _ handshake: UpgradeFacts.Handshake, _ credential: ChappieCredential?
    ) -> SkipReason? {
        guard case .refused(let code, let isPage) = handshake else { return nil }
        guard credential == nil else { return nil }
        guard case .answered(let answer)? = self.facts.http.facts?.exchange else {
            return code == 401 && !isPage ? .needsCredential : nil
        }
        // The page with which the server has asked for the credential before.
        if isPage { return code == 401 && self.facts.http.facts?.inquiry == .impossible ? .needsCredential : nil }
        return code == 401 || code == 403 && [401, 403].contains(answer.statusCode) ? .needsCredential : nil
    }

    /// Tries a failed WebSocket without compression, and once more with it, lest a single cut is taken for a rule.
    ///
    /// Returns whether one of them works; it is then examined.
    private mutating func examineUncompressed(
        _ credential: ChappieCredential?, _ first: ProbeSocket, since start: ContinuousClock.Instant
    ) async throws -> Bool {
        guard let budget = self.budget else { return false }
        let second = try await self.open(credential, isCompressed: false, within: budget)
        defer { second.exchange.end() }
        guard second.isOpen, let rest = self.budget else { return false }
        let third = try await self.open(credential, isCompressed: true, within: rest)
        defer { third.exchange.end() }
        if third.isOpen {
            self.note(third, since: start)
            try await self.examineOpen(third)
        } else {
            self.note(first, since: start, worksUncompressed: true)
            try await self.examineOpen(second)
        }
        return true
    }

    private mutating func skipWebSocket(_ reason: SkipReason) {
        self.facts.upgrade = .skipped(reason)
        self.facts.skipAboveUpgrade(reason)
    }

    private mutating func examineOpen(_ socket: ProbeSocket) async throws {
        self.facts.earlyClose = .found(.init(), socket.timeOfClose(self))
        guard let budget = self.budget else {
            self.facts.pings = .skipped(.noTime)
            return
        }
        let start = ContinuousClock.now
        let deadline = start + budget
        var (pings, closeCode) = (PingFacts(sentCount: 0, roundTrips: []), UInt16?.none)
        // A ping that could not be answered in time is not sent.
        pinging: while pings.sentCount < self.pace.pingCount, deadline - .now >= ExaminationPace.pingAnswer {
            switch try await socket.ping(by: deadline) {
            case .answered(let roundTrip):
                pings.sentCount += 1
                pings.roundTrips.append(roundTrip)
            case .timedOut:
                pings.sentCount += 1
                break pinging
            case .closed(let code):
                closeCode = code
                break pinging
            }
        }
        if let closeCode {
            let end = EarlyCloseFacts(closeCode: closeCode, after: .now - socket.opened)
            self.facts.earlyClose = .found(end, self.time(since: socket.opened))
            self.facts.pings = pings.sentCount == 0 ? .skipped(.notReached) : .found(pings, self.time(since: start))
            return
        }
        self.facts.pings = .found(pings, self.time(since: start))
        if self.isProbe { try await self.examineMessages(socket) }
    }
}

extension HTTPFacts.Redirection {
    /// Creates the target of a redirection of a request.
    fileprivate init(location: String, of endpoint: TransportEndpoint) {
        let path = endpoint.target.prefix { $0 != "?" }
        self.init(location: location, host: endpoint.host, withoutTLS: endpoint.isSecure ? nil : String(path))
    }
}

extension PathFacts {
    /// Skips everything that needs a WebSocket or an event stream.
    mutating func skipAboveUpgrade(_ reason: SkipReason) {
        self.earlyClose = .skipped(reason)
        self.messages = .skipped(reason)
        self.pings = .skipped(reason)
        self.eventStream = .skipped(reason)
    }
}
