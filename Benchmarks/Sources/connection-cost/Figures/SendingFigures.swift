// Messages that `WebSocketClient` sends, beside a blocking loop in C that sends the same ones.
import BenchmarkResults
import CBareClient
import CStreamScript
import WebSocketClient

/// Messages of 1 KiB, as fast as back-pressure allows, until the server has read, compared and counted them all.
enum SendingFigures {
    private static let (group, workload) = ("sending", "messages-1024")

    static let all = [
        Figure(
            name: "\(Self.group)/\(Self.workload)", summary: "messages of 1 KiB to a server that drops them"
        ) { repetitions in try await Self.measure(max(Self.leastRoundCount, repetitions)) }
    ]

    /// The messages of a run, for a run of some tenths of a second.
    private static let messageCount = 100_000
    private static let leastRoundCount = 11
    /// The least share of the loop's rate; a message may take the loop's processor time divided by it.
    private static let leastShare = 0.8

    private static let message = [UInt8](unsafeUninitializedCapacity: Int(CSS_UPLOAD_SIZE)) { bytes, count in
        css_upload(bytes.baseAddress)
        count = Int(CSS_UPLOAD_SIZE)
    }

    /// The rate and the cost of a run.
    private struct Run {
        let throughput: Double
        let processorTime: Double

        init(seconds: Double, processorSeconds: Double) {
            self.throughput = Double(SendingFigures.messageCount) / seconds
            self.processorTime = processorSeconds / Double(SendingFigures.messageCount) * 1e9
        }
    }

    /// Sends by both in rounds, every second one in reverse order; the bars apply to the ratios within a round.
    private static func measure(_ roundCount: Int) async throws -> [Reading] {
        let server = try StreamServer(.drop)
        // A run of each before all others fills caches.
        _ = (try Self.loop(server), try await Self.client(server))
        var (loop, client): ([Run], [Run]) = ([], [])
        for round in 0..<roundCount {
            if round.isMultiple(of: 2) { loop.append(try Self.loop(server)) }
            client.append(try await Self.client(server))
            if !round.isMultiple(of: 2) { loop.append(try Self.loop(server)) }
        }
        return Self.readings(client, "send(_:)") + Self.readings(loop, "write", of: ResultFigure.machineSubject) + [
            Reading(
                Self.group, Self.workload, way: "send(_:)", "throughput beside write",
                zip(client, loop).map { $0.throughput / $1.throughput }, "×", better: .higher,
                bar: .init(atLeast: Self.leastShare)),
            Reading(
                Self.group, Self.workload, way: "send(_:)", "processor-time beside write",
                zip(client, loop).map { $0.processorTime / $1.processorTime }, "×",
                bar: .init(atMost: 1 / Self.leastShare)),
        ]
    }

    private static func readings(
        _ runs: [Run], _ way: String, of subject: String = ResultFigure.ownSubject
    ) -> [Reading] {
        [
            Reading(
                Self.group, Self.workload, way: way, "throughput", runs.map(\.throughput), "messages/s",
                subject: subject, better: .higher),
            Reading(
                Self.group, Self.workload, way: way, "processor-time", runs.map(\.processorTime), "ns/message",
                subject: subject),
        ]
    }

    /// Sends from the package.
    private static func client(_ server: StreamServer) async throws -> Run {
        let connection = try await WebSocketConnection.open(.benchmark(port: server.port))
        defer { connection.cancel() }
        var answer: WebSocketMessage?
        let times = try await RunTimes {
            for _ in 0..<Self.messageCount { try await connection.send(Self.message) }
            try await connection.send(ClientReader.request)
            answer = try await connection.receive()
        }
        guard case .text(let counts) = answer else { throw WrongResultError("the server has not answered") }
        try Self.check(counts)
        return Run(seconds: times.wall, processorSeconds: times.processor)
    }

    /// Sends from the blocking loop, on this thread.
    private static func loop(_ server: StreamServer) throws -> Run {
        var sent = cbc_send(server.port, Self.messageCount)
        let counts = withUnsafeBytes(of: &sent.counts) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        try Self.check(counts)
        return Run(seconds: sent.seconds, processorSeconds: sent.processor_seconds)
    }

    /// Throws unless the server has had every message as it was sent.
    private static func check(_ counts: String) throws {
        guard counts == "\(Self.messageCount) 0" else {
            throw WrongResultError("the server has had and found different: \(counts)")
        }
    }
}
