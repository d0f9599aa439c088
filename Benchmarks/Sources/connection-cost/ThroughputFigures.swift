// How much processor time a message takes that is read as fast as it comes.
import CBareClient

/// One message of 250 bytes, over a connection that is never short of them.
enum ThroughputFigures {
    static let all = [
        Figure(name: "arena-plain", summary: "from the socket to the arena, without TLS") { options in
            let server = try Self.server()
            let bar = 100.0
            return [
                try await Self.arena(server, options, "service thread", bar: bar),
                try Self.bare(server, options, "the machine: read and frame headers"),
            ]
        },
        Figure(name: "arena-tls", summary: "from the socket to the arena, with TLS") { options in
            let server = try Self.server(isSecure: true)
            return [
                try await Self.arena(server, options, "service thread", bar: 300),
                try Self.bare(server, options, "the machine: SSL_read and frame headers"),
            ]
        },
        Figure(name: "arena-deflate", summary: "from the socket to whole messages, compressed") { options in
            let server = try StreamServer(.flood(messageCount: Self.compressedCount), compresses: true)
            let inflate = try Self.inflate(server, options)
            let consumer = Consumer(kind: .arena, server: server, compresses: true)
            let expected = ExpectedResponse(messageCount: Self.compressedCount)
            let values = try await Self.measure(consumer, expected, options) { ProcessUse.processorTime }
            return [Reading("whole process", values, "ns", bar: inflate.median + 100), inflate]
        },
        Self.events(.events, "events-plain", "to ChappieStreamEvent in 'for try await'", bar: 650),
        Self.events(.batches, "batches-plain", "to ChappieStreamEvent, by batches()", bar: 300),
        Self.events(.events, "events-tls", "to ChappieStreamEvent, with TLS", isSecure: true),
        Self.events(.batches, "batches-tls", "the same by batches()", isSecure: true),
    ]

    /// Reads a short response in every way, and checks every byte: what is measured is read rightly.
    static func selfCheck() async throws {
        let expected = ExpectedResponse(messageCount: 20_000)
        for (isSecure, compresses) in [(false, false), (true, false), (false, true)] {
            let server = try StreamServer(
                .flood(messageCount: expected.messageCount), isSecure: isSecure, compresses: compresses)
            for kind in Consumer.Kind.allCases {
                let consumer = Consumer(kind: kind, server: server, compresses: compresses)
                try await consumer.read(expected, isThorough: true)
            }
        }
        Line.print("What the server sends and what each way of reading gives are the same.")
    }

    private static let messageCount = 6 * 65_536
    private static let compressedCount = 2 * 65_536

    private static func server(isSecure: Bool = false) throws -> StreamServer {
        try StreamServer(.flood(messageCount: Self.messageCount), isSecure: isSecure)
    }

    private static func events(
        _ kind: Consumer.Kind, _ name: String, _ summary: String, isSecure: Bool = false, bar: Double? = nil
    ) -> Figure {
        Figure(name: name, summary: summary) { options in
            let consumer = Consumer(kind: kind, server: try Self.server(isSecure: isSecure))
            let expected = ExpectedResponse(messageCount: Self.messageCount)
            return [
                Reading(
                    "whole process", try await Self.measure(consumer, expected, options) { ProcessUse.processorTime },
                    "ns", bar: bar),
                Reading(
                    "of it the service thread",
                    try await Self.measure(consumer, expected, options) { try ProcessUse.serviceTime() }, "ns"),
            ]
        }
    }

    private static func arena(
        _ server: StreamServer, _ options: Options, _ label: String, bar: Double
    ) async throws -> Reading {
        let consumer = Consumer(kind: .arena, server: server)
        let expected = ExpectedResponse(messageCount: Self.messageCount)
        let values = try await Self.measure(consumer, expected, options) { try ProcessUse.serviceTime() }
        return Reading(label, values, "ns", bar: bar)
    }

    /// Nanoseconds a message of a clock, several times; a thorough reading before them is not timed.
    private static func measure(
        _ consumer: Consumer, _ expected: ExpectedResponse, _ options: Options, _ clock: () throws -> Double
    ) async throws -> [Double] {
        try await consumer.read(expected, isThorough: true)
        var values: [Double] = []
        for _ in 0..<options.repetitions {
            let start = try clock()
            try await consumer.read(expected, isThorough: false)
            values.append((try clock() - start) / Double(expected.messageCount) * 1e9)
        }
        return values
    }

    // MARK: The machine

    private static func bare(_ server: StreamServer, _ options: Options, _ label: String) throws -> Reading {
        let values = try (0..<options.repetitions).map { _ in
            try Self.perMessage(cbc_read(server.port, server.certificatePath != nil, UInt64(Self.messageCount + 2)))
        }
        return Reading(label, values, "ns")
    }

    private static func inflate(_ server: StreamServer, _ options: Options) throws -> Reading {
        let values = try (0..<options.repetitions).map { _ in
            try Self.perMessage(cbc_inflate(server.port, UInt64(Self.compressedCount + 2)))
        }
        return Reading("the machine: inflate alone", values, "ns")
    }

    private static func perMessage(_ result: cbc_result) throws -> Double {
        guard result.is_complete, result.message_count > 0 else { throw WrongResultError("the bare loop failed") }
        return result.seconds / Double(result.message_count) * 1e9
    }
}
