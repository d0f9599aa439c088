/// The steps of HTTP, of the credential, and of the opening handshake.
extension StepJudge {
    /// Judges the answer to a GET without a credential; `version` is that of TLS, nil without TLS, and `time` that of
    /// the step.
    ///
    /// `hasModels` tells whether a list of models has answered, with the credential or without it.
    static func http(_ facts: HTTPFacts, hasModels: Bool, overTLS version: String?, within time: Duration) -> Judgement
    {
        switch facts.exchange {
        case .answered(let answer): Self.answer(answer, facts, hasModels: hasModels, overTLS: version)
        case .cut where facts.hasResponses == true: .ok("cut for the list of models alone: the responses are answered")
        case .notHTTP where facts.hasResponses == true:
            .ok("not HTTP/1.1 for the list of models alone: the responses are answered")
        case .timedOut where facts.hasResponses == true:
            .ok("no answer in time for the list of models alone: the responses are answered")
        case .cut where facts.hasResponses == false:
            .fault(.noResponses, "cut for the list of models\(facts.wordsOfCode)")
        case .timedOut where facts.hasResponses == false:
            .fault(.noResponses, "no answer in time for the list of models\(facts.wordsOfCode)")
        case .notHTTP: .fault(.notHTTP, "not HTTP/1.1")
        case .cut: .fault(.httpCut, "cut before the answer")
        case .timedOut:
            .fault(
                .httpSilent,
                (facts.heldCode.map { "status code \($0), and no whole body" } ?? "no answer")
                    + (time > .zero ? " within \(time.words)" : " in time"))
        case .needsTLS: .fault(.needsTLS, "the port speaks TLS")
        }
    }

    private static func answer(
        _ answer: HTTPFacts.Answer, _ facts: HTTPFacts, hasModels: Bool, overTLS version: String?
    ) -> Judgement {
        let words = "status code \(answer.statusCode)"
        // A probe server has an answer at its own path.
        if facts.isProbe, answer.statusCode == 404 { return .fault(.wrongAddress, "\(words), of a probe server") }
        if let refusal = facts.refusal {
            let found = Self.finding(forResponses: refusal) ?? Self.finding(forRefusal: refusal)
            // No portal answers on this machine.
            let finding = found == .captivePortal && facts.isOnThisMachine ? .wrongAddress : found
            return .fault(finding, "\(words), and \(refusal.words) for the responses", effect: .http)
        }
        if facts.hasResponses == false {
            // The list is at this address, and does not work.
            if answer.statusCode >= 500 {
                return .fault(.noResponses, "\(words) for the list of models\(facts.wordsOfCode)")
            }
            let isUnknown = facts.isUnknownPath && answer.isList
            if hasModels, let code = facts.responsesCode, isUnknown || !(200..<300).contains(code) {
                return .fault(.noResponses, "a list of models, and status code \(code) for the responses")
            }
            let code = facts.responsesCode ?? answer.statusCode
            let isSame = code == answer.statusCode || (200..<300).contains(code)
            return .fault(
                .wrongAddress,
                isSame ? "\(words), and for the responses too" : "\(words), and \(code) for the responses")
        }
        if facts.mayAskForCredential, let judgement = Self.page(answer, facts.inquiry) { return judgement }
        if facts.inquiry == .met { return .ok("\(words) to a request without a credential") }
        if facts.inquiry == .withheld {
            return .fault(.credentialWithheld, "\(words)\(answer.kind) to a request without the key")
        }
        let finding = Self.finding(for: answer)
        if finding != nil, facts.hasResponses == true { return .ok("\(words) for the list of models alone") }
        guard let finding else {
            guard let seen = facts.seen else { return .ok(words) }
            return .ok("\(words), \(seen.words(besideTLS: version))", full: seen.fullWords)
        }
        // No portal answers on this machine: another program has the port.
        if finding == .captivePortal, facts.isOnThisMachine, answer.redirection == nil, answer.statusCode != 511 {
            return .fault(.wrongAddress, "\(words), a web page of this machine: check port and path")
        }
        return .fault(finding, words + answer.kind + (answer.demand?.words ?? ""))
    }

    /// Judges a page that may ask for the credential by the answer to the same request with it; nil for one that is
    /// judged as any other.
    ///
    /// The status code 401 is about a credential (RFC 9110 section 15.5.2), and 403 need not be.
    private static func page(_ answer: HTTPFacts.Answer, _ inquiry: HTTPFacts.Inquiry?) -> Judgement? {
        let words = "status code \(answer.statusCode), a web page"
        switch (inquiry, answer.statusCode) {
        case (.met?, _): return .ok("\(words) to a request without a credential")
        case (.refused?, 401), (.impossible?, 401): return .ok("\(words) that asks for a credential")
        case (.withheld?, 401), (nil, 401): return .fault(.asksCredential, words)
        default: return nil
        }
    }

