// The facts of the steps from HTTP upwards. Values without an owner.

/// The facts of the answer to a GET without a credential.
package struct HTTPFacts: Sendable, Equatable {
    /// The outcome of the exchange.
    package enum Exchange: Sendable, Equatable {
        /// An answer arrived.
        case answered(Answer)
        /// The answer is not HTTP.
        case notHTTP
        /// The connection was cut before the answer.
        case cut
        /// No answer came in the step's time.
        case timedOut
        /// The request went out without TLS, as the URL demands, and the server has TLS on this port.
        case needsTLS
    }

    /// The parts of an answer that tell who has answered.
    package struct Answer: Sendable, Equatable {
        /// The status code.
        package var statusCode: Int
        /// The kind of the body.
        package var body: Body
        /// The target of a redirection; nil without one.
        package var redirection: Redirection?
        /// Indicates whether the answer asks for a bearer token (RFC 6750 section 3).
        package var asksForToken: Bool
        /// The other connection that the answer demands; nil for none.
        package var demand: Demand?
        /// Indicates whether a body of JSON has the member of a list.
        package var isList = false
        /// The scheme of another login than a bearer token for which the answer asks (RFC 9110 section 11.6.1); nil for
        /// none.
        package var login: Login?
        /// The seconds after which the answer asks for another attempt (RFC 9110 section 10.2.3); nil without such a
        /// field.
        package var retryAfter: Int?

        /// Creates an answer.
        package init(
            statusCode: Int, body: Body = .json, redirection: Redirection? = nil, asksForToken: Bool = false,
            demand: Demand? = nil, login: Login? = nil
        ) {
            self.statusCode = statusCode
            self.body = body
            self.redirection = redirection
            self.asksForToken = asksForToken
            self.demand = demand
            self.login = login
        }
    }

    /// A scheme of authentication by a user name, which no API with a key has.
    package enum Login: String, Sendable, Equatable, CaseIterable {
        case basic = "Basic"
        case digest = "Digest"
        case negotiate = "Negotiate"
        case ntlm = "NTLM"
    }

    /// The other connection that a server demands in an error about this one.
    package enum Demand: Sendable, Equatable {
        /// One with TLS.
        case tls
        /// One with a certificate of the client.
        case clientCertificate
    }

    /// The kind of a body.
    package enum Body: Sendable, Equatable {
        /// JSON.
        case json
        /// A page for a browser.
        case page
        /// A page for a browser on which a person signs in.
        case signInPage
        /// A page for a browser that says that the request is blocked.
        case blockPage
        /// No content, or another kind.
        case other
    }

    /// The target of a redirection.
    package enum Redirection: Sendable, Equatable {
        /// The same host.
        case sameHost
        /// The same host and path, with TLS, which the request has not.
        case withTLS
        /// Another host.
        case otherHost
        /// Another host, at a path for signing in.
        case signIn
    }

    /// The outcome.
    package var exchange: Exchange
    /// Indicates whether a probe server has answered.
    package var isProbe: Bool
    /// The facts that a probe server has seen; nil when it does not tell them, and for another server.
    package var seen: Seen?
    /// Indicates whether the path of the responses exists; nil when that was not asked, or not answered by the server.
    package var hasResponses: Bool?
    /// The answer to a POST without content to that path, which decides about turns over HTTP; nil without one.
    package var responsesAnswer: Answer?
    /// Indicates whether the answer to that POST says that the server does not know the path, whatever its status code.
    package var isUnknownPath = false
    /// The outcome of that POST where no turn over HTTP is possible by it; nil where one may be, and without a POST.
    package var refusal: Exchange?
    /// The outcome of the same request with the credential; nil when it was not examined.
    package var inquiry: Inquiry?
    /// The status code of an answer whose body did not come in time (`timedOut`); nil for none.
    package var heldCode: Int?
    /// Indicates whether the server is on this machine, where no portal answers in its place.
    package var isOnThisMachine = false

    /// Creates facts.
    package init(
        _ exchange: Exchange, isProbe: Bool = false, seen: Seen? = nil, hasResponses: Bool? = nil,
        inquiry: Inquiry? = nil
    ) {
        self.exchange = exchange
        self.isProbe = isProbe
        self.seen = seen
        self.hasResponses = hasResponses
        self.inquiry = inquiry
    }

    /// The status code of `responsesAnswer`; nil without one.
    package var responsesCode: Int? { self.responsesAnswer?.statusCode }

    /// Indicates whether the answer to a request without TLS may be that of a server with TLS.
    ///
    /// Such a server cuts the connection, answers with an alert, or with status code 400, as nginx does. JSON is the
    /// answer of an API, which may have another route that answers without content.
    package var mayNeedTLS: Bool {
        switch self.exchange {
        case .cut, .notHTTP: self.hasResponses == nil
        case .answered(let answer):
            self.demandsTLS || answer.statusCode == 400 && answer.body != .json && self.hasResponses != true
        case .timedOut, .needsTLS: false
        }
    }

    /// Indicates whether the answer is no API's, so that it may be that of one route, and the API's others may work.
    ///
    /// A gateway may give the responses alone, and answer for everything else with a page or a redirection of its own.
    package var mayBeOfOneRoute: Bool {
        guard !self.isProbe, !self.hasBrokenRoute else { return false }
        return switch self.exchange {
        case .answered(let answer): answer.demand == nil && !self.isOfAPI
        case .notHTTP: true
        case .cut, .timedOut, .needsTLS: false
        }
    }

    /// Indicates whether the request had no answer, or that of a gateway, so that the API's other routes may work.
    package var hasBrokenRoute: Bool {
        switch self.exchange {
        case .cut, .timedOut: true
        case .answered(let answer):
            !self.isProbe && answer.demand == nil && answer.redirection == nil
                && [.json, .page, .other].contains(answer.body) && (502...504).contains(answer.statusCode)
        case .notHTTP, .needsTLS: false
        }
    }

    /// Indicates whether the answer is a page that may ask for the credential: no challenge says for which.
    ///
    /// A gateway in front of an API answers so to a request without one, and so may something else on the path.
    package var mayAskForCredential: Bool {
        guard case .answered(let answer) = self.exchange, answer.redirection == nil, answer.demand == nil,
            !answer.asksForToken
        else { return false }
        switch (answer.body, answer.statusCode) {
        case (.page, 401), (.blockPage, 401), (.page, 403): return self.hasResponses != true
        default: return false
        }
    }
}

