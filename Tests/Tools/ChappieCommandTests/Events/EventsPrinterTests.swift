// The events of a server as text, and the end of an event source.
import Foundation
import ServerSentEvents
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieCommand
@testable import EventSource

@Suite struct EventsPrinterTests {
    private static func printer(
        json: Bool = false, onTerminal: Bool = false, style: TerminalStyle = TerminalStyle(isColored: false)
    ) -> EventsPrinter {
        EventsPrinter(
            printsJSON: json, terminals: Console.Terminals(output: onTerminal, errorOutput: onTerminal), style: style)
    }

    private static let events = [
        ServerSentEvent(data: "a\nb", lastEventID: "1"), ServerSentEvent(type: "x", data: "", lastEventID: "1"),
        ServerSentEvent(data: " ☃", lastEventID: ""),
    ]

    @Test func outputIsAnEventStreamWithTheSameEvents() throws {
        var printer = Self.printer()
        var text = ""
        for event in Self.events { text += printer.printed(event).output }
        #expect(text.hasPrefix("id: 1\ndata: a\ndata: b\n\n"))
        var parser = EventStreamParser()
        #expect(try parser.events(in: text.utf8) == Self.events)
    }

    @Test func controlCharactersAreEscapedOnATerminal() {
        var printer = Self.printer(onTerminal: true)
        let text = printer.printed(ServerSentEvent(data: "\u{1B}[31mred\u{7}\tx\u{202E}")).output
        #expect(text == "data: \\u{1B}[31mred\\u{7}\tx\\u{202E}\n\n")
        var pipe = Self.printer()
        #expect(pipe.printed(ServerSentEvent(data: "\u{1B}")).output == "data: \u{1B}\n\n")
    }

