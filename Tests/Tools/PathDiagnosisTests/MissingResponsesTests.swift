// Servers with a list of models whose path of the responses is missing, or refuses the credential.
import PathDiagnosis
import Testing

@Suite struct MissingResponsesTests {
    /// A server whose list of models works, with the credential or without it, and whose WebSocket is refused.
    private static func facts(_ code: Int, isPublic: Bool = true) -> PathFacts {
        PathFacts.upgrade(.refused(statusCode: code, isPage: false)).with {
            $0.http = .found(.init(.answered(.init(statusCode: isPublic ? 200 : 401))))
        }
    }

    private static func report(
        _ facts: PathFacts, post code: Int, _ text: String = "{}", hasCredential: Bool = true
    ) -> ChappieDiagnosis.Report {
        #expect(facts.mayLackResponses)
        let body: HTTPFacts.Body = text.hasPrefix("<html>") ? .init(page: text) : .init(contentType: nil, text: text)
        return Self.report(
            facts, .answered(.init(statusCode: code, body: body)), text, hasCredential: hasCredential)
    }

    private static func report(
        _ facts: PathFacts, _ outcome: HTTPFacts.Exchange, _ text: String = "", hasCredential: Bool = true
    ) -> ChappieDiagnosis.Report {
        var facts = facts
        facts.noteResponses(outcome, text: text, hasCredential: hasCredential)
        return PathJudge(facts).report
    }

    /// The list of models has come through the tunnel.
    @Test(arguments: [.cut, .timedOut, .notHTTP] as [HTTPFacts.Exchange])
    func failedPostBehindAProxyIsNoFaultOfTheProxy(outcome: HTTPFacts.Exchange) {
        var facts = PathFacts.proxied.with {
            $0.upgrade = .found(.init(.refused(statusCode: 404, isPage: false)))
            $0.cutAboveUpgrade()
        }
        facts.noteResponses(outcome, text: "", hasCredential: true)
        let report = PathJudge(facts).report
        #expect(report.verdict == .fails)
        #expect(!report.causes.flatMap(\.remedies).contains { $0.hasPrefix("The proxy may answer") })
        #expect(!PathJudge(facts).mayBeOfProxy)
    }

