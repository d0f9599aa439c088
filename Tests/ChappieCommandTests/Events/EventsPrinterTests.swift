// The events of a server as text, and the end of an event source.
import EventSource
import Foundation
import ServerSentEvents
import Testing
import TransportSurface

@testable import ChappieCommand

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
    func requestThatIsAcceptedWithoutAStreamIsNoSilentEnd(
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

    @Test func firstConnectionAndTheEndAreNotReportedIntoAFile() {
        #expect(Self.printer().line(for: Self.entry("connection")) == nil)
        #expect(Self.printer().line(for: Self.entry("connection", attempt: 2)) != nil)
        #expect(Self.printer(onTerminal: true).line(for: Self.entry("connection")) != nil)
        #expect(Self.printer(onTerminal: true).line(for: Self.entry("event-source")) == nil)
    }

    // MARK: Failures

    private static func error(
        _ code: ChappieTransportFailure.Code, phase: ChappieTransportPhase = .stream
    ) -> EventSourceError {
        .transport(
            ChappieTransportFailure(
                code: code, phase: phase, transport: .httpSSE, progress: (attempts: 1, replaySafety: .notSent),
                details: .init()))
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
        #expect(text.errorOutput.hasPrefix("chappie: \(failure.safeDescription) The same request may succeed later.\n"))
        #expect(text.errorOutput.contains("\n  the server says: no[2J such\n"))
        #expect(text.errorOutput.hasSuffix("\n  connection.lost, category network, 3 attempts\n"))
        #expect(failure.status == .unavailable)
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
