// Messages that `WebSocketClient` sends, to a server that reads and drops them.
import CMachine
import WebSocketClient

/// Sends messages of 1 KiB as fast as back-pressure allows.
///
/// The server has a response that does not end, and takes every message behind the first for a request that waits.
enum SentMessages {
    private static let message = [UInt8](repeating: UInt8(ascii: "x"), count: 1_024)
    /// The bytes of a frame: a header of four bytes, a masking key, and the message (RFC 6455 section 5.2).
    private static let frameByteCount = 8 + Self.message.count

    /// Sends `before` messages, and `count` between two pauses at which all are written; returns the workload's name.
    static func run(before: Int, count: Int) async throws -> String {
        let server = try StreamServer(.idle, isPinned: false)
        let connection = try await WebSocketConnection.open(.benchmark(port: server.port))
        defer { connection.cancel() }
        for number in [before, count] {
            for _ in 0..<number { try await connection.send(Self.message) }
            try await Self.wait(for: connection)
            cmachine_note_pause()
        }
        return "websocket-plain-1"
    }

    /// Waits until everything is written, and wakes seldom, because the wake-ups are counted as well.
    private static func wait(for connection: WebSocketConnection) async throws {
        while true {
            let report = connection.report
            guard report.outcome == nil else { throw WrongResultError("the connection ended: \(report)") }
            if report.sentByteCount >= report.sentMessageCount * Self.frameByteCount { return }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
