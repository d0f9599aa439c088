// The memory of many streams while they wait.
import BenchmarkResults
import Foundation

/// Resident memory of streams that have begun, and wait in tasks of their own.
///
/// Freed memory stays resident and is used again. So no stream is closed in a process that is measured, every run is a
/// process of its own, and a value is the memory that streams have added to that of the streams before them.
enum MemoryFigures {
    /// A kind of stream.
    enum Stream: String {
        /// Of the engine.
        case plain
        /// The same with TLS.
        case tls
        /// A connection of `WebSocketClient`.
        case client
    }

    static let all = [
        Self.idle("plain-1000", "resident memory of a stream that waits, of 1,000", .plain, bar: 24),
        Self.idle("tls-1000", "the same with TLS", .tls, bar: 64),
        Self.idle("client-1000", "resident memory of a WebSocketClient that waits, of 1,000", .client, bar: 24),
    ]

    private static func idle(_ workload: String, _ summary: String, _ stream: Stream, bar: Double) -> Figure {
        Figure(name: "memory/\(workload)", summary: summary) { repetitions in
            let values = try (0..<repetitions).map { _ in
                let process = try ChildProcess(Programs.own, ["--fill", "1000", stream.rawValue])
                let text = process.availableText()
                guard let value = Double(text.trimmingCharacters(in: .newlines)) else {
                    throw WrongResultError("a process has failed: \(text)")
                }
                return value
            }
            return [Reading("memory", workload, "memory", values, "KiB/stream", bar: .init(atMost: bar))]
        }
    }

    /// The streams before the first measurement, which also pay for state that is made once and for partial pages.
    private static let warmUpCount = 100

    /// Opens streams in this process, and prints the KiB that each has added.
    static func fill(_ streamCount: Int, _ stream: Stream) async throws {
        Descriptors.raiseLimit()
        let server = try StreamServer(.idle, isSecure: stream == .tls)
        if stream == .client {
            let crowd = ClientCrowd(port: server.port)
            try await Self.measure(streamCount) { try await crowd.grow(to: $0) }
            return withExtendedLifetime((server, crowd)) { crowd.cancel() }
        }
        let crowd = try Crowd(server)
        defer { crowd.cancel() }
        try await Self.measure(streamCount) { try await crowd.grow(to: $0) }
    }

    private static func measure(_ streamCount: Int, _ grow: (Int) async throws -> Void) async throws {
        try await grow(Self.warmUpCount)
        let before = try await Self.settledMemory()
        try await grow(Self.warmUpCount + streamCount)
        Line.print("\(Double(try await Self.settledMemory() - before) / Double(streamCount) / 1_024)")
    }

    private static func settledMemory() async throws -> Int {
        try await Task.sleep(for: .milliseconds(100))
        return try ProcessUse.residentByteCount()
    }
}