// MARK: Further questions

extension HTTPFacts {
    /// Indicates whether the credential may change an answer that looks wrong: some servers answer a request without
    /// one with an error of their own, a page, or a redirection to their login.
    package var mayChangeWithCredential: Bool {
        guard case .answered(let answer) = self.exchange, answer.demand == nil, !self.isProbe, self.hasResponses == nil
        else { return false }
        switch (answer.redirection, answer.body, answer.statusCode) {
        case (.sameHost?, _, _), (nil, .json, 500), (nil, .page, 404), (nil, .other, 404): return true
        default: return false
        }
    }

    /// Indicates whether the answer is that of an API, in JSON.
    package var isOfAPI: Bool {
        guard case .answered(let answer) = self.exchange else { return false }
        return answer.body == .json && StepJudge.finding(for: answer) == nil
    }

    /// Indicates whether the answer itself demands TLS.
    package var demandsTLS: Bool {
        if case .answered(let answer) = self.exchange { answer.demand == .tls } else { false }
    }

    /// The outcome of the same request with the credential, after a page that may ask for one.
    package enum Inquiry: Sendable, Equatable {
        /// The answer is another.
        case met
        /// The answer is such a page again.
        case refused
        /// There is no credential to ask with.
        case impossible
        /// The server is on another machine and not verified, and its answer is not an API's: it is not told the
        /// credential. After a page with status code 401 it is not known whether there is one.
        case withheld
    }
}

/// The facts of the answer to the same request with the credential.
package struct CredentialFacts: Sendable, Equatable {
    /// The outcome of the request.
    package enum Outcome: Sendable, Equatable {
        /// An answer with this status code arrived.
        case answered(statusCode: Int)
        /// None did.
        case unanswered
        /// The source of the credential failed, so that nothing was sent.
        case unavailable
        /// The credential cannot be a field's value (RFC 9110 section 5.5), so that nothing was sent.
        case unusable
    }

    /// A form of a key that is a fault, or may be one.
    package enum Form: Sendable, Equatable {
        /// It has a line break at its end, as a line of a file has.
        case lineBreakAtEnd
        /// It has spaces or tabs before or behind it, which the engine sends with it.
        case spaces
        /// It has quotation marks before or behind it, as a file of variables may have that no shell has read.
        case quotationMarks
    }

    /// The outcome.
    package var outcome: Outcome
    /// The form of the key; nil for an ordinary one.
    package var form: Form?
    /// The status code of the answer to a POST without content to `/responses`, with the credential, where it decides;
    /// nil where it does not.
    package var responsesCode: Int?

    /// Creates facts.
    package init(_ outcome: Outcome, form: Form? = nil) {
        self.outcome = outcome
        self.form = form
    }

    /// Creates the facts of a request that was sent; the status code is nil when no answer arrived.
    package init(statusCode: Int?, form: Form? = nil) {
        self.init(statusCode.map { .answered(statusCode: $0) } ?? .unanswered, form: form)
    }
}

extension CredentialFacts.Form {
    /// Creates the form of a key; nil for an ordinary one.
    package init?(token: String) {
        switch (token.utf8.first, token.utf8.last) {
        case (_, 0x0A?), (_, 0x0D?): self = .lineBreakAtEnd
        case (0x20?, _), (_, 0x20?), (0x09?, _), (_, 0x09?): self = .spaces
        case (0x22?, _), (_, 0x22?), (0x27?, _), (_, 0x27?): self = .quotationMarks
        default: return nil
        }
    }
}

