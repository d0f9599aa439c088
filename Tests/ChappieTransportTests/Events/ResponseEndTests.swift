// The end of a response has to be one: what it says of itself counts for more than its type.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ResponseEndTests {
    private static func run(endingWith members: String) async -> TurnOutcome {
        await TurnFixture([
            .socket([
                Event.created("r"), Event.text("Hello"),
                #"{"type":"response.completed","response":{"id":"r"\#(members)}}"#,
            ])
        ]).run()
    }

    @Test(arguments: ["", #","status":"completed""#, #","status":"completed","error":null,"incomplete_details":null"#])
    func responseThatSaysNothingElseIsComplete(_ members: String) async {
        #expect(await Self.run(endingWith: members).error == nil)
    }

    @Test(arguments: ["", #","status":"completed""#])
    func responseWithAnErrorIsNotComplete(_ status: String) async throws {
        let outcome = await Self.run(
            endingWith: status + #","error":{"code":"invalid_prompt","message":"no"}"#)
        guard case .responseTerminalFailure(let response) = try #require(outcome.clientError) else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorCode == "invalid_prompt")
        #expect(response.status == "failed")
    }

    @Test(arguments: ["", #","status":"completed""#])
    func responseThatWasCutIsNotComplete(_ status: String) async throws {
        let outcome = await Self.run(
            endingWith: status + #","incomplete_details":{"reason":"max_output_tokens"}"#)
        guard case .responseTerminalFailure(let response) = try #require(outcome.clientError) else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.incompleteReason == "max_output_tokens")
        #expect(response.status == "incomplete")
    }

    // MARK: Items

    private static func list(_ count: Int) -> String {
        let item = #"{"type":"message","content":[{"type":"output_text","text":"x"}]}"#
        return #","output":[\#(Array(repeating: item, count: count).joined(separator: ","))]"#
    }

    @Test func mostItemsAreAllDelivered() async {
        let outcome = await TurnFixture([
            .socket([
                Event.created("r"),
                #"{"type":"response.completed","response":{"id":"r"\#(Self.list(ResponseSummary.maximumOutputCount))}}"#,
            ])
        ]).run()
        #expect(outcome.error == nil)
        #expect(outcome.text.utf8.count == ResponseSummary.maximumOutputCount)
    }

    @Test func moreItemsThanCanBeReadAreAnError() async {
        let outcome = await TurnFixture([
            .socket([
                Event.created("r"),
                #"{"type":"response.completed","response":{"id":"r"\#(Self.list(ResponseSummary.maximumOutputCount + 1))}}"#,
            ])
        ]).run()
        #expect(outcome.transportFailure?.code == .outputTooLarge)
        #expect(outcome.transportFailure?.details.limit == ResponseSummary.maximumOutputCount)
        let words = outcome.transportFailure?.safeDescription ?? ""
        #expect(words.hasPrefix("The server lists more items in its answer than the limit of 16384 ("))
        #expect(words.hasSuffix("Ask the server's operator: this limit is fixed."))
    }
}
