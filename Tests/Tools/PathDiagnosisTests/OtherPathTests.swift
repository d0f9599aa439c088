// Base URLs whose path is not that of the API, or whose scheme is not that of the port.
import PathDiagnosis
import Testing

@Suite struct OtherPathTests {
    private static let missing = HTTPFacts.Exchange.answered(.init(statusCode: 404))

    /// A server that answers 404 to a GET of `/models` and to the opening handshake.
    private static let nothing = PathFacts.upgrade(.refused(statusCode: 404, isPage: false)).with {
        $0.http = .found(.init(Self.missing))
        $0.credential = .skipped(.noCredential)
    }

    @Test func existenceOfTheResponsesPathDeterminesTheCause() {
        func report(_ hasResponses: Bool?) -> ChappieDiagnosis.Report {
            PathJudge(Self.nothing.with { $0.http = .found(.init(Self.missing, hasResponses: hasResponses)) }).report
        }
        #expect(report(false).causes.first?.name == "http.wrong-address")
        #expect(report(false).verdict == .fails)
        for hasResponses in [true, nil] {
            #expect(report(hasResponses).causes.map(\.name) == ["web-socket.not-offered"])
            #expect(report(hasResponses).verdict == .degraded)
        }
    }

    @Test(
        arguments: [
            (.cut, true), (.notHTTP, true), (.answered(.init(statusCode: 400, body: .page)), true),
            (.answered(.init(statusCode: 400, body: .other)), true), (.timedOut, false), (.needsTLS, false),
            (.answered(.init(statusCode: 400)), false), (.answered(.init(statusCode: 200)), false),
            (.answered(.init(statusCode: 404, body: .page)), false),
            (.answered(.init(statusCode: 497, body: .page, demand: .tls)), true),
        ] as [(HTTPFacts.Exchange, Bool)])
    func answersOfServersWithTLSAreNoticed(exchange: HTTPFacts.Exchange, mayNeedTLS: Bool) {
        #expect(HTTPFacts(exchange).mayNeedTLS == mayNeedTLS)
    }

    /// A port may speak both protocols, and its API answer one route with status code 400 and no content.
    @Test func anAPIWithoutTLSNeedsNone() {
        let answer = HTTPFacts.Exchange.answered(.init(statusCode: 400, body: .other))
        #expect(HTTPFacts(answer).mayBeOfOneRoute)
        let facts = HTTPFacts(answer, hasResponses: true)
        #expect(!facts.mayNeedTLS)
        #expect(PathJudge(PathFacts.http(answer).with { $0.http = .found(facts) }).report.causes.isEmpty)
    }

    @Test(
        arguments: [
            (.init(statusCode: 404, body: .other), "http.wrong-address"),
            (.init(statusCode: 404, body: .page), "http.wrong-address"),
            (.init(statusCode: 400, body: .page), "http.block-page"), (.init(statusCode: 501), "http.server-error"),
            (.init(statusCode: 307, body: .other, redirection: .sameHost), "http.redirected"),
            (.init(statusCode: 200, body: .page), "http.captive-portal"),
            (.init(statusCode: 403, body: .page), "http.block-page"),
            (.init(statusCode: 404, body: .blockPage), "http.block-page"),
            (.init(statusCode: 429, body: .page), "http.limited"),
            (.init(statusCode: 302, body: .other, redirection: .signIn), "http.sign-in-page"),
            (.init(statusCode: 301, body: .other, redirection: .otherHost), "http.redirected"),
        ] as [(HTTPFacts.Answer, String)])
    func modelListFailureIsNoCauseWhenResponsesExist(answer: HTTPFacts.Answer, finding: String) {
        func report(_ hasResponses: Bool?) -> ChappieDiagnosis.Report {
            let http = HTTPFacts(.answered(answer), hasResponses: hasResponses)
            return PathJudge(PathFacts.http(.answered(answer)).with { $0.http = .found(http) }).report
        }
        #expect(HTTPFacts(.answered(answer)).mayBeOfOneRoute)
        #expect(report(nil).causes.map(\.name) == [finding])
        #expect(report(true).causes.isEmpty)
        let words = "status code \(answer.statusCode) for the list of models alone"
        #expect(report(true).result(of: .http)?.words == words)
    }