    /// Returns the fault of an answer; nil for an API's, whatever it says of the request.
    static func finding(for answer: HTTPFacts.Answer) -> PathFinding? {
        // RFC 6585 section 6.
        if answer.statusCode == 511 { return .captivePortal }
        switch answer.demand {
        // Over TLS it is the answer of a server to the gateway that ends TLS.
        case .tls: return .gatewayError
        case .clientCertificate: return .tlsRefused
        case nil: break
        }
        switch answer.redirection {
        case .signIn: return .signInPage
        case .otherHost: return answer.statusCode == 301 || answer.statusCode == 308 ? .redirected : .captivePortal
        case .sameHost, .withTLS: return .redirected
        case nil: break
        }
        switch (answer.body, answer.statusCode) {
        case (.signInPage, _): return .signInPage
        case (.page, 429), (.blockPage, 429): return .limited
        case (.blockPage, _): return .blockPage
        case (.page, 200..<300): return .captivePortal
        case (.page, 401) where answer.asksForToken: return nil
        case (.page, 401), (.page, 403), (.page, 451), (.page, 407), (.other, 407): return .blockPage
        // RFC 9110 sections 15.6.3 and 15.6.5.
        case (_, 502), (_, 504), (.page, 503), (.other, 503): return .gatewayError
        // Cloudflare's, of a server that it does not reach; those with JSON are an API's own.
        case (.page, 520...530), (.other, 520...530): return .gatewayError
        case (.page, 404), (.page, 405): return .wrongAddress
        // Another protocol, or another version of HTTP, is demanded (RFC 9110 sections 15.5.22 and 15.6.6).
        case (.page, 426), (.other, 426), (_, 505): return .notHTTP
        case (_, 500...): return .serverError
        case (.page, _): return .blockPage
        // A server without a list of models answers 404 in JSON, as an API does.
        case (.other, 404): return .wrongAddress
        case (.json, _), (.other, _): return nil
        }
    }

    /// Returns the fault of the path or of the server by which a POST without content to the responses has this
    /// outcome; nil for the answer of an API, whatever it says of the request, and for one about a credential or a
    /// missing path.
    static func finding(forResponses outcome: HTTPFacts.Exchange) -> PathFinding? {
        switch outcome {
        case .cut: return .httpCut
        case .timedOut: return .httpSilent
        case .notHTTP: return .notHTTP
        case .needsTLS: return .needsTLS
        case .answered(let answer):
            switch (Self.finding(for: answer), answer.statusCode) {
            case (.wrongAddress?, _): return nil
            // The question for a credential, in the words of something in front of the API.
            case (.blockPage?, 401) where answer.body == .page: return nil
            // Servers that find no JSON in a request without content have errors of their own about it.
            case (.serverError?, 500): return nil
            case (.serverError?, _) where answer.body == .json: return nil
            case (let finding, _): return finding
            }
        }
    }

    /// Returns the fault of a server whose WebSocket works by its answer to that POST.
    private static func finding(forRefusal outcome: HTTPFacts.Exchange) -> PathFinding {
        guard case .answered(let answer) = outcome else { return .notOffered }
        return switch answer.statusCode {
        case 401: .credentialRefused
        case 403: .credentialForbidden
        default: .notOffered
        }
    }

    /// Judges the same request with the credential; `login` is what was asked for without it.
    ///
    /// The form of a key is evidence of its refusal, and otherwise a remark: a list of models may be public.
    static func credential(_ facts: CredentialFacts, askedFor login: HTTPFacts.Login?) -> Judgement {
        var judgement = Self.answer(to: facts, askedFor: login)
        if let form = facts.form, judgement.faults.isEmpty {
            judgement.faults = [.init(finding: .credentialForm, evidence: [form.words])]
        }
        return judgement
    }

    private static func answer(to facts: CredentialFacts, askedFor login: HTTPFacts.Login?) -> Judgement {
        let code: Int
        switch facts.outcome {
        case .answered(let statusCode): code = statusCode
        case .unanswered: return .skipped("no answer")
        case .unavailable: return .fault(.credentialUnavailable, "its source failed: none was sent")
        case .unusable: return .fault(.credentialUnusable, facts.form?.words ?? "it has a control character")
        }
        let (words, form) = ("status code \(code)", facts.form.map { [$0.words] } ?? [])
        if let code = facts.responsesCode {
            let ofResponses = "status code \(code) for the responses"
            return switch code {
            case 401: .fault(.credentialRefused, ofResponses, evidence: [ofResponses] + form)
            case 403: .fault(.credentialForbidden, ofResponses, evidence: [ofResponses] + form)
            default: .ok("\(words) for the list of models alone")
            }
        }
        return switch code {
        case 401:
            .fault(
                .credentialRefused, words,
                evidence: [words]
                    + (login.map { ["the server asks for a login by \($0.rawValue), and not for a key"] } ?? [])
                    + form)
        case 403: .fault(.credentialForbidden, words, evidence: [words] + form)
        default: .ok(code == 429 ? "\(words): accepted, and limited" : "\(words): not refused")
        }
    }