    @Test func linesOfJSONAreThoseOfSSE() {
        var printer = Self.printer(json: true)
        #expect(
            Self.events.map { printer.printed($0).output } == [
                "{\"event\":\"message\",\"data\":\"a\\nb\",\"id\":\"1\"}\n",
                "{\"event\":\"x\",\"data\":\"\",\"id\":\"1\"}\n", "{\"event\":\"message\",\"data\":\" ☃\"}\n",
            ])
    }

    @Test func streamBeginsWithTheAnswerInJSON() {
        let fields = [
            (name: "Content-Type", value: "text/event-stream"), (name: "Set-Cookie", value: "secret"),
            (name: "X-Auth-Token", value: "secret"), (name: "WWW-Authenticate", value: "secret"),
            (name: "X-A", value: "1"), (name: "x-a", value: "2"),
        ]
        let line = Self.printer(json: true).line(ofStatusCode: 200, fields: fields)
        #expect(
            line
                == #"{"type":"response","statusCode":200,"fields":[{"name":"content-type","value":"text/event-stream"},"#
                + #"{"name":"set-cookie","value":"[redacted]"},{"name":"x-auth-token","value":"[redacted]"},"#
                + #"{"name":"www-authenticate","value":"[redacted]"},{"name":"x-a","value":"1"},"#
                + #"{"name":"x-a","value":"2"}]}"# + "\n")
        #expect(Self.printer().line(ofStatusCode: 200, fields: fields) == nil)
    }

    // MARK: Reports

    @Test(
        arguments: [
            ("POST", 204, 0, true), ("DELETE", 204, 0, true), ("GET", 204, 0, false), ("POST", 200, 0, false),
            ("POST", 204, 1, false), ("POST", nil, 0, false),
        ] as [(String, Int?, Int, Bool)])
    func status204AfterAPostIsReported(
        method: String, statusCode: Int?, eventCount: Int, hasLine: Bool
    ) {
        let line = Self.printer().line(ofEndAfter: method, statusCode: statusCode, eventCount: eventCount)
        #expect(
            line == (hasLine ? "  The server has accepted the request, and sends no event stream (http.204)." : nil))
    }

    private static func entry(_ context: String, attempt: Int = 1) -> ChappieLogEntry {
        var entry = ChappieLogEntry(level: .info, context: context, message: "A sentence.", requestID: "r")
        entry.attempt = attempt
        return entry
    }

    @Test func reconnectionHasItsReasonAndDelay() {
        var entry = Self.entry("attempt")
        #expect(Self.printer().line(for: entry) == "  A sentence.")
        entry.delay = .milliseconds(3_210)
        #expect(Self.printer().line(for: entry) == "  A sentence. (in 3.21 s)")
        entry.tag = "connection.lost"
        entry.privateMessage = "private"
        #expect(Self.printer().line(for: entry) == "  A sentence. (connection.lost, in 3.21 s)")
    }

    @Test func onlyReconnectionsAreLoggedWithoutATerminal() {
        #expect(Self.printer().line(for: Self.entry("connection")) == nil)
        #expect(Self.printer().line(for: Self.entry("connection", attempt: 2)) != nil)
        #expect(Self.printer(onTerminal: true).line(for: Self.entry("connection")) != nil)
        #expect(Self.printer(onTerminal: true).line(for: Self.entry("event-source")) == nil)
    }

    // MARK: Failures

    private static func error(
        _ code: ChappieTransportFailure.Code, phase: ChappieTransportPhase = .stream, issuer: String? = nil
    ) -> EventSourceError {
        var details = ChappieTransportFailure.Details()
        details.issuer = issuer
        return .transport(
            ChappieTransportFailure(
                code: code, phase: phase, transport: .httpSSE, progress: (attempts: 1, replaySafety: .notSent),
                details: details))
    }

    static let exits: [(EventSourceError, ExitCode)] = [
        (error(.unreachable, phase: .connect), .unavailable), (error(.connectionLost), .unavailable),
        (error(.timedOut), .timedOut), (error(.eventTooLarge), .wrongData),
        (error(.unexpectedContentType), .wrongData), (error(.invalidRequest, phase: .send), .usage),
        (error(.certificateRejected, phase: .tls), .unavailable), (error(.endedEarly), .unavailable),
        (.redirect(.loop, statusCode: 302), .unavailable), (.redirect(.insecure, statusCode: 301), .unavailable),
        (.alreadyRead, .unavailable),
    ]

    @Test(arguments: Self.exits.indices) func everyErrorHasAnExitCode(_ index: Int) {
        #expect(ExitCode(Self.exits[index].0) == Self.exits[index].1)
    }

    @Test func failureHasItsFactsAndTheServersWords() {
        var failure = EventsFailure(Self.error(.connectionLost), attempts: 3)
        failure.serverMessage = "no\u{1B}[2J\nsuch"
        let text = Self.printer().printed(failure)
        #expect(text.output.isEmpty)
        #expect(text.errorOutput.hasPrefix("chappie: \(failure.problem)\n"))
        #expect(text.errorOutput.contains("\n  the server says: no[2J such\n  Try again in a moment.\n"))
        #expect(text.errorOutput.hasSuffix("\n  connection.lost, category network, 3 attempts\n"))
        #expect(failure.status == .unavailable)
    }

    private static func refusal(_ statusCode: Int, _ body: String) -> EventSourceError {
        .refused(
            EventSourceRefusal(
                EventSourceResponse(ResponseHead(statusCode: statusCode)), retryAfter: nil, body: body))
    }

    /// A server's message, as it is sent and as it is printed.
    static let messages: [(body: String, words: String?)] = [
        (#"{"error":{"message":"Slow down.","type":"rate_limit","code":null}}"#, "Slow down."),
        (#"{"detail":"No\nchappie: \u001B[1msuch\u202E"}"#, "No chappie: [1msuch"),
        ("<html><title>Blocked</title>", #"an HTML page with the title "Blocked""#),
        ("because", "because"),
        (String(repeating: "x", count: 501), String(repeating: "x", count: 482) + "… (501 characters)"),
        ("\r\n", nil), ("", nil),
    ]

    @Test func refusalAdvisesAnotherTryOnlyWhereItIsRetryable() {
        for statusCode in 100...999 {
            for body in ["", "words", "<html><title>Blocked</title>"] {
                let error = Self.refusal(statusCode, body)
                let advisesAnotherTry = error.recoverySuggestion?.lowercased().contains("try again") == true
                #expect(error.isRetryable || !advisesAnotherTry, "\(error)")
            }
        }
    }

    @Test(arguments: Self.messages.indices) func refusalHasTheServersMessageOnALineOfItsOwn(_ index: Int) {
        let (body, words) = Self.messages[index]
        let failure = EventsFailure(Self.refusal(429, body), attempts: 2)
        let lines = Self.printer().printed(failure).errorOutput.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("chappie: The server answered with status code 429") == true)
        #expect(lines.dropFirst().dropLast(2) == (words.map { ["  the server says: \($0)"] } ?? [])[...])
        #expect(lines.last == "  http.429, category rateLimit, 2 attempts")
        #expect(failure.serverMessage == words)
    }

    @Test func failureStatesEachFactOnce() {
        #expect(
            Self.printer().printed(EventsFailure(Self.refusal(503, ""), attempts: 2)).errorOutput == """
                chappie: The server answered with status code 503.
                  Try again in a moment; if it stays so, ask the server's operator.
                  http.503, category server, 2 attempts

                """)
        // The sentence has the number of attempts.
        #expect(
            Self.printer().printed(EventsFailure(Self.error(.connectionLost), attempts: 1)).errorOutput == """
                chappie: The connection broke (while reading the response, HTTP, 1 attempt).
                  Try again in a moment.
                  connection.lost, category network

                """)
    }

    @Test func issuerOfACertificateIsNoMessageOfTheServer() {
        let error = Self.error(.certificateRejected, phase: .tls, issuer: "CN=A,\nO=B")
        let failure = EventsFailure(error, attempts: 1)
        #expect(failure.serverMessage == nil)
        #expect(
            Self.printer().printed(failure).errorOutput
                .hasSuffix("\n  tls.certificate, category network, certificate issued by CN=A, O=B\n"))
    }

    @Test(arguments: [40, 60, 80]) func failureFitsTheTerminal(width: Int) {
        let printer = EventsPrinter(
            printsJSON: false, terminals: Console.Terminals(output: true, errorOutput: true),
            style: TerminalStyle(isColored: false), width: width)
        let body = Array(repeating: "chappie: words", count: 30).joined(separator: " ")
        let failure = EventsFailure(Self.refusal(404, body), attempts: 1)
        let lines = printer.printed(failure).errorOutput.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  ") })
        var entry = Self.entry("attempt")
        entry.delay = .milliseconds(3_210)
        entry.tag = "http.503"
        let note = printer.line(for: entry).map { $0.split(separator: "\n") } ?? []
        #expect(!note.isEmpty && note.allSatisfy { $0.count <= width && $0.hasPrefix("  ") }, "\(note)")
    }

    @Test func failureIsTheLastLineOfJSON() {
        let failure = EventsFailure(EventSourceError.redirect(.loop, statusCode: 302), attempts: 1)
        #expect(
            Self.printer(json: true).printed(failure).output
                == "{\"type\":\"error\",\"tag\":\"redirect.loop\",\"category\":\"server\",\"retryable\":false,"
                + "\"statusCode\":302,\"safeDescription\":\"\(failure.safeDescription)\",\"attempts\":1}\n")
    }

    @Test func reconnectionsThatAreUsedUpAreAFailure() {
        let failure = EventsFailure(ReconnectionsUsedUpError(), attempts: 4)
        #expect(failure.status == .unavailable)
        #expect(failure.category == .server && failure.isRetryable)
        #expect(failure.safeDescription.contains("--max-reconnects"))
        #expect(
            Self.printer(json: true).printed(failure).output
                == "{\"type\":\"error\",\"tag\":\"event-source.gave-up\",\"category\":\"server\",\"retryable\":true,"
                + "\"safeDescription\":\"\(failure.safeDescription)\",\"attempts\":4}\n")
    }

    @Test func interruptionIsNoFailureOfTheServer() {
        let failure = EventsFailure(CancellationError(), attempts: 1)
        #expect(failure.status == .interrupted)
        #expect(failure.category == nil)
        #expect(EventsFailure(DescriptorError.late, attempts: 1).status == .timedOut)
    }
}
