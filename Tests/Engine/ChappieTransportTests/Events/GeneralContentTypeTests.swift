// Event streams whose content type says nothing, and bodies of that type that are something else.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct GeneralContentTypeTests {
    private static let types = ["text/plain", "Text/Plain; charset=utf-8", "application/octet-stream"]
    private static let body = Event.sse(Event.created) + Event.sse(Event.text("ab")) + Event.sse(Event.completed)

    private static func turn(
        _ pieces: [String], type: String, end: [ScriptStep] = [.ended(.complete)], count: Int = 8,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> (outcome: TurnOutcome, fixture: TurnFixture) {
        let script = [ScriptStep.opened(200, fields: ["content-type": type])] + pieces.map { .body($0) } + end
        let fixture = TurnFixture(Array(repeating: script, count: count)) {
            $0.policy = .httpSSEOnly
            $0.reportsDiagnostics = true
            change(&$0)
        }
        return (await fixture.run(), fixture)
    }

    @Test(
        arguments: types,
        [
            "", ": hello\n\n", "event: response.created\n", "id: 1\n", "retry: 10\n", "\n\r\n", "\u{FEFF}",
            "\u{FEFF}\n:\n",
        ])
    func eventStreamIsReadWithADiagnostic(type: String, beginning: String) async {
        let (outcome, fixture) = await Self.turn([beginning + Self.body], type: type)
        #expect(outcome.error == nil && outcome.text == "ab")
        #expect(fixture.transport.requests.count == 1)
        let mediaType = type.prefix { $0 != ";" }.lowercased()
        #expect(outcome.diagnostics.map(\.kind) == [.connected, .contentTypeMismatch])
        #expect(outcome.diagnostics.last?.reason == mediaType)
    }

    @Test func beginningMayComeByteByByte() async {
        for beginning in ["", "\u{FEFF}\r\n", "id\n\n", "retry: 1\n"] {
            // A field without a colon is none of the beginnings.
            let isRead = beginning != "id\n\n"
            let bytes = Array((beginning + Self.body).utf8).map { ScriptStep.bodyBytes([$0]) }
            let script = [ScriptStep.opened(200, fields: ["content-type": "text/plain"])] + bytes + [.ended(.complete)]
            let fixture = TurnFixture([script]) { $0.policy = .httpSSEOnly }
            let outcome = await fixture.run()
            #expect(outcome.text == (isRead ? "ab" : ""))
            #expect((outcome.error == nil) == isRead)
        }
    }

    /// The words are kept, and the server is asked once.
    @Test(
        arguments: types,
        [
            ("<html><title>No</title>", #"an HTML page with the title "No""#),
            (#"{"detail":"Not Found"}"#, "Not Found"),
            ("upstream is away\n", "upstream is away"), ("dat", "dat"), ("events: 3", "events: 3"),
            (" data: x", "data: x"),
            ("[]", "[]"), ("", nil),
        ] as [(String, String?)])
    func otherBodyIsNotRead(type: String, row: (String, String?)) async {
        let (body, message) = row
        let (outcome, fixture) = await Self.turn(body.isEmpty ? [] : [body], type: type)
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(fixture.transport.requests.count == 1)
        if type.hasPrefix("T") || type.hasPrefix("t") { #expect(outcome.clientError?.serverMessage == message) }
        #expect(outcome.text.isEmpty)
    }

    @Test(arguments: ["text/html", "application/json", "text/css"])
    func eventStreamOfAnotherTypeIsNotRead(type: String) async {
        let (outcome, fixture) = await Self.turn([Self.body], type: type)
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(fixture.transport.requests.count == 1)
    }

    /// The model may think for long before the first byte: the limit is that of the first event, not of an error's body.
    @Test func beginningMayTakeAsLongAsTheFirstEvent() async {
        let script: [ScriptStep] = [
            .opened(200, fields: ["content-type": "text/plain"]), .pause(.seconds(50)), .body(Self.body),
            .ended(.complete),
        ]
        let fixture = TurnFixture([script]) { $0.policy = .httpSSEOnly }
        #expect(await fixture.run().text == "ab")
        let late = TurnFixture([[.opened(200, fields: ["content-type": "text/plain"]), .pause(.seconds(600))]]) {
            $0.policy = .httpSSEOnly
        }
        #expect(await late.run().outcomes == ["http.content-type"])
    }

    /// A body that is no event stream is kept up to the limit of an error's body.
    @Test func keptPartOfAnotherBodyIsBounded() async {
        let (outcome, _) = await Self.turn(
            [String(repeating: "x", count: 5_000)], type: "text/plain", end: [.pause(.seconds(600))]
        ) { $0.limits.errorBodyByteCount = 100 }
        #expect(outcome.outcomes == ["http.content-type"])
        #expect(outcome.clientError?.unsafeMessage?.utf8.count == 100)
        // Empty lines are not kept at all.
        let beginning = EventStreamBeginning([UInt8](repeating: UInt8(ascii: "\n"), count: 9_000))
        #expect(beginning.bytes.isEmpty && beginning.kind == .unknown)
    }
}