/// The facts of an opening handshake.
package struct UpgradeFacts: Sendable, Equatable {
    /// The outcome of the handshake.
    package enum Handshake: Sendable, Equatable {
        /// The WebSocket was established.
        case established
        /// Another status code than 101; whether the body is a page for a browser.
        case refused(statusCode: Int, isPage: Bool)
        /// Status code 101 with a wrong or missing field.
        case altered(String)
        /// Status code 101 with a field about content, after which it is not certain where the frames begin.
        case announcesContent
        /// The connection was cut, or the answer is not HTTP.
        case cut
        /// No answer came in the step's time.
        case timedOut
    }

    /// The outcome.
    package var handshake: Handshake
    /// Indicates whether compression was offered.
    package var offersCompression: Bool
    /// Indicates whether the server has accepted it.
    package var isCompressed: Bool
    /// Indicates whether a WebSocket that failed with an offer of compression works without it; nil when that was not
    /// tried.
    package var worksUncompressed: Bool?
    /// Indicates whether the same request without the upgrade has the same answer; nil when that was not tried.
    package var isSameWithoutUpgrade: Bool?
    /// Indicates whether a refusal has the words, or the fields, of something on the path.
    package var isOfPath: Bool
    /// The seconds after which a refusal asks for another attempt (RFC 9110 section 10.2.3); nil without such a field.
    package var retryAfter: Int?

    /// Creates facts.
    package init(
        _ handshake: Handshake, offersCompression: Bool = true, isCompressed: Bool = false,
        worksUncompressed: Bool? = nil, isSameWithoutUpgrade: Bool? = nil, isOfPath: Bool = false
    ) {
        self.isOfPath = isOfPath
        self.handshake = handshake
        self.offersCompression = offersCompression
        self.isCompressed = isCompressed
        self.worksUncompressed = worksUncompressed
        self.isSameWithoutUpgrade = isSameWithoutUpgrade
    }

    /// Indicates whether a refusal may be that of the server or of something on the path: the same request without the
    /// upgrade tells more.
    ///
    /// Pages come from both. Without a page, the status codes of a server that has no WebSocket at the path are its
    /// own.
    package var mayBeOfEither: Bool {
        guard case .refused(let code, let isPage) = self.handshake else { return false }
        let isAboutRequest = (400..<500).contains(code) && code != 429 || code == 501
        return isAboutRequest && (isPage || !Self.codesOfServer.contains(code))
    }

    /// Indicates whether a refusal is about the request, and has nothing of an intermediary.
    var isRefusalOfServer: Bool {
        guard case .refused(let code, _) = self.handshake else { return false }
        return (400..<500).contains(code) && !Self.codesOfPath.contains(code) && !self.isOfPath && code != 429
    }

    /// The status codes of servers that know the path and not the upgrade.
    ///
    /// A server that received a plain GET, because an intermediary has removed the upgrade, gives the same ones.
    static let codesOfServer: Set<Int> = [400, 404, 405, 411, 415, 422, 426, 501]

    /// The status codes of a proxy, or of a gateway that does not reach the server.
    static let codesOfPath: Set<Int> = [407, 502, 504, 511]
}

/// The facts of the time after an opening handshake.
package struct EarlyCloseFacts: Sendable, Equatable {
    /// The end of the WebSocket: the close code (RFC 6455 section 7.4), 1006 for the end of TCP; nil while it is open.
    package var closeCode: UInt16?
    /// The time from the handshake to the end, where that came while pings were awaited; nil for an immediate end.
    package var time: Duration?

    /// Creates facts.
    package init(closeCode: UInt16? = nil, after time: Duration? = nil) {
        self.closeCode = closeCode
        self.time = time
    }
}

/// The facts of pings.
package struct PingFacts: Sendable, Equatable {
    /// The number of pings that were sent.
    package var sentCount: Int
    /// The times of the answers.
    package var roundTrips: [Duration]

    /// Creates facts.
    package init(sentCount: Int, roundTrips: [Duration]) {
        self.sentCount = sentCount
        self.roundTrips = roundTrips
    }

    /// The time by which the slowest round trip exceeds the fastest one; zero without any.
    ///
    /// A lost packet delays what follows it, because TCP delivers in order.
    var jitter: Duration { (self.roundTrips.max() ?? .zero) - (self.roundTrips.min() ?? .zero) }

    /// Returns the round trip that a part of all, from 0 to 1, does not exceed; nil without any.
    func roundTrip(at part: Double) -> Duration? {
        let sorted = self.roundTrips.sorted()
        guard !sorted.isEmpty else { return nil }
        let index = Int((Double(sorted.count) * part).rounded(.up)) - 1
        return sorted[min(max(0, index), sorted.count - 1)]
    }
}
