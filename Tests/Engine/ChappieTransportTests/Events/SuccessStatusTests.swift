// Answers to the POST with a status code of success other than 200.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct SuccessStatusTests {
    private static let stream = ["content-type": "text/event-stream; charset=utf-8"]

    private static func turn(_ scripts: [[ScriptStep]]) async -> (outcome: TurnOutcome, requestCount: Int) {
        let fixture = TurnFixture(scripts) { $0.policy = .httpSSEOnly }
        return (await fixture.run(), fixture.transport.requests.count)
    }

    @Test(arguments: [200, 201, 203], [stream, [:], ["content-type": "text/plain"]])
    func eventStreamIsReadBehindACodeThatMayHaveContent(statusCode: Int, fields: [String: String]) async {
        let script: [ScriptStep] = [
            .opened(statusCode, fields: fields), .body(Event.sse(Event.text("a")) + Event.sse(Event.completed)),
            .ended(.complete),
        ]
        let (outcome, requestCount) = await Self.turn([script])
        #expect(outcome.error == nil && outcome.text == "a")
        #expect(outcome.report.attempts.map(\.statusCode) == [statusCode])
        #expect(requestCount == 1)
    }

    /// The server has taken the request: each further one would be charged.
    @Test(arguments: [202, 204, 205, 206, 207, 226, 299], ["", "accepted", #"{"id":"resp_1","status":"queued"}"#])
    func otherCodeOfSuccessIsAskedForOnceAndNamed(statusCode: Int, body: String) async {
        for fields in [[:], Self.stream, ["content-type": "application/json"]] {
            let answer = ScriptStep.opened(statusCode, fields: fields)
            let script: [ScriptStep] = [answer] + (body.isEmpty ? [] : [.body(body)]) + [.ended(.complete)]
            let (outcome, requestCount) = await Self.turn(Array(repeating: script, count: 8))
            #expect(requestCount == 1)
            #expect(outcome.clientError == .httpError(statusCode, body))
            #expect(outcome.clientError?.tag == "http.\(statusCode)")
            #expect(outcome.clientError?.isRetryable == false)
            #expect(
                outcome.clientError?.safeDescription
                    == "The server answered with status code \(statusCode), behind which no event stream is read. Check "
                    + "the address, and ask the server's operator: only 200, 201 and 203 announce a stream, and the "
                    + "request may have been charged.")
        }
    }

    @Test(arguments: [201, 203]) func otherContentBehindSuchACodeIsNamed(statusCode: Int) async {
        let script: [ScriptStep] = [
            .opened(statusCode, fields: ["content-type": "application/json"]), .body(#"{"detail":"x"}"#),
            .ended(.complete),
        ]
        let (outcome, requestCount) = await Self.turn(Array(repeating: script, count: 8))
        #expect(outcome.outcomes == ["http.content-type"] && requestCount == 1)
        #expect(outcome.clientError?.serverMessage == "x")
        #expect(outcome.transportFailure?.details.statusCode == statusCode)
    }

    /// An error event with a code of success has none: its error code decides.
    @Test(arguments: [200, 202], [false, true])
    func successCodeOfAnErrorEventIsIgnored(statusCode: Int, isHTTP: Bool) async {
        let event = #"{"type":"error","status":\#(statusCode),"error":{"code":"invalid_prompt","message":"m"}}"#
        let script: [ScriptStep] = isHTTP ? .eventStream(event) : .webSocket(event)
        let fixture = TurnFixture(Array(repeating: script, count: 8)) { if isHTTP { $0.policy = .httpSSEOnly } }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.report.attempts.count == 1)
    }
}
