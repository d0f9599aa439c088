// The advice to a person about a refusal.
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct RefusalAdviceTests {
    private static let otherModel = "Name another model, or ask for access to this one."

    private static func advice(_ status: Int, _ body: String) -> String? {
        ChappieClientError.httpError(status, body).recoverySuggestion
    }

    /// An answer with status code 200 that is no event stream.
    private static func otherContent(saying body: String?, detail: String? = nil) -> ChappieTransportFailure {
        var details = ChappieTransportFailure.Details()
        if let body { details.explain(by: body) }
        details.detail = detail
        return ChappieTransportFailure(
            code: .unexpectedContentType, phase: .upgrade, transport: .httpSSE,
            progress: (attempts: 1, replaySafety: .sentNoOutput), details: details)
    }

    @Test(arguments: [
        #"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        #"{"error":{"message":"m","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
        #"{"error":{"message":"m","type":"NotFoundError","param":"model","code":404}}"#,
    ])
    func unknownModelLeadsToTheModel(body: String) {
        #expect(Self.advice(400, body) == Self.otherModel)
        #expect(Self.advice(404, body) == Self.otherModel)
        #expect(Self.otherContent(saying: body).recoverySuggestion == Self.otherModel)
    }

    @Test func unknownModelOfAFailedResponseLeadsToTheModel() {
        let response = ChappieResponse(
            id: nil, status: "failed", errorCode: "model_not_found", errorMessage: "words")
        #expect(ChappieClientError.responseTerminalFailure(response).recoverySuggestion == Self.otherModel)
    }

    @Test func inputThatIsTooLongIsToBeShortened() {
        let advice = "Shorten the input, or use a model with a larger context window."
        #expect(Self.advice(400, #"{"error":{"message":"m","code":"context_length_exceeded"}}"#) == advice)
        let response = ChappieResponse(
            id: nil, status: "failed", errorCode: "context_length_exceeded", errorMessage: "words")
        #expect(ChappieClientError.responseTerminalFailure(response).recoverySuggestion == advice)
        #expect(Self.advice(400, #"{"error":{"message":"m","code":"invalid_prompt"}}"#) == "Change the input.")
    }

    /// Without a known code, only the server's message identifies whether the request or the server is at fault.
    @Test(
        arguments: [
            (
                "ERR_SOMETHING", "words",
                "See what the server says: change the request if that is at fault, or try again."
            ),
            (nil, "words", "See what the server says: change the request if that is at fault, or try again."),
            (nil, nil, "Try again in a moment."), ("server_error", "words", "Try again in a moment."),
            ("invalid_request_error", "words", "Change the request: the server says what is wrong with it."),
        ] as [(String?, String?, String)])
    func failedResponseWithoutAKnownCodeLeadsToTheServersWords(code: String?, words: String?, advice: String) {
        let response = ChappieResponse(id: nil, status: "failed", errorCode: code, errorMessage: words)
        #expect(ChappieClientError.responseTerminalFailure(response).recoverySuggestion == advice)
    }

    @Test(arguments: [
        (404, "Check the address: the API is not there."), (405, "Check the address: the API is not there."),
        (500, "Try again in a moment; if it stays so, ask the operator of the server or of the proxy."),
        (502, "Try again in a moment; if it stays so, ask the operator of the server or of the proxy."),
        (503, "Try again in a moment; if it stays so, ask the operator of the server or of the proxy."),
        (
            403,
            "Check the address, and open it in a browser: a captive portal, a proxy or a sign-in page may stand "
                + "in between."
        ),
    ])
    func webPageLeadsWhereItsStatusCodePoints(status: Int, advice: String) {
        #expect(Self.advice(status, "<html><title>T</title></html>") == advice)
    }

    @Test func otherContentLeadsToTheServersWords() {
        #expect(
            Self.otherContent(saying: #"{"detail":"Not Found"}"#).recoverySuggestion
                == "See what the server says, and check the address.")
        #expect(
            Self.otherContent(saying: nil).recoverySuggestion
                == "Check the address; a proxy or a sign-in page may stand in between.")
        #expect(
            Self.otherContent(saying: "<html>", detail: WebPage.detail).recoverySuggestion == WebPage.advice)
    }
}
