// How much processor time a message takes from the socket to the arena: the transport alone, without events.
import BenchmarkResults

/// One message of 250 bytes, over a connection that is never short of them.
enum ThroughputFigures {
    /// Without TLS, with it, and compressed.
    static let all = [
        Figure(name: "arena-plain", summary: "from the socket to the arena, without TLS") { options in
            try await Self.arena(Wire(form: .webSocket), bar: 100, options)
        },
        Figure(name: "arena-tls", summary: "from the socket to the arena, with TLS") { options in
            try await Self.arena(Wire(form: .webSocket, isSecure: true), bar: 300, options)
        },
        Figure(name: "arena-deflate", summary: "from the socket to whole messages, compressed") { options in
            try await Self.arena(Wire(form: .webSocketDeflate), bar: nil, options)
        },
    ]

    /// Reads at the level of the transport; the machine's loop stands beside it.
    ///
    /// Compressed messages may cost 100 ns more than inflating them, of the whole process: whoever reads inflates.
    private static func arena(_ wire: Wire, bar: Double?, _ options: Options) async throws -> [Reading] {
        let expected = ExpectedResponse(messageCount: EndToEndFigures.messageCount(wire))
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: wire.isSecure, compresses: wire.form.isCompressed)
        let consumer = Consumer(kind: .arena, server: server, form: wire.form)
        try await consumer.read(expected, isThorough: true)
        Cores.watchPace()
        let times = try await RunTimes.several(options.repetitions) {
            try await consumer.read(expected, isThorough: false)
        }
        let machine = try MachineReadings(server, wire, expected).processorTime(options)
        let count = Double(expected.messageCount)
        let isCompressed = wire.form.isCompressed
        let values = times.paced(.lower) { (isCompressed ? $0.processor : $0.service) / count * 1e9 }
        let reading = Reading(
            isCompressed ? "whole process" : "service thread", values, "ns/event",
            bar: isCompressed ? machine.median + 100 : bar)
        let reported = reading.reported(
            EndToEndFigures.group, wire.name, way: consumer.way + (isCompressed ? "" : ", its service thread"),
            measure: "processor-time",
            work: expected.work(streamCount: 1), amount: 1, decodes: false)
        return [reported, machine]
    }
}
