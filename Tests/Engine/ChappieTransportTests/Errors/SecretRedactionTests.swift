import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

/// The detection of secrets in texts, and the redacted texts.
@Suite(.timeLimit(.minutes(10))) struct SecretRedactionTests {
    private static let key = "sk-proj/Ab3+z="
    private static let redaction = SecretRedaction([Self.key, "another-secret"])

    private static func words(_ text: String) -> String { Self.redaction.words(text) }

    @Test(arguments: [
        ("", ""), ("nothing", "nothing"), ("sk-proj/Ab3+z=", "[redacted]"),
        ("a sk-proj/Ab3+z= b another-secret", "a [redacted] b [redacted]"),
        ("sk-proj/Ab3+z=sk-proj/Ab3+z=.", "[redacted][redacted]."),
        ("another-secre and more", "another-secre and more"),
        // A mark that combines with the last letter makes a different character of it.
        ("another-secret\u{301}", "[redacted]\u{301}"), ("\u{301}another-secretä", "\u{301}[redacted]ä"),
        // The rest of a masked key is no key.
        ("sk-pr********3+z=", "sk-pr********3+z="),
    ])
    func secretsAreReplaced(text: String, words: String) {
        #expect(Self.words(text).unicodeScalars.elementsEqual(words.unicodeScalars))
    }

    @Test(arguments: [
        #"sk-proj\/Ab3+z="#, #"sk-proj\u002fAb3+z="#, #"sk-proj\u002FAb3+z\u003d"#, #"\u0073k-proj/Ab3+z="#,
        #"sk-proj\\/Ab3+z="#, #"sk-proj\\\/Ab3+z="#, #"sk-proj\\u002FAb3+z="#, #"\\\\u0073k-proj/Ab3+z="#,
    ])
    func secretsInEscapesOfJSONAreReplaced(text: String) {
        #expect(Self.words(text) == "[redacted]")
        #expect(Self.words(#"{"a":"\n\u00e4 \"\#(text)\" \\"}"#) == #"{"a":"\n\u00e4 \"[redacted]\" \\"}"#)
    }

    @Test(arguments: [#"\"#, #"\u"#, #"\u00"#, #"\x41"#, #"\u00e4\ud83d\ude00"#, #"\n\t\/"#, #"\\\\"#])
    func otherEscapesStayAsTheyAre(text: String) {
        #expect(Self.words(text) == text)
        #expect(Self.words(text + "another-secret") == text + "[redacted]")
    }

    @Test(arguments: [
        "sk-proj%2FAb3%2Bz%3D", "sk-proj%2fAb3+z%3d", "sk-proj/Ab3%2Bz=", "%73k-proj/Ab3+z=",
        #"sk-proj%2FAb3\u002bz%3D"#,
        #"sk-proj\u00252FAb3%2Bz="#,
    ])
    func secretsInPercentEncodingAreReplaced(text: String) {
        #expect(Self.words(text) == "[redacted]")
        #expect(Self.words("100% ?a=\(text)&b=%20%zz%") == "100% ?a=[redacted]&b=%20%zz%")
    }

    @Test(arguments: ["100%", "%", "%2", "%zz", "%41", "a%20b", "%%41", "%25", "%E2%80%A8"])
    func otherPercentEncodingStaysAsItIs(text: String) {
        #expect(Self.words(text) == text)
        #expect(Self.words(text + "another-secret.") == text + "[redacted].")
    }

    /// A text may have been cut to a limit, at any place.
    @Test(arguments: 1..<14)
    func secretThatIsCutAtTheEndIsReplaced(count: Int) {
        let beginning = String(Self.key.prefix(count))
        #expect(Self.words("x " + beginning) == (count < 6 ? "x " + beginning : "x [redacted]"))
        // Elsewhere it was not cut.
        #expect(Self.words(beginning + " x") == beginning + " x")
    }

    @Test(arguments: [
        #"sk-proj\/"#, #"sk-proj\"#, #"sk-proj\u"#, #"sk-proj\u002"#, #"sk-pro\u006a"#, "sk-proj%", "sk-proj%2",
        "sk-proj%2F", "sk-pro%6A",
    ])
    func secretThatIsCutInAnEscapeIsReplaced(text: String) {
        #expect(Self.words("x " + text) == "x [redacted]")
    }

    @Test func secretsThatOverlapAreReplacedWhole() {
        let redaction = SecretRedaction(["abcabcabc", "cabcab-end"])
        #expect(redaction.words("x abcabcabcabcabc") == "x [redacted]")
        #expect(redaction.words("x abcabcabcab-end y") == "x [redacted] y")
        #expect(SecretRedaction(["secret-1", "1-secret"]).words("a secret-1-secret b") == "a [redacted] b")
    }

    @Test func secretsWithEscapedCharactersAreFound() {
        let redaction = SecretRedaction([#"pass"word\one"#])
        #expect(redaction.words(#"a pass"word\one b"#) == "a [redacted] b")
        #expect(redaction.words(#"a pass\"word\\one b"#) == "a [redacted] b")
    }

    @Test func secretsOfAConfigurationAreItsFieldsAndItsProxys() throws {
        var configuration = ChappieTransportConfiguration(baseURL: try #require(URL(string: "http://127.0.0.1:1")))
        configuration.additionalFields = [
            (name: "X-Key", value: "Basic field-secret"), (name: "X-Plain", value: "plain!"),
        ]
        configuration.proxy = .url("http://user:pass%2Fword@proxy.example:3128")
        let redaction = SecretRedaction(configuration)
        #expect(redaction.words("user, pass%2Fword, pass/word") == "user, [redacted], [redacted]")
        #expect(redaction.words("user:pass/word, user:pass%2Fword") == "[redacted], [redacted]")
        #expect(
            redaction.words("Basic dXNlcjpwYXNzL3dvcmQ=, field-secret, plain!")
                == "Basic [redacted], [redacted], plain!")
        for url in ["", "http://proxy.example", "http://user@proxy.example", "@", ":@"] {
            configuration.proxy = .url(url)
            #expect(SecretRedaction(configuration).words("user proxy.example") == "user proxy.example")
        }
    }

    @Test(arguments: [
        ("Cookie", "session=part-of-it", "part-of-it"), ("cookie", "a=1;s=part=of=it", "part=of=it"),
        ("Cookie", #"a=1; session="part-of-it" ; b=2"#, "part-of-it"),
        ("Authorization", #"Token token="part-of-it", nonce="1234567""#, "part-of-it"),
        ("Authorization", "Token token=part-of-it;nonce=1234567", "part-of-it"),
        ("Authorization", #"Token token="part \"of\", it""#, #"part "of", it"#),
        ("Authorization", #"Token token="part-of-it"#, "part-of-it"),
        ("proxy-authorization", #"Digest username="a-user", response = "part-of-it""#, "part-of-it"),
        ("Authorization", "Basic c29tZXVzZXI6cGFzc3dvcmQ5OQ==", "password99"),
        ("Authorization", "basic c29tZXVzZXI6cGFzc3dvcmQ5OQ", "someuser:password99"),
        ("Proxy-Authorization", "Basic c29tZXVzZXI6", "someuser"),
        ("Authorization", "Basic c29tZW9uZTpwdw==", "someone:pw"),
    ])
    func partsOfAFieldAreReplaced(name: String, value: String, part: String) {
        let redaction = SecretRedaction([]).adding([(name: name, value: value)])
        #expect(redaction.words("a \(part) b") == "a [redacted] b")
        #expect(redaction.words("a \(value) b").contains(part) == false)
        let encoded = part.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(redaction.words(encoded) == "[redacted]")
    }

    @Test(arguments: [
        ("Cookie", "sessions=part-of-it; theme=dark", "sessions, dark"),
        (
            "Authorization", #"Digest username="a-user", realm="a realm", uri="/v1/responses", qop=auth, response="1""#,
            "Digest for a-user in a realm at /v1/responses"
        ),
        ("Authorization", "Basic c29tZXVzZXI6cGFzc3dvcmQ5OQ==", "Basic for someuser."),
        ("Authorization", "Basic !not-base64!", "not-base64"), ("X-Plain", "a=part-of-it", "part-of-it"),
        ("Authorization", "Basic", "user:password"), ("Authorization", "Token ", "Token token"),
        ("Cookie", ";=;", ";=;"),
        ("Authorization", #"Signature keyId="k",headers="host content-digest""#, "host content-digest"),
        ("Authorization", "AWS4-HMAC-SHA256 SignedHeaders=content-type;host", "content-type;host"),
        ("Authorization", "Basic dXNlcjpteSBjYXQgaXMgb3Jhbmdl", "orange"),
    ])
    func publicPartsOfAFieldAreNotRedacted(name: String, value: String, text: String) {
        #expect(SecretRedaction([]).adding([(name: name, value: value)]).words(text) == text)
    }

    @Test func shortWordsAreNotRedacted() {
        #expect(SecretRedaction(["key"]).words("a key") == "a key")
        #expect(SecretRedaction([]).words("anything") == "anything")
    }

    /// Neither a text nor a secret that repeats itself takes more time than its length.
    @Test func redactionTakesLinearTime() {
        let beginning = String(repeating: "\\", count: 1 << 16) + String(repeating: "a", count: 1 << 15)
        let half = String(repeating: "a", count: 1 << 15)
        let redaction = SecretRedaction([half + "b"])
        #expect(redaction.words(beginning + half + ".") == beginning + half + ".")
        #expect(redaction.words(beginning + half) == beginning + "[redacted]")
        let percent = String(repeating: "%", count: 1 << 16)
        let encoded = String(repeating: "%61", count: 1 << 15)
        #expect(redaction.words(percent + encoded + ".") == percent + encoded + ".")
        #expect(redaction.words(percent + encoded) == percent + "[redacted]")
    }

    // MARK: Redacted values

    @Test func eventsAreWithoutSecretsUnlessTheyAreOutput() {
        let secret = "another-secret"
        let window = ChappieUsageLimitWindow(usedPercent: 1, windowMinutes: nil, resetsAt: nil)
        let events: [(ChappieStreamEvent, ChappieStreamEvent)] = [
            (.textDelta(secret), .textDelta(secret)),
            (.reasoningDelta(secret), .reasoningDelta(secret)),
            (.refusalDelta(secret), .refusalDelta(secret)),
            (
                .raw(type: secret, payload: #"{"a":"another\u002dsecret"}"#),
                .raw(type: "[redacted]", payload: #"{"a":"[redacted]"}"#)
            ),
            (
                .usageLimits(.init(primary: window, secondary: nil, planType: secret)),
                .usageLimits(.init(primary: window, secondary: nil, planType: "[redacted]"))
            ),
            (
                .diagnostic(.init(kind: .unknownEvent, reason: secret)),
                .diagnostic(.init(kind: .unknownEvent, reason: "[redacted]"))
            ),
            (
                .toolCallRequested(.init(callID: secret + "1", name: "t", arguments: secret, policy: .ask)),
                .toolCallRequested(.init(callID: "[redacted]1", name: "t", arguments: "[redacted]", policy: .ask))
            ),
            (
                .approvalRequested(.init(callID: secret, name: "t", arguments: secret)),
                .approvalRequested(.init(callID: "[redacted]", name: "t", arguments: "[redacted]"))
            ),
            (
                .toolCallCompleted(
                    .init(callID: secret, name: "t", status: .failed, output: secret, duration: .zero)),
                .toolCallCompleted(
                    .init(callID: "[redacted]", name: "t", status: .failed, output: secret, duration: .zero))
            ),
            (.completed, .completed),
        ]
        for (event, expected) in events { #expect(Self.redaction.event(event) == expected) }
    }

    @Test func answersAreWithoutSecrets() {
        let fields = [HTTPField("x-request-id", "another-secret"), HTTPField("etag", "1")]
        let expected = [HTTPField("x-request-id", "[redacted]"), HTTPField("etag", "1")]
        let head = ResponseHead(statusCode: 200, fields: fields, isCompressed: true)
        #expect(Self.redaction.head(head) == ResponseHead(statusCode: 200, fields: expected, isCompressed: true))
        let document = FetchedDocument(statusCode: 200, fields: fields, body: Array("a another-secret".utf8))
        #expect(
            Self.redaction.document(document)
                == FetchedDocument(statusCode: 200, fields: expected, body: Array("a [redacted]".utf8)))
    }

    /// Every kind of error that contains text of a server, with a text in every place that may contain it.
    private static func errors(saying words: String) -> [ChappieClientError] {
        var response = ChappieResponse(
            id: words, status: "failed", errorCode: words, errorMessage: words, incompleteReason: words)
        response.model = words
        response.requestID = words
        response.errorPayload = words
        var details = ChappieTransportFailure.Details()
        details.closeReason = words
        details.serverMessage = words
        details.requestID = words
        details.issuer = words
        let limit = ChappieUsageLimit(
            type: words, message: words, plan: .init(rawValue: words, displayName: words), resetsAt: nil,
            primary: nil, secondary: nil)
        let failure = ChappieTransportFailure(
            code: .webSocketClosed, phase: .stream, transport: .webSocket,
            progress: (attempts: 1, replaySafety: .notSent), details: details)
        return [
            .responseTerminalFailure(response), .transport(failure), .usageLimitReached(limit),
            .httpError(500, words), .reauthenticationRequired(words),
        ]
    }

    @Test func everyTextOfAnErrorIsWithoutSecrets() {
        let errors = Self.errors(saying: "a another-secret").map { Self.redaction.clientError($0) }
        #expect(errors == Self.errors(saying: "a [redacted]"))
    }
}
