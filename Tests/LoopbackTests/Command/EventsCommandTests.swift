import EventSource
import Foundation
import Testing

/// `chappie events` as a process, against a server whose bytes the test writes.
@Suite(.timeLimit(.minutes(1))) struct EventsCommandTests {
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

    @Test func numberOfEventsEndsIt() async throws {
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
                == "{\"event\":\"message\",\"data\":\"a\",\"id\":\"7\"}\n"
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

    @Test func interruptEndsIt() async throws {
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
