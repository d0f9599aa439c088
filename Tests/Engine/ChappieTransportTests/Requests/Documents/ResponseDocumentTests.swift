// A kept response that is retrieved or cancelled: its address, its answer, and the failures.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ResponseDocumentTests {
    private static let whole =
        #"{"id":"resp_1","object":"response","status":"completed","model":"m-1","service_tier":"flex","output":["#
        + #"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"thought"}]},"#
        + #"{"type":"message","id":"msg_1","role":"assistant","content":["#
        + #"{"type":"output_text","text":"Hel"},{"type":"output_text","text":"lo"}]},"#
        + #"{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}],"#
        + #""usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}"#

    private static func answer(_ body: String) -> [ScriptStep] {
        let fields = ["x-request-id": "req_1", "x-ratelimit-remaining-requests": "7"]
        return [.opened(200, fields: fields), .body(body), .ended(.complete)]
    }

    private static func error(_ fixture: TurnFixture, _ id: String = "resp_1") async -> ChappieClientError? {
        do {
            _ = try await fixture.instance.retrieve(id)
            return nil
        } catch {
            return error as? ChappieClientError
        }
    }

    @Test func retrievedResponseHasItsTextItemsAndUsage() async throws {
        let fixture = TurnFixture([Self.answer(Self.whole)]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t") }
        }
        let response = try await fixture.instance.retrieve("resp_1")
        #expect(response.id == "resp_1")
        #expect(response.status == "completed")
        #expect(response.model == "m-1")
        #expect(response.serviceTier == "flex")
        #expect(response.outputText == "Hello")
        #expect(response.outputItems.count == 3)
        #expect(
            response.outputItems.last
                == #"{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}"#)
        #expect(response.usage?.inputTokens == 3)
        #expect(response.usage?.outputTokens == 4)
        #expect(response.requestID == "req_1")
        #expect(response.rateLimits?.requests?.remaining == 7)
        let request = fixture.transport.requests[0]
        #expect(request.isResumption)
        #expect(request.endpoint.target == "/v1/responses/resp_1")
        #expect(request.value(of: "Authorization") == "Bearer t")
        #expect(request.value(of: "Accept") == "application/json")
    }

    /// The state of a response that is not complete is no error of the call.
    @Test(arguments: ["queued", "in_progress", "cancelled", "failed", "incomplete"])
    func otherStatusIsReturned(_ status: String) async throws {
        let body =
            #"{"id":"r","status":"\#(status)","error":{"code":"server_error","message":"It broke"},"#
            + #""incomplete_details":{"reason":"max_output_tokens"}}"#
        let response = try await TurnFixture([Self.answer(body)]).instance.retrieve("r")
        #expect(response.status == status)
        #expect(response.outputText.isEmpty)
        #expect(response.outputItems.isEmpty)
        #expect(response.errorCode == "server_error")
        #expect(response.errorMessage == "It broke")
        #expect(response.errorPayload?.contains("It broke") == true)
        #expect(response.incompleteReason == "max_output_tokens")
    }

    @Test func cancellationIsAPostWithoutContent() async throws {
        let fixture = TurnFixture([Self.answer(#"{"id":"r","status":"cancelled"}"#)])
        let response = try await fixture.instance.cancel("r")
        #expect(response.status == "cancelled")
        let request = fixture.transport.requests[0]
        guard case .post(let body) = request.exchange else {
            Issue.record("not a POST")
            return
        }
        #expect(body.isEmpty)
        #expect(request.endpoint.target == "/v1/responses/r/cancel")
    }

    @Test func identifierIsOneSegmentOfTheAddress() async throws {
        let url = try #require(URL(string: "https://h/openai?api-version=2"))
        let fixture = TurnFixture([Self.answer(#"{"status":"completed"}"#)]) { $0.baseURL = url }
        _ = try await fixture.instance.retrieve("a/../b?c#d%ä")
        #expect(
            fixture.transport.requests[0].endpoint.target
                == "/openai/responses/a%2F..%2Fb%3Fc%23d%25%C3%A4?api-version=2")
    }

    @Test(arguments: ["", ".", "..", "a b", "a\r\nX: 1", String(repeating: "r", count: 3_000)])
    func identifierThatNoAddressCanHaveSendsNothing(_ id: String) async {
        let fixture = TurnFixture([Self.answer(Self.whole)])
        let error = await Self.error(fixture, id)
        #expect(error?.tag == "request.invalid")
        #expect(error?.replaySafety == .notSent)
        guard case .transport(let failure)? = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(failure.details.detail?.hasPrefix("responseID ") == true)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: [
        "", "[]", "null", "{", "{}", #"{"status":""}"#, #"{"status":7}"#, #"{"models":[]}"#,
        #"{"status":"completed"}},"type":"error"}"#, #"{"status":"completed"},"response":{"status":"failed"}"#,
    ])
    func anotherDocumentIsNoResponse(_ body: String) async {
        #expect(await Self.error(TurnFixture([Self.answer(body)])) == .invalidResponse)
    }

    @Test(arguments: [400, 404, 500]) func otherStatusCodeIsAnError(_ status: Int) async {
        let fixture = TurnFixture([.refusal(status, body: "no")])
        #expect(await Self.error(fixture) == .httpError(status, "no"))
        #expect(fixture.transport.requests.count == 1)
    }

    /// As many items as are read, and one more.
    @Test(arguments: [16_384, 16_385]) func tooManyItemsAreAnError(_ count: Int) async {
        let items = repeatElement(#"{"type":"message"}"#, count: count).joined(separator: ",")
        let error = await Self.error(TurnFixture([Self.answer(#"{"status":"completed","output":[\#(items)]}"#)]))
        #expect(error?.tag == (count > 16_384 ? "output.too-large" : nil))
    }
}
