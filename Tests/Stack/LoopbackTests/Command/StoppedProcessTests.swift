import ChappieTransport
import Foundation
import Testing

/// `chappie stream` as a process that is stopped and continued (SIGSTOP, SIGCONT).
@Suite(.timeLimit(.minutes(10))) struct StoppedProcessTests {
    /// The server's budget, shorter than the stop of the process.
    private static let budget = "2"
    private static let stop = Duration.seconds(4)

    /// A response whose first text is there, and the process that has printed it.
    private struct Running {
        let server: RawServer
        let peer: RawPeer
        let child: ChildProcess
        let home: TemporaryDirectory
        let reportPath: String
    }

    private static func event(_ json: String) -> String { "data: \(json)\n\n" }

    private static func delta(_ text: String) -> String {
        Self.event(#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\#(text)"}"#)
    }

    private static let end =
        Self.delta("two")
        + Self.event(#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#)

    private static func start() async throws -> Running {
        let server = try RawServer()
        let home = try TemporaryDirectory()
        let reportPath = home.path(of: "report.json")
        let child = try ChildProcess(
            CommandProgram.path,
            [
                "stream", "--base-url", "http://127.0.0.1:\(server.port)/v1", "--http-only", "--idle-timeout",
                Self.budget,
                "--progress-timeout", Self.budget, "--max-reconnects", "0", "--report", reportPath, "hi",
            ],
            environment: [
                "CHAPPIE_HOME": home.url.path, "NO_PROXY": "*", "CHAPPIE_API_KEY": "", "OPENAI_API_KEY": "",
            ])
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        peer.write(Self.event(#"{"type":"response.created","response":{"id":"r"}}"#) + Self.delta("one "))
        #expect(await child.hasShown("one"))
        return Running(server: server, peer: peer, child: child, home: home, reportPath: reportPath)
    }

    private static func expectOneWholeResponse(of running: Running) async throws {
        #expect(await running.child.hasShown("one two"))
        #expect(await running.child.status() == 0)
        let report = try JSONDecoder().decode(
            ChappieStreamReport.self, from: Data(contentsOf: URL(fileURLWithPath: running.reportPath)))
        #expect(report.attempts.map(\.outcome) == ["completed"])
    }

    /// Bytes that arrived while the process was stopped, signs of life before content, are read before a budget is
    /// judged.
    @Test func bytesReceivedDuringAStopAreDelivered() async throws {
        let running = try await Self.start()
        running.child.send(SIGSTOP)
        running.peer.write(Self.event(#"{"type":"keepalive"}"#))
        running.peer.write(Self.end)
        // The stop itself has to last longer than the budget, on the system's own clock.
        try await Task.sleep(for: Self.stop)
        running.child.send(SIGCONT)
        try await Self.expectOneWholeResponse(of: running)
    }

    /// The time in which the process did not run is not the server's silence.
    @Test func bytesAfterAStopAreInTime() async throws {
        let running = try await Self.start()
        running.child.send(SIGSTOP)
        try await Task.sleep(for: Self.stop)
        running.child.send(SIGCONT)
        running.peer.write(Self.event(#"{"type":"keepalive"}"#))
        running.peer.write(Self.end)
        try await Self.expectOneWholeResponse(of: running)
    }
}
