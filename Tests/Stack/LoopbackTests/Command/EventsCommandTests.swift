import EventSource
import Foundation
import Testing

/// `chappie events` as a process, against a server whose bytes the test writes.
@Suite(.timeLimit(.minutes(10))) struct EventsCommandTests {
    private static let environment = ["NO_PROXY": "*"]

    private static func run(_ words: [String]) -> Task<(output: Data, status: Int32), any Error> {
        Task {
            try await ChildProcess.run(
                CommandProgram.path, ["events", "--reconnection-time", "0"] + words, input: "",
                environment: Self.environment)
        }
    }

    @Test func eventsAreAnEventStreamAcrossReconnections() async throws {
        let server = try RawServer()
        let child = Self.run([try server.eventsURL.absoluteString])
        try await server.request().stream("id: 1\nevent: x\ndata: a\ndata: b\n\n")
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == "1")
        second.stream("data: c\n\n")
        try await server.request().answer("204 No Content")
        let (output, status) = try await child.value
        #expect(status == 0)
        #expect(String(decoding: output, as: UTF8.self) == "event: x\nid: 1\ndata: a\ndata: b\n\ndata: c\n\n")
    }

    @Test func commandEndsAfterTheMaximumNumberOfEvents() async throws {
        let (server, home) = (try RawServer(), try TemporaryDirectory())
        let path = home.path(of: "report.json")
        let child = Self.run([
            "--json", "--max-events", "2", "--last-event-id", "7", "--report", path,
            try server.eventsURL.absoluteString,
        ])
        let request = try await server.request()
        #expect(request.value(of: "Last-Event-ID") == "7")
        request.openStream("data: a\n\nid: 8\ndata: b\n\ndata: c\n\n")
        let (output, status) = try await child.value
        #expect(status == 0)
        #expect(
            String(decoding: output, as: UTF8.self)
                == "{\"type\":\"response\",\"statusCode\":200,\"fields\":"
                + "[{\"name\":\"content-type\",\"value\":\"text/event-stream\"}]}\n"
                + "{\"event\":\"message\",\"data\":\"a\",\"id\":\"7\"}\n"
                + "{\"event\":\"message\",\"data\":\"b\",\"id\":\"8\"}\n")
        let report = try JSONDecoder().decode(
            EventSourceReport.self, from: Data(contentsOf: URL(filePath: path)))
        #expect(report.attemptCount == 1)
    }

    @Test func postIsSentOnceWithItsFields() async throws {
        let server = try RawServer()
        let child = Self.run([
            "--data", "{\"a\":1}", "--header", "X-Key: secret", try server.eventsURL.absoluteString,
        ])
        let request = try await server.request()
        #expect(request.line == "POST /events?x=1")
        #expect(request.value(of: "Content-Type") == "application/json")
        #expect(request.value(of: "X-Key") == "secret")
        #expect(await request.peer.read(count: 7) == Array("{\"a\":1}".utf8))
        request.stream("data: a\n\n")
        #expect(try await child.value.status == 0)
        #expect(!server.hasConnection)
    }

    @Test(arguments: [(401, 77), (404, 69), (429, 75), (503, 69)])
    func refusalHasItsExitCode(_ statusCode: Int, _ status: Int32) async throws {
        let server = try RawServer()
        let child = Self.run(["--json", try server.eventsURL.absoluteString])
        try await server.request().answer("\(statusCode) No", body: "because")
        let (output, exit) = try await child.value
        #expect(exit == status)
        let line = String(decoding: output, as: UTF8.self)
        #expect(line.hasPrefix("{\"type\":\"error\",\"tag\":\"http.\(statusCode)\","))
        #expect(line.contains("\"serverMessage\":\"because\""))
    }

    @Test func everyStreamBeginsWithItsAnswer() async throws {
        let server = try RawServer()
        let child = Self.run(["--json", try server.eventsURL.absoluteString])
        for value in ["1", "2"] {
            let request = try await server.request()
            // A comment is a sign of the stream: the next attempt follows at once.
            request.openStream(":\n", ["X-Part: \(value)", "Set-Cookie: secret"])
            request.peer.close()
        }
        try await server.request().answer("204 No Content")
        let (output, status) = try await child.value
        #expect(status == 0)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix(#"{"type":"response","statusCode":200,"#) })
        for (line, value) in zip(lines, ["1", "2"]) {
            #expect(line.contains(#"{"name":"x-part","value":"\#(value)"}"#))
        }
        #expect(lines.allSatisfy { $0.contains(#"{"name":"set-cookie","value":"[redacted]"}"#) })
    }

    @Test func emptyAnswersThatUseUpTheReconnectionsAreAFailure() async throws {
        let server = try RawServer()
        let (program, url) = (try CommandProgram(), try server.eventsURL.absoluteString)
        let outcome = Task {
            try await program.run(["events", "--reconnection-time", "0", "--max-reconnects", "1", url])
        }
        for _ in 0..<2 { try await server.request().stream("") }
        let result = try await outcome.value
        #expect(result.status == 69)
        #expect(result.output.isEmpty)
        #expect(result.errorOutput.contains("chappie: The server ended its streams without an event"))
        #expect(result.errorOutput.contains("event-source.gave-up, category server, 2 attempts"))
    }

    @Test(arguments: [("202 Accepted", 69), ("204 No Content", 0)] as [(String, Int32)])
    func acceptedPostWithoutAStreamIsReported(_ answer: String, _ status: Int32) async throws {
        let server = try RawServer()
        let (program, url) = (try CommandProgram(), try server.eventsURL.absoluteString)
        let outcome = Task { try await program.run(["events", "--data", "{}", url]) }
        try await server.request().answer(answer)
        let result = try await outcome.value
        #expect(result.status == status)
        #expect(result.errorOutput.contains("accepted the request, and sends no event stream"))
    }

    @Test func lastEventIDThatCannotBeSentIsReported() async throws {
        let server = try RawServer()
        let (program, url) = (try CommandProgram(), try server.eventsURL.absoluteString)
        let outcome = Task { try await program.run(["events", "--reconnection-time", "0", url]) }
        try await server.request().stream("id: \u{1}canary\ndata: a\n\n")
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == nil)
        second.answer("204 No Content")
        let result = try await outcome.value
        #expect(result.status == 0)
        #expect(result.errorOutput.contains("The last event ID cannot be sent: the request is without it."))
        #expect(!result.errorOutput.contains("canary"))
    }

    @Test func controlCharactersAreEscapedOnATerminal() async throws {
        let server = try RawServer()
        let child = try ChildProcess(
            onTerminal: CommandProgram.path, ["events", "--max-events", "1", try server.eventsURL.absoluteString],
            environment: Self.environment)
        try await server.request().openStream("data: a\u{1B}]0;x\u{7}b\u{202E}c\n\n")
        let shown = await child.allOutput()
        #expect(await child.status() == 0)
        #expect(shown.contains(#"data: a\u{1B}]0;x\u{7}b\u{202E}c"#), "\(shown)")
        for sequence in ["\u{1B}]", "\u{7}", "\u{202E}"] { #expect(!shown.contains(sequence)) }
    }

    @Test func interruptEndsTheCommand() async throws {
        let server = try RawServer()
        let child = try ChildProcess(
            CommandProgram.path, ["events", try server.eventsURL.absoluteString], environment: Self.environment)
        let request = try await server.request()
        request.openStream("data: a\n\n")
        #expect(await child.hasOutput())
        child.send(SIGINT)
        #expect(await child.status() == 130)
        #expect(await request.peer.receive() == .end)
    }
}