    @Test(arguments: [true, false], [404, 403, 400]) func modelListAloneIsNoResponsesAPI(isPublic: Bool, code: Int) {
        let report = Self.report(Self.facts(code, isPublic: isPublic), post: 404)
        #expect(report.causes.map(\.name) == ["http.no-responses"])
        #expect(report.verdict == .fails && !report.advice.usesHTTPOnly)
        #expect(
            report.sentence
                == "The server answers, but does not have the API at this address (many have Chat Completions only).")
        #expect(report.causes.first?.evidence == ["a list of models, and status code 404 for the responses"])
    }

    @Test func aPathThatHasNeitherMethodIsMissing() {
        #expect(Self.report(Self.facts(405), post: 405).causes.map(\.name) == ["http.no-responses"])
        #expect(Self.report(Self.facts(404), post: 405).causes.map(\.name) == ["web-socket.not-offered"])
    }

    @Test(arguments: [
        (400, "{}"), (422, "{}"), (500, "{}"), (404, #"{"error":{"code":"model_not_found"}}"#), (500, "<html>"),
    ])
    func errorAnswerToEmptyPostShowsThatResponsesExist(code: Int, text: String) {
        for upgrade in [404, 405] {
            let report = Self.report(Self.facts(upgrade), post: code, text)
            #expect(report.causes.map(\.name) == ["web-socket.not-offered"])
            #expect(report.verdict == .degraded && report.advice.usesHTTPOnly)
        }
    }

    /// It has a list of models, and says in a success that it does not know the path of the responses.
    @Test func successWithAnUnknownPathErrorIsNoResponsesAPI() {
        func report(isList: Bool, _ text: String) -> ChappieDiagnosis.Report {
            var answer = HTTPFacts.Answer(statusCode: 200)
            answer.isList = isList
            return Self.report(Self.facts(200).with { $0.http = .found(.init(.answered(answer))) }, post: 200, text)
        }
        let unknown = #"{"error":"Unexpected endpoint or method. (POST /v1/responses)"}"#
        let old = report(isList: true, unknown)
        #expect(old.causes.map(\.name) == ["http.no-responses"] && old.verdict == .fails)
        #expect(old.causes.first?.evidence == ["a list of models, and status code 200 for the responses"])
        #expect(report(isList: false, unknown).causes.map(\.name) == ["http.wrong-address"])
        #expect(report(isList: true, #"{"name":"node"}"#).causes.map(\.name) == ["http.wrong-address"])
    }

    // MARK: A POST that fails

    private static let failures: [(outcome: HTTPFacts.Exchange, name: String, words: String)] = [
        (.answered(.init(statusCode: 502, body: .page)), "http.gateway-error", "status code 502, a web page"),
        (.answered(.init(statusCode: 504)), "http.gateway-error", "status code 504"),
        (.answered(.init(statusCode: 503, body: .other)), "http.gateway-error", "status code 503"),
        (.answered(.init(statusCode: 522, body: .page)), "http.gateway-error", "status code 522, a web page"),
        (.answered(.init(statusCode: 501, body: .page)), "http.server-error", "status code 501, a web page"),
        (.answered(.init(statusCode: 403, body: .page)), "http.block-page", "status code 403, a web page"),
        (.answered(.init(statusCode: 200, body: .page)), "http.captive-portal", "status code 200, a web page"),
        (.answered(.init(statusCode: 200, body: .signInPage)), "http.sign-in-page", "status code 200, a web page"),
        (
            .answered(.init(statusCode: 302, body: .other, redirection: .signIn)), "http.sign-in-page",
            "status code 302"
        ),
        (.answered(.init(statusCode: 307, body: .other, redirection: .sameHost)), "http.redirected", "status code 307"),
        (.cut, "http.cut", "a cut connection"), (.timedOut, "http.no-answer", "no answer in time"),
        (.notHTTP, "http.not-http", "an answer that is not HTTP/1.1"),
    ]

    /// A list of models is no evidence of turns.
    @Test func aPostThatFailsIsAFaultOfHTTP() {
        for (outcome, name, words) in Self.failures {
            let report = Self.report(Self.facts(404), outcome)
            #expect(report.verdict == .fails && report.causes.map(\.name) == [name, "web-socket.not-offered"])
            #expect(report.causes.first?.evidence == ["status code 200, and \(words) for the responses"])
            #expect(report.result(of: .http)?.outcome == .failed && !report.advice.usesHTTPOnly)
            let httpOnly = Self.report(Self.facts(404).with { $0.upgrade = .skipped(.httpOnly) }, outcome)
            #expect(httpOnly.verdict == .fails && httpOnly.causes.map(\.name) == [name])
        }
    }

    @Test func failedPostBesideAWebSocketIsDegraded() {
        for (outcome, name, _) in Self.failures {
            let report = Self.report(.healthy, outcome)
            #expect(report.verdict == .degraded && report.causes.map(\.name) == [name])
            #expect(report.sentence.hasPrefix("WebSockets work, but HTTP does not: "))
            #expect(report.advice.isEmpty && report.result(of: .pings)?.outcome == .ok)
        }
    }

    @Test(arguments: [
        (404, "http.not-offered"), (405, "http.not-offered"), (401, "credential.refused"),
        (403, "credential.forbidden"),
    ])
    func refusedPostBesideAWebSocketIsAFaultOfHTTP(code: Int, name: String) {
        let report = Self.report(.healthy, post: code)
        #expect(report.verdict == .degraded && report.causes.map(\.name) == [name])
        #expect(report.sentence.hasPrefix("WebSockets work, but HTTP does not: the server "))
        #expect(report.causes.first?.evidence == ["status code 401, and status code \(code) for the responses"])
    }

    @Test(arguments: [(400, "{}"), (422, "{}"), (500, "{}"), (200, "{}"), (429, "{}"), (503, "{}")])
    func otherAnswersToThePostMeanThatHTTPWorks(code: Int, text: String) {
        #expect(Self.report(.healthy, post: code, text).sentence == "WebSockets and HTTP work.")
        #expect(Self.report(.healthy, post: 401, text, hasCredential: false).verdict == .works)
    }

    /// The API's own error about itself.
    @Test func unavailabilityInJSONIsTheAnswerOfTheResponses() {
        #expect(Self.report(Self.facts(404), post: 503).causes.map(\.name) == ["web-socket.not-offered"])
    }

    /// Another service, whose answer to everything is a success.
    @Test(arguments: [
        #"{"name":"node","tagline":"You Know, for Search"}"#, #"{"error":"Unexpected endpoint or method."}"#,
    ])
    func sameSuccessForEveryRequestIsAWrongAddress(text: String) {
        let report = Self.report(Self.facts(200), post: 200, text)
        #expect(report.causes.map(\.name) == ["http.wrong-address"])
        #expect(report.causes.first?.evidence == ["status code 200, and for the responses too"])
        #expect(
            !Self.report(Self.facts(200), post: 200, #"{"error":"no model"}"#).causes.contains {
                $0.name == "http.wrong-address"
            })
        #expect(Self.report(Self.facts(404), post: 200, text).verdict == .degraded)
        let httpOnly = Self.facts(200).with { $0.upgrade = .skipped(.httpOnly) }
        #expect(Self.report(httpOnly, post: 200, text).causes.map(\.name) == ["http.wrong-address"])
    }

    /// Equal refusals of all requests: no API.
    @Test(arguments: [300, 302, 400, 413, 418, 421, 451])
    func sameRefusalOfEveryRequestIsAWrongAddress(code: Int) {
        func report(_ list: Int, _ upgrade: Int, _ post: Int, _ text: String = "no") -> ChappieDiagnosis.Report {
            let facts = PathFacts.upgrade(.refused(statusCode: upgrade, isPage: false)).with {
                $0.http = .found(.init(.answered(.init(statusCode: list, body: .other))))
                $0.credential = .found(.init(statusCode: list))
            }
            return Self.report(facts, post: post, text)
        }
        let same = report(code, code, code)
        #expect(same.verdict == .fails && same.causes.map(\.name) == ["http.wrong-address"])
        #expect(same.causes.first?.evidence == ["status code \(code), and for the responses too"])
        #expect(report(code, 404, code).verdict == .degraded && report(405, code, code).verdict == .degraded)
        #expect(report(code, code, 422).verdict == .degraded && report(code, code, code, "{}").verdict == .degraded)
    }

    @Test(arguments: [(nil, ""), (20, ", Retry-After 20 s")] as [(Int?, String)])
    func status429ToTheUpgradeIsARequestLimit(retryAfter: Int?, words: String) {
        var upgrade = UpgradeFacts(.refused(statusCode: 429, isPage: false))
        upgrade.retryAfter = retryAfter
        #expect(!upgrade.mayBeOfEither)
        let facts = Self.facts(429).with { $0.upgrade = .found(upgrade) }
        for code in [400, 429] {
            let report = Self.report(facts, post: code)
            #expect(report.verdict == .degraded && report.causes.map(\.name) == ["web-socket.limited"])
            #expect(report.causes.first?.evidence == ["status code 429\(words)"] && report.advice.isEmpty)
            #expect(
                report.sentence
                    == "The server answers, but requests are limited at this time, so that WebSockets were not examined."
            )
        }
    }

    /// Neither a list of models nor the refusal of a WebSocket shows that turns over HTTP are possible.
    @Test(
        arguments: [
            (.skipped(.httpOnly), []),
            (.found(.init(.refused(statusCode: 404, isPage: false))), ["web-socket.not-offered"]),
        ] as [(Examined<UpgradeFacts>, [String])])
    func status429ToThePostIsARequestLimit(upgrade: Examined<UpgradeFacts>, others: [String]) {
        let facts = Self.facts(404).with { $0.upgrade = upgrade }
        for (retryAfter, words) in [(nil, ""), (20, ", Retry-After 20 s")] as [(Int?, String)] {
            for body in [HTTPFacts.Body.json, .other] {
                var answer = HTTPFacts.Answer(statusCode: 429, body: body)
                answer.retryAfter = retryAfter
                let report = Self.report(facts, .answered(answer))
                #expect(report.verdict == .degraded && report.causes.map(\.name) == ["http.responses-limited"] + others)
                #expect(report.causes.first?.evidence == ["status code 429 for the responses\(words)"])
                #expect(report.result(of: .http)?.outcome == .degraded)
                #expect(
                    report.sentence
                        == "The server answers, but requests are limited at this time, so that responses over HTTP were not"
                        + " examined.")
            }
        }
        #expect(Self.report(facts, post: 400).causes.map(\.name) == others)
    }

    /// The responses were asked with the credential already, because the list of models does not work.
    @Test func rateLimitOfResponsesIsReportedWithABrokenModelList() {
        var http = HTTPFacts(.answered(.init(statusCode: 502, body: .page)), hasResponses: true)
        http.responsesAnswer = .init(statusCode: 429)
        let facts = PathFacts.healthy.with {
            $0.http = .found(http)
            $0.credential = .found(.init(statusCode: 429))
            $0.upgrade = .skipped(.httpOnly)
            $0.cutAboveUpgrade()
        }
        #expect(!facts.mayLackResponses)
        #expect(PathJudge(facts).report.causes.map(\.name) == ["http.responses-limited"])
    }

    // MARK: The credential

    /// A public list of models, and responses for those with a key alone.
    @Test(arguments: [400, 404, 405]) func credentialDemandOfResponsesAloneIsReported(upgrade: Int) {
        let facts = Self.facts(upgrade).with { $0.credential = .skipped(.noCredential) }
        let report = Self.report(facts, post: 401, hasCredential: false)
        #expect(report.causes.isEmpty && report.verdict == .works)
        #expect(report.result(of: .webSocket)?.words == "the server demands a credential, and there is none")
        #expect(
            report.sentence
                == "HTTP works; the server demands a credential, and there is none to examine the rest with.")
        for handshake in [UpgradeFacts.Handshake.cut, .refused(statusCode: 426, isPage: false)] {
            let failing = facts.with { $0.upgrade = .found(.init(handshake)) }
            #expect(Self.report(failing, post: 401, hasCredential: false).verdict == .degraded)
        }
    }

    @Test func refusedCredentialIsReportedDespiteAPublicModelList() {
        let report = Self.report(Self.facts(401), post: 401)
        #expect(report.causes.map(\.name) == ["credential.refused"])
        #expect(report.causes.first?.evidence == ["status code 401 for the responses"])
        #expect(report.verdict == .fails)
        let httpOnly = Self.facts(401).with { $0.upgrade = .skipped(.httpOnly) }
        #expect(Self.report(httpOnly, post: 401).causes.map(\.name) == ["credential.refused"])
        #expect(Self.report(httpOnly, post: 401, hasCredential: false).causes.isEmpty)
        #expect(Self.report(httpOnly, post: 400).causes.isEmpty)
        #expect(!Self.report(Self.facts(401), post: 400).causes.contains { $0.name == "credential.refused" })
    }

    /// Something in front of the API may ask for it with a page, or refuse it with a text.
    @Test(arguments: [
        (401, "<html>", "credential.refused"), (401, "", "credential.refused"), (403, "no", "credential.forbidden"),
    ])
    func refusalWithoutJSONIsAboutTheCredential(code: Int, text: String, name: String) {
        let report = Self.report(Self.facts(404), post: code, text)
        #expect(report.causes.map(\.name) == [name] && report.verdict == .fails)
    }

    /// The refusal of the WebSocket need not be about the credential.
    @Test(arguments: [(401, "credential.refused"), (403, "credential.forbidden")], [400, 401, 403, 404, 405])
    func refusalOfResponsesNamesTheCredentialForEveryUpgradeStatus(refusal: (code: Int, name: String), upgrade: Int) {
        let report = Self.report(Self.facts(upgrade), post: refusal.code)
        #expect(report.causes.map(\.name) == [refusal.name])
        #expect(report.causes.first?.evidence == ["status code \(refusal.code) for the responses"])
        #expect(report.verdict == .fails)
        let unasked = Self.report(Self.facts(upgrade), post: refusal.code, hasCredential: false)
        #expect(!unasked.causes.contains { $0.name == refusal.name })
    }

    @Test(
        arguments: [
            { $0.upgrade = .skipped(.needsCredential) },
            {
                var credential = CredentialFacts(statusCode: 403)
                credential.responsesCode = 400
                $0.credential = .found(credential)
            }, { $0.http = .found(.init(.cut)) },
            { $0.http = .found(.init(.answered(.init(statusCode: 200)), isProbe: true)) },
            { $0.http = .found(.init(.answered(.init(statusCode: 404, body: .other)), hasResponses: true)) },
        ] as [@Sendable (inout PathFacts) -> Void])
    func responsesAreNotProbedWhenTheCauseIsKnown(change: @Sendable (inout PathFacts) -> Void) {
        #expect(!Self.facts(404).with(change).mayLackResponses)
    }
}
