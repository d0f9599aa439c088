// A `response.completed` whose response states an error, a reason for being incomplete, or too many items.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ResponseEndTests {
    /// Reads a response whose last event has these members beside the response's identifier.
    private static func run(_ text: String = "Hello", endingWith members: String) async -> TurnOutcome {
        let output = text.isEmpty ? [] : [Event.text(text)]
        let end = #"{"type":"response.completed","response":{"id":"r"\#(members)}}"#
        return await TurnFixture([.socket([Event.created("r")] + output + [end])]).run()
    }

    @Test(
        arguments: [
            "", #","status":"completed""#, #","error":null,"incomplete_details":null"#,
            #","error":{},"incomplete_details":{}"#,
            #","error":{"code":null,"type":"","message":""},"incomplete_details":{"reason":null}"#,
            #","error":"","incomplete_details":{"reason":""}"#,
        ])
    func completedResponseWithoutAnErrorOrAReasonIsComplete(_ members: String) async {
        let outcome = await Self.run(endingWith: members)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    @Test(arguments: ["", #","status":"completed""#])
    func completedResponseWithAnErrorHasFailed(_ status: String) async throws {
        let outcome = await Self.run(endingWith: status + #","error":{"code":"invalid_prompt","message":"no"}"#)
        guard case .responseTerminalFailure(let response) = try #require(outcome.clientError) else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorCode == "invalid_prompt")
        #expect(response.status == "failed")
    }

    @Test(arguments: ["", #","status":"completed""#])
    func completedResponseWithAReasonIsIncomplete(_ status: String) async throws {
        let outcome = await Self.run(endingWith: status + #","incomplete_details":{"reason":"max_output_tokens"}"#)
        guard case .responseTerminalFailure(let response) = try #require(outcome.clientError) else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.incompleteReason == "max_output_tokens")
        #expect(response.status == "incomplete")
    }

    // MARK: Items

    private static func output(_ count: Int) -> String {
        let item = #"{"type":"message","content":[{"type":"output_text","text":"x"}]}"#
        return #","output":[\#(Array(repeating: item, count: count).joined(separator: ","))]"#
    }

    @Test func asManyItemsAsCanBeReadAreDelivered() async {
        let outcome = await Self.run("", endingWith: Self.output(ResponseSummary.maximumOutputCount))
        #expect(outcome.error == nil)
        #expect(outcome.text.utf8.count == ResponseSummary.maximumOutputCount)
    }

    @Test func moreItemsThanCanBeReadAreAnError() async {
        let outcome = await Self.run("", endingWith: Self.output(ResponseSummary.maximumOutputCount + 1))
        #expect(outcome.transportFailure?.code == .outputTooLarge)
        #expect(outcome.transportFailure?.details.limit == ResponseSummary.maximumOutputCount)
        let words = outcome.transportFailure?.safeDescription ?? ""
        #expect(words.hasPrefix("The server lists more items in its answer than the limit of 16384 ("))
        #expect(words.hasSuffix("Ask the server's operator: this limit is fixed."))
    }
}
