// Answers with status code 200 that are no event stream, or that end before they begin.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct NoEventStreamTests {
    private static func turn(_ scripts: [[ScriptStep]]) async -> TurnOutcome {
        await TurnFixture(scripts) { $0.policy = .httpSSEOnly }.run()
    }

    private static func answer(_ pieces: [String], type: String, end: TransportEnd = .complete) -> [ScriptStep] {
        [.opened(200, fields: ["content-type": type])] + pieces.map { .body($0) } + [.ended(end)]
    }

    @Test(
        arguments: [
            ([#"{"detail":"Not Found"}"#], "Not Found"), (["\n", #"{"error":{"mess"#, #"age":"x"}}"#], "x"),
            (["\u{FEFF} [{\"message\":\"x\"}]\n"], "x"), ([": hello\n\n", #"{"detail":"x"}"#], "x"),
            (["<!doctype html>\n<title>Sign", " in</title>\n\n"], #"an HTML page with the title "Sign in""#),
        ] as [([String], String)])
    func bodyOfJSONOrHTMLEndsTheTurnWithItsWords(pieces: [String], message: String) async {
        let outcome = await Self.turn(Array(repeating: Self.answer(pieces, type: "text/event-stream"), count: 8))
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(outcome.transportFailure?.code == .unexpectedContentType)
        #expect(outcome.clientError?.serverMessage == message)
        let isPage = pieces[0].hasPrefix("<")
        #expect((outcome.transportFailure?.details.detail == "web-page") == isPage)
        #expect(outcome.clientError?.safeDescription.contains("Not Found") == false)
    }

    @Test(arguments: [#"{"detail":"cut"#, "{}{}", "<xml>", "[DONE]"])
    func otherBodyInAnEventStreamEndsEarly(body: String) async {
        let outcome = await Self.turn(Array(repeating: Self.answer([body], type: "text/event-stream"), count: 8))
        #expect(outcome.outcomes == ["stream.ended-early", "stream.ended-early"])
    }

    @Test(arguments: [[], ["\n\n"], [": keepalive\n\n"]])
    func answerWithoutAnEventIsTriedTwiceAndNamed(pieces: [String]) async {
        let outcome = await Self.turn(Array(repeating: Self.answer(pieces, type: "text/event-stream"), count: 8))
        #expect(outcome.outcomes == ["stream.ended-early", "stream.ended-early"])
        #expect(outcome.transportFailure?.details.detail == "no-event")
        #expect(
            outcome.clientError?.failureReason
                == "The server ended its answer with status code 200 before the first event "
                + "(while waiting for the first event, HTTP, 2 attempts).")
        #expect(outcome.clientError?.serverMessage == nil)
    }

    /// A server that has answered in this turn, and fails for a moment, has all its attempts.
    @Test func emptyAnswersAfterOutputAreRetried() async {
        let broken: [ScriptStep] = [.opened(200), .body(Event.sse(Event.text("a"))), .ended(.complete)]
        let empty = Self.answer([], type: "text/event-stream")
        let whole: [ScriptStep] = [.opened(200), .body(Event.sse(Event.text("a")) + Event.sse(Event.completed))]
        let outcome = await Self.turn([broken, empty, empty, empty, whole])
        #expect(outcome.error == nil && outcome.text == "a")
    }

    @Test func unfinishedDocumentIsReportedAfterTheFirstEventTimeout() async {
        for type in ["text/event-stream", "Text/Event-Stream;x"] {
            let step: [ScriptStep] = [
                .opened(200, fields: ["content-type": type]), .body(#"{"detail":"Not Found"}"#), .pause(.seconds(600)),
            ]
            let outcome = await Self.turn([step])
            #expect(outcome.outcomes == ["http.content-type"])
            #expect(outcome.clientError?.serverMessage == "Not Found")
        }
    }

    @Test(
        arguments: [
            ("application/json", [#"{"detail":"#, #""Not Found"}"#], "Not Found"),
            ("application/problem+json; charset=utf-8", [#"{"message":"x"}"#], "x"),
            ("application/json", [#"{"id":"resp_1","output":[]}"#], #"{"id":"resp_1","output":[]}"#),
            ("application/json", [], nil),
            ("text/html", ["<html><title>Sign in</title>"], #"an HTML page with the title "Sign in""#),
            ("text/plain", ["upstream is away\n"], "upstream is away"),
        ] as [(String, [String], String?)])
    func answerOfAnotherContentTypeEndsTheTurnWithItsWords(type: String, pieces: [String], message: String?) async {
        for end in [TransportEnd.complete, .failed(TransportFailure(phase: .stream, cause: .connectionLost))] {
            let outcome = await Self.turn(Array(repeating: Self.answer(pieces, type: type, end: end), count: 8))
            #expect(outcome.outcomes == ["http.content-type"])
            #expect(outcome.transportFailure?.code == .unexpectedContentType)
            #expect(outcome.clientError?.serverMessage == message)
            #expect((outcome.transportFailure?.details.detail == "web-page") == (type == "text/html"))
            #expect(outcome.clientError?.safeDescription.contains("Not Found") == false)
        }
    }

    @Test func unfinishedJSONIsReportedAfterTheFirstEventTimeout() async {
        let outcome = await Self.turn([
            [
                .opened(200, fields: ["content-type": "application/json"]), .body(#"{"detail":"Not Found"}"#),
                .pause(.seconds(600)),
            ]
        ])
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(outcome.clientError?.serverMessage == "Not Found")
    }

    @Test func imageIsNotReadForAServerMessage() async {
        let outcome = await Self.turn([[.opened(200, fields: ["content-type": "image/png"]), .pause(.seconds(600))]])
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(outcome.clientError?.unsafeMessage == nil)
    }
}
