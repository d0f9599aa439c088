import Foundation
import Testing

@testable import ChappieSignIn
@testable import ChappieTransport

/// The meaning of an answer to a refresh, for every status code and every form of an error code.
@Suite struct RefreshAnswerTests {
    private func answer(_ status: Int, _ body: String) -> RefreshAnswer {
        RefreshAnswer(
            FetchedDocument(statusCode: status, fields: [], body: Array(body.utf8)), secrets: ["secret-token"])
    }

    private static let finalCodes = [
        "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated", "invalid_grant",
        "app_session_terminated", "invalid_client", "unauthorized_client", "access_denied",
    ]

    @Test(arguments: Self.finalCodes, [400, 401, 403, 429, 500])
    func finalErrorCodeIsARefusalInAnyShapeWithAnyStatusCode(code: String, status: Int) {
        for body in [
            #"{"error":{"code":"\#(code)"}}"#, #"{"error":"\#(code)","error_description":"x"}"#,
            #"{"code":"\#(code)"}"#,
        ] {
            let error = ChappieAuthError.tokenExchangeFailed(statusCode: status, body: body)
            #expect(self.answer(status, body) == .refused(code: code, error: error))
        }
    }

    @Test(arguments: [
        ("", "the server answered 401"), ("<html>", "the server answered 401"), ("{}", "the server answered 401"),
        (#"{"error":{"code":"something_new"}}"#, "something_new"),
        (#"{"error":{"code":"secret-token"}}"#, "the server answered 401"),
        (#"{"error":{"code":"Words, for people"}}"#, "the server answered 401"),
        (#"{"error":{"code":""}}"#, "the server answered 401"),
        (#"{"error":{"code":"\#(String(repeating: "a", count: 64))"}}"#, String(repeating: "a", count: 64)),
        (#"{"error":{"code":"\#(String(repeating: "a", count: 65))"}}"#, "the server answered 401"),
    ])
    func anyOther401IsFinalToo(body: String, code: String) {
        guard case .refused(code, _) = self.answer(401, body) else {
            Issue.record("\(self.answer(401, body))")
            return
        }
    }

    /// Some servers write their messages in another encoding.
    @Test func invalidMessageEncodingKeepsTheErrorCode() {
        let body = Array(#"{"error":"invalid_grant","error_description":""#.utf8) + [0xE9] + Array(#""}"#.utf8)
        let answer = RefreshAnswer(FetchedDocument(statusCode: 400, fields: [], body: body), secrets: [])
        guard case .refused("invalid_grant", _) = answer else {
            Issue.record("\(answer)")
            return
        }
    }

    @Test(arguments: [100, 300, 400, 403, 404, 408, 418, 429, 500, 502, 503, 599])
    func otherAnswersAreTemporaryFailures(status: Int) {
        for body in ["", #"{"error":{"code":"server_error"}}"#, #"{"error":"temporarily_unavailable"}"#, "[]"] {
            let error = ChappieAuthError.tokenExchangeFailed(statusCode: status, body: body)
            #expect(self.answer(status, body) == .failed(error))
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", #"{"access_token":7}"#, #"{"access_token":""}"#, #"{"id_token":"i"}"#,
        #"{"access_token":"a""#,
    ])
    func anAnswerWithoutATokenMayHaveBeenATokenThatWasLost(body: String) {
        #expect(self.answer(200, body) == .failed(.invalidResponse))
    }

    @Test func anyOfTheTokensIsAGrant() throws {
        for body in [#"{"access_token":"a"}"#, #"{"refresh_token":"r"}"#, #"{"access_token":"a","id_token":null}"#] {
            let grant = try #require(TokenGrant(body: Array(body.utf8)))
            #expect(self.answer(200, body) == .granted(grant))
        }
    }
}
