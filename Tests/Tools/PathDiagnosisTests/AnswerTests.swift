// Answers that are about the connection or the credential, or come from something in front of the API.
import PathDiagnosis
import Testing

@Suite struct AnswerTests {
    private static func report(_ facts: HTTPFacts) -> ChappieDiagnosis.Report {
        PathJudge(PathFacts.http(facts.exchange).with { $0.http = .found(facts) }).report
    }

    private static func names(_ answer: HTTPFacts.Answer) -> [String] {
        Self.report(.init(.answered(answer))).causes.map(\.name)
    }

    // MARK: Another connection

    @Test(
        arguments: [
            (400, "<title>400 The plain HTTP request was sent to HTTPS port</title>", .tls),
            (400, "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />", .tls),
            (400, "Client sent an HTTP request to an HTTPS server.\n", .tls),
            (400, "Bad Request\r\nThis combination of host and port requires TLS.\r\n", .tls),
            (497, "The plain HTTP request was sent to HTTPS port", .tls),
            (400, "<center>No required SSL certificate was sent</center>", .clientCertificate),
            (400, "<center>The SSL certificate error</center>", .clientCertificate),
            (400, "<center><h1>400 Bad Request</h1></center>", nil), (400, "", nil),
            (404, "The plain HTTP request was sent to HTTPS port", nil),
        ] as [(Int, String, HTTPFacts.Demand?)])
    func errorTextDemandsTLSOrAClientCertificate(statusCode: Int, text: String, demand: HTTPFacts.Demand?) {
        #expect(HTTPFacts.Demand(statusCode: statusCode, text: text) == demand)
    }