    @Test(
        arguments: [
            .answered(.init(statusCode: 503)), .answered(.init(statusCode: 404)), .cut, .timedOut,
            .answered(.init(statusCode: 200)), .answered(.init(statusCode: 401)),
            .answered(.init(statusCode: 400, body: .page, demand: .tls)),
        ] as [HTTPFacts.Exchange])
    func otherAnswersDoNotIndicateASingleRoute(exchange: HTTPFacts.Exchange) {
        #expect(!HTTPFacts(exchange).mayBeOfOneRoute)
    }

    @Test func modelListWithoutHTTPIsNoCauseWhenResponsesAnswer() {
        #expect(HTTPFacts(.notHTTP).mayBeOfOneRoute)
        func report(_ hasResponses: Bool?) -> ChappieDiagnosis.Report {
            PathJudge(.healthy.with { $0.http = .found(.init(.notHTTP, hasResponses: hasResponses)) }).report
        }
        #expect(report(nil).causes.map(\.name) == ["http.not-http"])
        #expect(report(true).verdict == .works)
        #expect(
            report(true).result(of: .http)?.words
                == "not HTTP/1.1 for the list of models alone: the responses are answered")
    }

    /// Where the list has another answer, the error is about the request without content.
    @Test func serverErrorAfterThePostProvesTheResponsesPath() {
        let error = HTTPFacts.Answer(statusCode: 500)
        func existence(_ exchange: HTTPFacts.Exchange, _ answer: HTTPFacts.Answer) -> Bool? {
            HTTPFacts(exchange).existenceOfResponses(by: answer, text: "{}")
        }
        #expect(existence(.answered(.init(statusCode: 403, body: .page)), error) == true)
        #expect(existence(.answered(.init(statusCode: 500)), error) == nil && existence(.notHTTP, error) == nil)
        #expect(existence(.answered(.init(statusCode: 403, body: .page)), .init(statusCode: 500, body: .page)) == nil)
        #expect(existence(.notHTTP, .init(statusCode: 400)) == true && existence(.cut, .init(statusCode: 404)) == false)
    }

    @Test func status401PageWithATokenChallengeIsAnAPI() {
        func causes(_ asksForToken: Bool) -> [String] {
            let answer = HTTPFacts.Answer(statusCode: 401, body: .page, asksForToken: asksForToken)
            return PathJudge(PathFacts.http(.answered(answer))).report.causes.map(\.name)
        }
        #expect(causes(false) == ["http.asks-credential"])
        #expect(causes(true).isEmpty)
    }

    /// A server that says the same to everything has no API.
    @Test func emptySuccessOnEveryPathIsAWrongAddress() {
        let answer = HTTPFacts.Exchange.answered(.init(statusCode: 204, body: .other))
        #expect(HTTPFacts(answer).mayBeOfOneRoute)
        func report(_ hasResponses: Bool?) -> ChappieDiagnosis.Report {
            PathJudge(PathFacts.http(answer).with { $0.http = .found(.init(answer, hasResponses: hasResponses)) })
                .report
        }
        #expect(report(nil).causes.isEmpty && report(true).causes.isEmpty)
        #expect(report(false).causes.map(\.name) == ["http.wrong-address"])
        #expect(report(false).causes.first?.evidence == ["status code 204, and for the responses too"])
    }

    @Test func probeServerAtAWrongPathIsAWrongAddress() {
        let facts = PathFacts.http(Self.missing).with { $0.http = .found(.init(Self.missing, isProbe: true)) }
        let report = PathJudge(facts).report
        #expect(report.causes.map(\.name) == ["http.wrong-address"])
        #expect(report.causes.first?.evidence == ["status code 404, of a probe server"])
        #expect(report.causes.first?.remedies == ["Check the path of the base URL: most end with /v1."])
        #expect(!PathJudge(facts).mayAsk)
    }
}