    /// Judges an opening handshake.
    static func upgrade(_ facts: UpgradeFacts) -> Judgement {
        if facts.worksUncompressed == true { return .ok("established without compression") }
        switch facts.handshake {
        case .established: return .ok("established")
        case .refused(let code, let isPage):
            let words = "status code \(code)\(isPage ? ", a web page" : "")"
            return Self.refusal(facts, code, isPage: isPage, words)
        case .announcesContent: return .fault(.webSocketContent, "101 with a field about content")
        case .altered(let part): return .fault(.webSocketAltered, "101 with a wrong \(part) field")
        case .cut: return .fault(.webSocketCut, "cut before the answer")
        case .timedOut: return .fault(.webSocketSilent, "no answer in time")
        }
    }

    /// Judges a refusal: something on the path is blamed only where the answer shows it.
    ///
    /// An answer that is the same without the upgrade is not about the upgrade, and the server's own. That it is
    /// another proves nothing: servers and their libraries refuse the upgrade itself.
    private static func refusal(_ facts: UpgradeFacts, _ code: Int, isPage: Bool, _ words: String) -> Judgement {
        if facts.isOfPath {
            return .fault(.webSocketBlocked, words, evidence: [words, "the answer is that of something on the path"])
        }
        if UpgradeFacts.codesOfPath.contains(code) { return .fault(.webSocketBlocked, words) }
        if code == 401 { return .fault(.webSocketUnauthorized, words) }
        if code == 429 {
            return .fault(.webSocketLimited, words + Self.words(ofWait: facts.retryAfter))
        }
        let isOfServer = !isPage && (UpgradeFacts.codesOfServer.contains(code) || (200..<300).contains(code))
        switch facts.isSameWithoutUpgrade {
        case true?:
            return .fault(
                .webSocketNotOffered, words, evidence: [words, "the answer without the upgrade is the same"])
        case false?:
            let evidence = [words, "the answer without the upgrade is another"]
            if isOfServer { return .fault(.webSocketNotOffered, words, evidence: evidence) }
            return .fault(
                .webSocketRefused, words, evidence: evidence,
                clause: "the upgrade alone is refused, with status code \(code)")
        case nil: return .fault(isOfServer ? .webSocketNotOffered : .webSocketRefused, words)
        }
    }

    /// Returns the clause's ending with the seconds of `Retry-After`; empty without that field.
    static func words(ofWait retryAfter: Int?) -> String { retryAfter.map { ", Retry-After \($0) s" } ?? "" }

    /// Judges the offer of compression and its answer.
    static func compression(_ facts: UpgradeFacts) -> Judgement {
        if facts.worksUncompressed == true {
            return .fault(
                .compressionBroken, "fails with compression",
                evidence: ["the WebSocket fails with an offer of compression", "without the offer it works"])
        }
        guard facts.handshake == .established else { return .skipped(SkipReason.notReached.words) }
        return .ok(facts.isCompressed ? "permessage-deflate" : "not accepted by the server")
    }

    /// Judges the time after an opening handshake.
    static func earlyClose(_ facts: EarlyCloseFacts) -> Judgement {
        guard let code = facts.closeCode else { return .ok("stays open") }
        let end = code == 1006 ? "cut without a close frame" : "closed with code \(code)"
        return .fault(.closedEarly, "\(end) \(facts.time.map { "after \($0.words)" } ?? "at once")")
    }
}

extension CredentialFacts.Form {
    /// The form in words.
    fileprivate var words: String {
        switch self {
        case .lineBreakAtEnd: "the key has a line break at its end"
        case .spaces: "the key has spaces around it"
        case .quotationMarks: "the key has quotation marks around it"
        }
    }
}

extension HTTPFacts {
    /// The end of a clause about the list of models, with the status code for the responses.
    fileprivate var wordsOfCode: String { self.responsesCode.map { ", and status code \($0) for the responses" } ?? "" }
}

extension HTTPFacts.Exchange {
    /// The outcome in words, which a clause about its request follows.
    fileprivate var words: String {
        switch self {
        case .answered(let answer): "status code \(answer.statusCode)\(answer.kind)"
        case .notHTTP: "an answer that is not HTTP/1.1"
        case .cut: "a cut connection"
        case .timedOut: "no answer in time"
        case .needsTLS: "an answer of TLS"
        }
    }
}

extension HTTPFacts.Demand {
    /// The end of a clause about the answer.
    fileprivate var words: String {
        switch self {
        case .tls: " that demands TLS"
        case .clientCertificate: " that demands a client's certificate"
        }
    }
}

extension HTTPFacts.Answer {
    /// The kind of the answer, as the end of a clause with the status code; empty for one that says it all.
    fileprivate var kind: String {
        switch self.redirection {
        case .otherHost: self.isPage ? ", a web page" : ", to another host"
        case .withTLS: ", to https"
        case .sameHost, .signIn, nil: self.isPage ? ", a web page" : ""
        }
    }

    /// Indicates whether the body is a page for a browser.
    fileprivate var isPage: Bool {
        switch self.body {
        case .page, .signInPage, .blockPage: true
        case .json, .other: false
        }
    }
}