    @Test func pageThatDemandsTLSIsNotAnAPI() {
        let answer = HTTPFacts.Answer(statusCode: 400, body: .page, demand: .tls)
        let facts = HTTPFacts(.answered(answer))
        #expect(facts.demandsTLS && facts.mayNeedTLS && !facts.mayBeOfOneRoute && !facts.mayAskForCredential)
        #expect(!HTTPFacts(.cut).demandsTLS && !HTTPFacts(.answered(.init(statusCode: 400))).demandsTLS)
        // Over TLS a server says it to the gateway in front of it.
        #expect(Self.names(answer) == ["http.gateway-error"])
        #expect(
            Self.report(facts).causes.first?.evidence == ["status code 400, a web page that demands TLS"])
    }

    @Test func aDemandForACertificateIsARefusalOfTLS() {
        let report = Self.report(
            .init(.answered(.init(statusCode: 400, body: .page, demand: .clientCertificate))))
        #expect(report.causes.map(\.name) == ["tls.refused"])
        #expect(report.causes.first?.evidence == ["status code 400, a web page that demands a client's certificate"])
        #expect(report.causes.first?.remedies.first?.contains("client certificate") == true)
    }

    // MARK: The credential

    @Test(
        arguments: [
            (401, .met, []), (401, .refused, []), (401, .impossible, []), (401, .withheld, ["http.asks-credential"]),
            (401, nil, ["http.asks-credential"]), (403, .met, []), (403, .refused, ["http.block-page"]),
            (403, .impossible, ["http.block-page"]), (403, .withheld, ["http.credential-withheld"]),
            (403, nil, ["http.block-page"]),
        ] as [(Int, HTTPFacts.Inquiry?, [String])])
    func authenticatedAnswerDeterminesTheCause(statusCode: Int, inquiry: HTTPFacts.Inquiry?, names: [String]) {
        let answer = HTTPFacts.Answer(statusCode: statusCode, body: .page)
        let report = Self.report(.init(.answered(answer), inquiry: inquiry))
        #expect(report.causes.map(\.name) == names)
        #expect(HTTPFacts(.answered(answer)).mayBeOfOneRoute)
        // Another route of the API says enough.
        #expect(Self.report(.init(.answered(answer), hasResponses: true)).causes.isEmpty)
        #expect(!HTTPFacts(.answered(answer), hasResponses: true).mayAskForCredential)
    }

    @Test func status401BlockPageDegradesTheVerdictWithoutAdvice() {
        let report = Self.report(
            .init(.answered(.init(statusCode: 401, body: .blockPage)), inquiry: .withheld))
        #expect(
            report.sentence
                == "The server answers, but a web page asks for a credential, which may be the server's or that of something on "
                + "the path."
        )
        #expect(report.verdict == .degraded && report.advice.isEmpty)
    }

    /// Without TLS another machine is not told the key, so that nothing is known of the answer with it.
    @Test(
        arguments: [
            (.init(statusCode: 404, body: .page), ", a web page"), (.init(statusCode: 404, body: .other), ""),
            (.init(statusCode: 403, body: .page), ", a web page"),
            (.init(statusCode: 302, body: .other, redirection: .sameHost), ""),
            (.init(statusCode: 302, body: .page, redirection: .sameHost), ", a web page"),
        ] as [(HTTPFacts.Answer, String)])
    func withheldKeyLeavesTheAnswerInDoubt(answer: HTTPFacts.Answer, kind: String) {
        let facts = HTTPFacts(.answered(answer), inquiry: .withheld)
        #expect(facts.mayChangeWithCredential || facts.mayAskForCredential)
        let report = Self.report(facts)
        #expect(report.causes.map(\.name) == ["http.credential-withheld"])
        #expect(
            report.causes.first?.evidence
                == ["status code \(answer.statusCode)\(kind) to a request without the key"])
        #expect(report.verdict == .degraded && report.advice.isEmpty)
        #expect(
            report.sentence
                == "The server answers, but the key was not sent over plain http to another machine, so that the answer to "
                + "a request with it was not examined.")
        for inquiry in [HTTPFacts.Inquiry.impossible, nil] {
            #expect(Self.report(.init(.answered(answer), inquiry: inquiry)).verdict == .fails)
        }
    }

    /// A server that redirects to https does so with the key too.
    @Test(
        arguments: [
            ("https://api.test/v1/models", "/v1/models", .withTLS),
            ("https://API.test:8443/v1/Models?limit=1", "/v1/models", .withTLS),
            ("https://api.test/login?next=/v1/models", "/v1/models", .sameHost),
            ("https://api.test", "/v1/models", .sameHost), ("https://api.test/v1/models", nil, .sameHost),
            ("https://api.test", nil, .sameHost), ("http://api.test/v1/models", "/v1/models", .sameHost),
            ("/v1/models", "/v1/models", .sameHost), ("//api.test/v1/models", "/v1/models", .sameHost),
            ("https://other.test/v1/models", "/v1/models", .otherHost),
        ] as [(String, String?, HTTPFacts.Redirection)])
    func redirectionToTLSIsThatOfTheSameAddress(location: String, path: String?, redirection: HTTPFacts.Redirection) {
        #expect(HTTPFacts.Redirection(location: location, host: "api.test", withoutTLS: path) == redirection)
    }

    @Test func redirectionToTLSIsJudgedWithoutTheKey() {
        let answer = HTTPFacts.Answer(statusCode: 301, body: .page, redirection: .withTLS)
        let facts = HTTPFacts(.answered(answer))
        #expect(!facts.mayChangeWithCredential && !facts.mayAskForCredential && facts.mayBeOfOneRoute)
        let report = Self.report(facts)
        #expect(report.causes.map(\.name) == ["http.redirected"] && report.verdict == .fails)
        #expect(report.causes.first?.evidence == ["status code 301, to https"])
    }

    @Test(
        arguments: [
            .init(statusCode: 401), .init(statusCode: 401, body: .other), .init(statusCode: 401, body: .signInPage),
            .init(statusCode: 401, body: .page, asksForToken: true), .init(statusCode: 403, body: .blockPage),
            .init(statusCode: 404, body: .page), .init(statusCode: 401, body: .page, redirection: .sameHost),
        ] as [HTTPFacts.Answer])
    func otherAnswersAreJudgedWithoutTheCredential(answer: HTTPFacts.Answer) {
        #expect(!HTTPFacts(.answered(answer)).mayAskForCredential)
    }

    @Test(
        arguments: [
            ("Basic realm=\"api\"", .basic), ("NTLM", .ntlm), ("negotiate, Basic realm=\"x\"", .negotiate),
            ("Digest realm=\"x\"", .digest), ("Bearer", nil), ("", nil), ("Basically", nil),
        ] as [(String, HTTPFacts.Login?)])
    func otherLoginSchemeIsInTheEvidence(challenge: String, login: HTTPFacts.Login?) {
        #expect(HTTPFacts.Login(challenge: challenge) == login)
        let facts = PathFacts.healthy.with {
            $0.http = .found(.init(.answered(.init(statusCode: 401, login: login))))
            $0.credential = .found(.init(statusCode: 401))
        }
        let words = login.map { ["the server asks for a login by \($0.rawValue), and not for a key"] } ?? []
        #expect(PathJudge(facts).report.causes.first?.evidence == ["status code 401"] + words)
    }

    @Test(
        arguments: [
            ("key\r", .lineBreakAtEnd), ("key\n", .lineBreakAtEnd), ("key\r\n", .lineBreakAtEnd), (" key", .spaces),
            ("key ", .spaces), ("\tkey", .spaces), ("key\t", .spaces), (" \"key\"", .spaces),
            ("\"key\"", .quotationMarks), ("'key'", .quotationMarks), ("\"key", .quotationMarks),
            ("key'", .quotationMarks), ("k\"ey", nil), ("k ey", nil), ("key", nil), ("k\ney", nil), ("", nil),
        ] as [(String, CredentialFacts.Form?)])
    func malformedKeyIsInTheEvidence(token: String, form: CredentialFacts.Form?) {
        #expect(CredentialFacts.Form(token: token) == form)
        func evidence(_ facts: CredentialFacts) -> [String]? {
            PathJudge(.healthy.with { $0.credential = .found(facts) }).report.causes.first?.evidence
        }
        let words: [String] =
            switch form {
            case .lineBreakAtEnd: ["the key has a line break at its end"]
            case .spaces: ["the key has spaces around it"]
            case .quotationMarks: ["the key has quotation marks around it"]
            case nil: []
            }
        #expect(evidence(.init(statusCode: 401, form: form)) == ["status code 401"] + words)
        #expect(evidence(.init(statusCode: 403, form: form)) == ["status code 403"] + words)
        var ofResponses = CredentialFacts(statusCode: 200, form: form)
        ofResponses.responsesCode = 401
        #expect(evidence(ofResponses) == ["status code 401 for the responses"] + words)
        // A key that is not refused need not have been examined.
        #expect(evidence(.init(statusCode: 200, form: form)) == (words.isEmpty ? nil : words))
        #expect(evidence(.init(statusCode: nil, form: form)) == (words.isEmpty ? nil : words))
        #expect(
            evidence(.init(.unusable, form: form)) == (words.isEmpty ? ["it has a control character"] : words))
    }

    @Test func theFormOfAKeyThatIsNotRefusedIsARemark() {
        let facts = PathFacts.healthy.with { $0.credential = .found(.init(statusCode: 200, form: .spaces)) }
        let report = PathJudge(facts).report
        #expect(report.verdict == .works && report.sentence == "WebSockets and HTTP work." && report.advice.isEmpty)
        #expect(report.causes.map(\.name) == ["credential.unusual-form"])
        #expect(report.result(of: .credential)?.outcome == .ok)
    }

    @Test(
        arguments: [
            (#"{"error":{"message":"The model `` does not exist","code":"model_not_found"}}"#, true),
            (#"{"error":{"message":"model '' not found"}}"#, true), (#"{"detail":"Not Found"}"#, false),
            (#"{"error":{"message":"Invalid URL (POST /v1/models/responses)"}}"#, false), ("", false),
        ])
    func aPathExistsWhoseAnswerIsAboutAModel(text: String, isAboutModel: Bool) {
        #expect(HTTPFacts.isAboutModel(text) == isAboutModel)
    }

    // MARK: In front of the API

    @Test(
        arguments: [
            (.init(statusCode: 502), ["http.gateway-error"]), (.init(statusCode: 504), ["http.gateway-error"]),
            (.init(statusCode: 503), ["http.server-error"]), (.init(statusCode: 529), ["http.server-error"]),
            (.init(statusCode: 522, body: .page), ["http.gateway-error"]),
            (.init(statusCode: 530, body: .other), ["http.gateway-error"]),
            (.init(statusCode: 429, body: .page), ["http.limited"]), (.init(statusCode: 429), []),
            (.init(statusCode: 429, body: .other), []), (.init(statusCode: 407, body: .other), ["http.block-page"]),
            (.init(statusCode: 426, body: .page), ["http.not-http"]), (.init(statusCode: 426), []),
            (.init(statusCode: 505), ["http.not-http"]),
        ] as [(HTTPFacts.Answer, [String])])
    func statusCodeTellsGatewayFromAPI(answer: HTTPFacts.Answer, names: [String]) {
        #expect(Self.names(answer) == names)
    }

    /// It may have a button alone, which leads to another server.
    @Test(arguments: ["<title>Sign In</title>", "<title>Log in | Example</title>", "<input type='password'>"])
    func signInPageIsNotABlockPage(page: String) {
        #expect(HTTPFacts.Body(page: "<!DOCTYPE html>\(page) Access denied") == .signInPage)
        #expect(Self.names(.init(statusCode: 403, body: .signInPage)) == ["http.sign-in-page"])
    }

    @Test(arguments: [
        "<title>Just a moment...</title>", "Checking your browser before accessing api.test.",
        "<noscript>Enable JavaScript and cookies to continue</noscript>",
    ])
    func browserChallengePageIsABlockPage(page: String) {
        #expect(HTTPFacts.Body(page: "<!DOCTYPE html>\(page)") == .blockPage)
        #expect(Self.names(.init(statusCode: 503, body: .blockPage)) == ["http.block-page"])
    }
}
