// The server's message about an error, as it is shown to a person.
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct ServerMessageTests {
    private static func message(_ body: String) -> String? {
        ChappieClientError.httpError(400, body).serverMessage
    }

    @Test(
        arguments: [
            (#"{"detail":"Server is pinned to 'x'; requested 'y'."}"#, "Server is pinned to 'x'; requested 'y'."),
            (#"{"error":{"message":"The model does not exist","code":"model_not_found"}}"#, "The model does not exist"),
            (#"{"error":{"message":"a"},"detail":"b","message":"c"}"#, "a"),
            (#"{"error":{"code":"x"},"detail":"b","message":"c"}"#, "b"),
            (#"{"detail":"","message":"c"}"#, "c"), (#"{"error":"not here"}"#, "not here"),
            (#"{"detail":{"message":"b"}}"#, "b"), (#"[{"error":{"message":"a"}}]"#, "a"),
            (
                #"{"detail":[{"loc":["body","input",0],"msg":"Field required"},{"loc":["x"],"msg":"y"}]}"#,
                "body.input.0: Field required; x: y"
            ),
            (#"{"type":"about:blank","title":"Bad","status":400}"#, "Bad"), (#""text""#, "text"),
            (#"{"a":1}"#, #"{"a":1}"#), ("null", "null"), (#"{"detail":"cut off"#, #"{"detail":"cut off"#),
            ("upstream connect error\r\n", "upstream connect error"),
            (
                "<html><HEAD><Title lang=en>\n 502 Bad\n &lt;Gateway&gt; &amp;lt;</TITLE>",
                #"an HTML page with the title "502 Bad <Gateway> &lt;""#
            ),
            ("<!doctype html><title></title>", "an HTML page without a title"),
            ("<html><title>never closed", "an HTML page without a title"),
        ])
    func messageIsExtractedFromTheBody(body: String, message: String) {
        #expect(Self.message(body) == message)
    }

    @Test(arguments: ["", " \r\n", #"{"error":{"message":"\u0000\u001b"}}"#])
    func bodyWithoutTextHasNoServerMessage(body: String) {
        #expect(Self.message(body) == nil)
    }

    @Test func messageIsOneLineWithoutControlCharacters() {
        #expect(
            Self.message(#"{"detail":" a\n\u001b[31mb\t\u0085c\u202Ed\u200B\u2028e\u0000f "}"#) == "a [31mb c d e f")
    }

    /// Without invisible characters, a secret that contains one would be whole again.
    @Test(arguments: [
        "\u{0}", "\u{7F}", "\u{AD}", "\u{200B}", "\u{200D}", "\u{2060}", "\u{FEFF}", "\u{E0041}", "\u{34F}", "\u{115F}",
        "\u{3164}", "\u{FE0F}", "\u{20DD}", "\u{2800}", "\u{E000}", "\u{301}",
    ])
    func invisibleScalarDoesNotHideASecret(scalar: String) {
        let redaction = SecretRedaction(["secret-7-token"])
        let line = redaction.clientError(.httpError(400, "key secret-7\(scalar)-token")).serverMessage
        #expect(line == "key secret-7 -token")
        for reference in scalar.unicodeScalars.filter({ $0 != "\0" }).map({ "&#\($0.value);" }) {
            let page = "<html><title>secret&#45;7\(reference)-token</title>"
            let title = redaction.clientError(.httpError(400, page)).serverMessage
            #expect(title == #"an HTML page with the title "secret-7 -token""#)
        }
    }

    /// A page's references are resolved for a person, so that a secret has to be found behind them as well.
    @Test(arguments: [
        ("secret-7&token", "secret&#45;7&amp;token"), ("secret-7&token", "&#115;ecret-7&token"),
        ("secret-7&token", "secret-7&#X26;toke&#110"), ("secret–token", "secret&ndash;&#x74;oken"),
    ])
    func referencesDoNotHideASecret(secret: String, written: String) {
        let redaction = SecretRedaction([secret])
        let error = redaction.clientError(.httpError(400, "<html><title>a &amp; \(written) b</title></html>"))
        #expect(error.serverMessage == #"an HTML page with the title "a & [redacted] b""#)
        #expect(error.unsafeMessage == "<html><title>a &amp; [redacted] b</title></html>")
        // The page was cut in the middle of it.
        let cut = redaction.clientError(.httpError(400, "<html><title>a</title>b s&#101;cret"))
        #expect(cut.unsafeMessage == "<html><title>a</title>b [redacted]")
    }

    @Test func lettersKeepTheirMarks() {
        #expect(Self.message("e\u{301}\u{323}a n\u{303}, हिन्दी") == "e\u{301}\u{323}a n\u{303}, हिन्दी")
        #expect(Self.message("e\u{301}\u{323}\u{301}x") == "e\u{301}\u{323} x")
    }

    @Test func longMessageIsCutAndCounted() {
        let exact = String(repeating: "é", count: 500)
        #expect(Self.message(exact) == exact)
        let cut = Self.message(exact + "x")
        #expect(cut == String(repeating: "é", count: 482) + "… (501 characters)")
        #expect(cut?.unicodeScalars.count == 500)
        let long = Self.message(String(repeating: "x ", count: 40_000))
        #expect(long?.hasSuffix("x … (79999 characters)") == true)
        #expect(long?.unicodeScalars.count == 500)
    }

    @Test func everyServerErrorHasItsMessage() {
        var response = ChappieResponse(id: nil, status: "failed", errorCode: "code", errorMessage: "words")
        #expect(ChappieClientError.responseTerminalFailure(response).serverMessage == "words")
        response = ChappieResponse(id: nil, status: "incomplete", incompleteReason: "max_output_tokens")
        #expect(ChappieClientError.responseTerminalFailure(response).serverMessage == "max_output_tokens")
        response.errorPayload = #"{"message":"words"}"#
        #expect(ChappieClientError.responseTerminalFailure(response).serverMessage == "words")
        #expect(ChappieClientError.reauthenticationRequired("words").serverMessage == "words")
        var details = ChappieTransportFailure.Details()
        details.closeReason = "bye\n"
        let failure = ChappieTransportFailure(
            code: .webSocketClosed, phase: .stream, transport: .webSocket,
            progress: (attempts: 1, replaySafety: .notSent), details: details)
        #expect(ChappieClientError.transport(failure).serverMessage == "bye")
    }

    @Test func programErrorsHaveNoServerMessage() {
        for reason in ReauthenticationReason.allCases {
            #expect(ChappieClientError.reauthenticationRequired(reason.rawValue).serverMessage == nil)
        }
        for error in [.requestRefused("words"), .toolExecutionFailed("t", "words")] as [ChappieClientError] {
            #expect(error.serverMessage == nil)
        }
    }

    @Test(arguments: [
        (
            "invalid_api_key",
            "The server does not accept the API key. "
                + "Check the key, and that it is one for this server."
        ),
        ("token_expired", "The server no longer accepts the credential. Sign in again."),
        ("refresh_token_reused", "The server no longer accepts the credential. Sign in again."),
        ("another account is signed in", "The server no longer accepts the credential. Sign in again."),
        ("the server answered 401", "The server does not accept the credential. Check the API key, or sign in again."),
        ("Unauthorized", "The server does not accept the credential. Check the API key, or sign in again."),
    ])
    func refusedCredentialHasTheWordsForItsKind(reason: String, sentences: String) {
        #expect(ChappieClientError.reauthenticationRequired(reason).safeDescription == sentences)
    }

    /// The error has the code, and the handle the server's words; a code without words is all that the server has said.
    @Test(arguments: [
        (#""message":"Key sk-0123456789 is wrong.\n""#, "Key [redacted] is wrong."),
        (#""message":"""#, "invalid_api_key"),
        (#""detail":"Wrong key.""#, "Wrong key."),
    ])
    func failedResponseAboutACredentialHasTheServersWords(member: String, words: String) async {
        for json in [
            #"{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_api_key",\#(member)}}}"#,
            #"{"type":"error","error":{"code":"invalid_api_key",\#(member)}}"#,
        ] {
            let fixture = TurnFixture([.webSocket(json)]) {
                $0.credential = { _ in ChappieCredential(bearerToken: "sk-0123456789") }
            }
            let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
            let outcome = await TurnFixture.read(handle)
            #expect(outcome.clientError == .reauthenticationRequired("invalid_api_key"))
            #expect(handle.serverMessage == words)
        }
    }

    @Test(arguments: [#"{"error":"Unauthorized"}"#, #"{"detail":"Unauthorized"}"#, "Unauthorized\n"])
    func refusalWithoutACodeHasTheServersWordsAsItsReason(body: String) async {
        let fixture = TurnFixture([.refusal(401, body: body)])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .reauthenticationRequired("Unauthorized"))
    }
}
