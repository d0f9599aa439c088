// Servers whose list of models does not work, or not with this credential, while the responses do.
import PathDiagnosis
import Testing

@Suite struct BrokenListTests {
    private static func report(_ facts: HTTPFacts) -> ChappieDiagnosis.Report {
        PathJudge(PathFacts.healthy.with { $0.http = .found(facts) }).report
    }

    @Test(
        arguments: [
            (.cut, "cut for the list of models alone: the responses are answered"),
            (.timedOut, "no answer in time for the list of models alone: the responses are answered"),
            (.answered(.init(statusCode: 502)), "status code 502 for the list of models alone"),
            (.answered(.init(statusCode: 503, body: .page)), "status code 503 for the list of models alone"),
        ] as [(HTTPFacts.Exchange, String)])
    func brokenModelListBesideResponsesWorks(exchange: HTTPFacts.Exchange, words: String) {
        #expect(HTTPFacts(exchange).hasBrokenRoute)
        let report = Self.report(.init(exchange, hasResponses: true))
        #expect(report.verdict == .works && report.causes.isEmpty)
        #expect(report.result(of: .http)?.words == words)
        #expect(!HTTPFacts(exchange, hasResponses: true).mayNeedTLS)
        #expect(!Self.report(.init(exchange)).causes.isEmpty)
    }

    /// The list is at the address, and no responses are.
    @Test(
        arguments: [
            (.cut, "cut"), (.timedOut, "no answer in time"), (.answered(.init(statusCode: 502)), "status code 502"),
            (.answered(.init(statusCode: 503, body: .page)), "status code 503"),
        ] as [(HTTPFacts.Exchange, String)])
    func brokenListWithoutResponsesIsReportedAsNoResponses(exchange: HTTPFacts.Exchange, words: String) {
        var facts = HTTPFacts(exchange, hasResponses: false)
        facts.responsesAnswer = .init(statusCode: 404)
        let report = Self.report(facts)
        #expect(report.causes.map(\.name) == ["http.no-responses"] && report.verdict == .fails)
        #expect(
            report.causes.first?.evidence == ["\(words) for the list of models, and status code 404 for the responses"])
        #expect(!facts.mayNeedTLS)
    }

    @Test(
        arguments: [
            (.init(statusCode: 404), "{}", false), (.init(statusCode: 404, body: .other), "404 page not found", false),
            (.init(statusCode: 404, body: .page), "<pre>Cannot POST /v1/responses</pre>", false),
            (.init(statusCode: 404), #"{"error":{"code":"model_not_found"}}"#, true),
            (.init(statusCode: 404, body: .blockPage), "", nil), (.init(statusCode: 404, body: .signInPage), "", nil),
            (.init(statusCode: 404, body: .other, redirection: .sameHost), "", nil),
            (.init(statusCode: 400), "{}", true), (.init(statusCode: 401), "{}", true),
            (.init(statusCode: 401, body: .page, asksForToken: true), "", true),
            (.init(statusCode: 401, body: .page), "", nil), (.init(statusCode: 405), "{}", nil),
            (.init(statusCode: 502), "{}", nil), (.init(statusCode: 200), "{}", nil),
        ] as [(HTTPFacts.Answer, String, Bool?)])
    func refusalOfAnAPITellsWhetherResponsesExist(answer: HTTPFacts.Answer, text: String, existence: Bool?) {
        #expect(answer.existenceOfResponses(text: text) == existence)
    }

    @Test(
        arguments: [
            .notHTTP, .needsTLS, .answered(.init(statusCode: 500)), .answered(.init(statusCode: 503, body: .blockPage)),
            .answered(.init(statusCode: 502, body: .other, redirection: .sameHost)),
        ] as [HTTPFacts.Exchange])
    func otherAnswersDoNotIndicateASingleBrokenRoute(exchange: HTTPFacts.Exchange) {
        #expect(!HTTPFacts(exchange).hasBrokenRoute)
    }

    @Test(arguments: [(401, "credential.refused"), (403, "credential.forbidden")])
    func aCredentialThatMayNotListModelsIsAccepted(code: Int, name: String) {
        func report(_ responsesCode: Int?) -> ChappieDiagnosis.Report {
            var credential = CredentialFacts(statusCode: code)
            credential.responsesCode = responsesCode
            return PathJudge(PathFacts.healthy.with { $0.credential = .found(credential) }).report
        }
        #expect(report(nil).causes.map(\.name) == [name])
        #expect(report(400).verdict == .works)
        #expect(report(400).result(of: .credential)?.words == "status code \(code) for the list of models alone")
    }

    // MARK: Without the credential

    @Test(
        arguments: [
            (.init(statusCode: 500), "http.server-error"), (.init(statusCode: 404, body: .page), "http.wrong-address"),
            (.init(statusCode: 302, body: .page, redirection: .sameHost), "http.redirected"),
        ] as [(HTTPFacts.Answer, String)])
    func acceptedCredentialClearsTheCause(answer: HTTPFacts.Answer, name: String) {
        #expect(HTTPFacts(.answered(answer)).mayChangeWithCredential)
        #expect(Self.report(.init(.answered(answer), inquiry: .met)).causes.isEmpty)
        for inquiry in [HTTPFacts.Inquiry.refused, .impossible, nil] {
            #expect(Self.report(.init(.answered(answer), inquiry: inquiry)).causes.map(\.name) == [name])
        }
        #expect(!HTTPFacts(.answered(answer)).isOfAPI)
    }

    @Test(
        arguments: [
            .init(statusCode: 302, redirection: .otherHost), .init(statusCode: 302, redirection: .signIn),
            .init(statusCode: 404, body: .blockPage), .init(statusCode: 200), .init(statusCode: 502),
            .init(statusCode: 400, body: .page, demand: .tls),
        ] as [HTTPFacts.Answer])
    func otherAnswersAreNotRepeatedWithTheCredential(answer: HTTPFacts.Answer) {
        #expect(!HTTPFacts(.answered(answer)).mayChangeWithCredential)
    }

    @Test func onlyASuccessWithJSONIsOfAnAPI() {
        #expect(HTTPFacts(.answered(.init(statusCode: 200))).isOfAPI)
        #expect(!HTTPFacts(.answered(.init(statusCode: 200, body: .other))).isOfAPI && !HTTPFacts(.cut).isOfAPI)
    }

    // MARK: This machine

    /// No portal answers in the place of a server on this machine.
    @Test func pageFromThisMachineIsAWrongAddress() {
        func report(_ answer: HTTPFacts.Answer) -> ChappieDiagnosis.Report {
            var facts = HTTPFacts(.answered(answer))
            facts.isOnThisMachine = true
            return Self.report(facts)
        }
        let page = report(.init(statusCode: 200, body: .page))
        #expect(page.causes.map(\.name) == ["http.wrong-address"])
        #expect(page.causes.first?.evidence == ["status code 200, a web page of this machine: check port and path"])
        #expect(report(.init(statusCode: 511, body: .page)).causes.map(\.name) == ["http.captive-portal"])
    }
}
