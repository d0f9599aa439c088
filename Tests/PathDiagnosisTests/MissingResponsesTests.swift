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
        var facts = facts
        facts.noteResponses(statusCode: code, text: text, hasCredential: hasCredential)
        return PathJudge(facts).report
    }

    @Test(arguments: [true, false], [404, 403, 400]) func aListOfModelsAloneIsNoResponsesAPI(isPublic: Bool, code: Int)
    {
        let report = Self.report(Self.facts(code, isPublic: isPublic), post: 404)
        #expect(report.causes.map(\.name) == ["http.no-responses"])
        #expect(report.verdict == .fails && !report.advice.usesHTTPOnly)
        #expect(
            report.sentence
                == "The server answers, but has no Responses API at this address (it may speak Chat Completions only).")
        #expect(report.causes.first?.evidence == ["a list of models, and status code 404 for the responses"])
    }

    @Test func aPathThatHasNeitherMethodIsMissing() {
        #expect(Self.report(Self.facts(405), post: 405).causes.map(\.name) == ["http.no-responses"])
        #expect(Self.report(Self.facts(404), post: 405).causes.map(\.name) == ["web-socket.not-offered"])
    }

    @Test(arguments: [
        (400, "{}"), (422, "{}"), (500, "{}"), (404, #"{"error":{"code":"model_not_found"}}"#),
        (401, "<html>"), (403, "<html>"),
    ])
    func anotherAnswerIsThatOfTheResponses(code: Int, text: String) {
        for upgrade in [404, 405] {
            let report = Self.report(Self.facts(upgrade), post: code, text)
            #expect(report.causes.map(\.name) == ["web-socket.not-offered"])
            #expect(report.verdict == .degraded && report.advice.usesHTTPOnly)
        }
    }

    /// It knows nothing of the paths of the server that it does not reach.
    @Test(arguments: [(502, "<html>"), (503, "<html>"), (504, "<html>"), (504, "{}"), (522, "<html>"), (503, "")])
    func errorOfAGatewaySaysNothingOfTheResponses(code: Int, text: String) {
        let report = Self.report(Self.facts(404), post: code, text)
        #expect(report.causes.map(\.name) == ["http.responses-unknown", "web-socket.not-offered"])
        #expect(report.causes.first?.evidence == ["status code 200, and \(code), a gateway's, for the responses"])
        #expect(report.verdict == .degraded && report.result(of: .http)?.outcome == .degraded)
        #expect(
            report.sentence
                == "The server answers, but a gateway answers in the place of the Responses API, so that it is "
                + "not known whether that is there.")
        let httpOnly = Self.facts(404).with { $0.upgrade = .skipped(.httpOnly) }
        #expect(Self.report(httpOnly, post: code, text).causes.map(\.name) == ["http.responses-unknown"])
        #expect(Self.report(httpOnly, post: code, text).verdict == .degraded)
    }

    /// The API's own error about itself.
    @Test func unavailabilityInJSONIsTheAnswerOfTheResponses() {
        #expect(Self.report(Self.facts(404), post: 503).causes.map(\.name) == ["web-socket.not-offered"])
    }

    /// Another service, whose answer to everything is a success.
    @Test(arguments: [
        #"{"name":"node","tagline":"You Know, for Search"}"#, #"{"error":"Unexpected endpoint or method."}"#,
    ])
    func aSuccessForEverythingIsNoAPIs(text: String) {
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

    // MARK: The credential

    @Test func aPublicListOfModelsSaysNothingOfTheCredential() {
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

    /// The refusal of the WebSocket need not be about the credential.
    @Test(arguments: [(401, "credential.refused"), (403, "credential.forbidden")], [400, 401, 403, 404, 405])
    func responsesRefuseTheCredentialWhateverTheUpgradeSays(refusal: (code: Int, name: String), upgrade: Int) {
        let report = Self.report(Self.facts(upgrade), post: refusal.code)
        #expect(report.causes.map(\.name) == [refusal.name])
        #expect(report.causes.first?.evidence == ["status code \(refusal.code) for the responses"])
        #expect(report.verdict == .fails)
        let unasked = Self.report(Self.facts(upgrade), post: refusal.code, hasCredential: false)
        #expect(!unasked.causes.contains { $0.name == refusal.name })
    }

    @Test(
        arguments: [
            { $0.upgrade = .found(.init(.established)) }, { $0.upgrade = .found(.init(.cut)) },
            { $0.upgrade = .found(.init(.refused(statusCode: 426, isPage: false))) },
            { $0.upgrade = .found(.init(.refused(statusCode: 502, isPage: true))) },
            { $0.upgrade = .skipped(.needsCredential) },
            {
                var credential = CredentialFacts(statusCode: 403)
                credential.responsesCode = 400
                $0.credential = .found(credential)
            }, { $0.http = .found(.init(.cut)) },
            { $0.http = .found(.init(.answered(.init(statusCode: 200)), isProbe: true)) },
            { $0.http = .found(.init(.answered(.init(statusCode: 404, body: .other)), hasResponses: true)) },
        ] as [@Sendable (inout PathFacts) -> Void])
    func otherPathsAreNotAsked(change: @Sendable (inout PathFacts) -> Void) {
        #expect(!Self.facts(404).with(change).mayLackResponses)
    }
}
