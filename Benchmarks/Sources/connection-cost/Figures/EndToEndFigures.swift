// The events that reach a consumer, over each wire and by each interface.
import BenchmarkResults

/// Responses whose deltas are read as fast as they come.
enum EndToEndFigures {
    private static let group = "end-to-end"

    /// A figure for each wire.
    static let all = Wire.all.map { wire in
        Figure(
            name: "\(Self.group)/\(wire.name)",
            summary: "socket to events, \(wire.streamCount == 1 ? "one stream" : "\(wire.streamCount) streams")"
        ) { repetitions in try await Self.measure(wire, repetitions) }
    }

    /// Reads a short response over each wire by each interface, and checks all text.
    static func selfCheck() async throws {
        for wire in Wire.all where wire.streamCount == 1 {
            let expected = ExpectedResponse(messageCount: 20_000)
            let server = try StreamServer(
                .flood(messageCount: expected.messageCount), isSecure: wire.isSecure,
                compresses: wire.form.isCompressed)
            for kind in Consumer.Kind.allCases {
                try await Consumer(kind: kind, server: server, form: wire.form).read(1, expected, isThorough: true)
            }
        }
        for form in Wire.Form.allCases { try await Self.checkPauses(Wire(form: form, streamCount: 3)) }
        Line.print("Each interface delivers the text that the server sends.")
    }

    /// Reads responses with pauses, and checks that they are complete and that no batch spans a pause.
    private static func checkPauses(_ wire: Wire) async throws {
        let expected = ExpectedResponse(messageCount: 2_000)
        for kind in Consumer.Kind.allCases where !kind.isOnChosenThread {
            let server = try StreamServer(
                .flood(messageCount: expected.messageCount, pauseAfter: 600), compresses: wire.form.isCompressed)
            let pauses = Pauses(streamCount: wire.streamCount, first: 600, last: expected.messageCount)
            let consumer = Consumer(kind: kind, server: server, form: wire.form)
            try await consumer.read(wire.streamCount, expected, with: pauses, isThorough: true)
        }
    }

    /// The deltas of a response and the responses of a stream, for a run of some tenths of a second.
    private static func counts(_ wire: Wire) -> (messages: Int, responses: Int) {
        wire.streamCount == 1 ? (65_536, wire.form.isCompressed ? 3 : 6) : (400_000 / wire.streamCount, 1)
    }

    /// Reads with the interfaces in turn.
    private static func measure(_ wire: Wire, _ repetitions: Int) async throws -> [Reading] {
        let (messageCount, responseCount) = Self.counts(wire)
        let expected = ExpectedResponse(messageCount: messageCount)
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: wire.isSecure, compresses: wire.form.isCompressed)
        let kinds = Consumer.Kind.allCases.filter { !$0.isOnChosenThread || wire.isPlainWebSocket }
        let consumers = kinds.map { Consumer(kind: $0, server: server, form: wire.form) }
        for consumer in consumers { try await consumer.read(wire.streamCount, expected, isThorough: true) }
        var times = consumers.map { _ in [RunTimes]() }
        for _ in 0..<repetitions {
            for (index, consumer) in consumers.enumerated() {
                times[index].append(
                    try await RunTimes {
                        try await consumer.read(
                            wire.streamCount, expected, responseCount: responseCount, isThorough: false)
                    })
            }
        }
        let eventCount = messageCount * responseCount * wire.streamCount
        return zip(consumers, times).flatMap { Self.readings($0, $1, wire, eventCount: Double(eventCount)) }
    }

    private static func readings(
        _ consumer: Consumer, _ times: [RunTimes], _ wire: Wire, eventCount: Double
    ) -> [Reading] {
        let bars = Bars(wire, consumer.kind)
        return [
            Reading(
                Self.group, wire.name, way: consumer.way, "throughput", times.map { eventCount / $0.wall }, "events/s",
                better: .higher, bar: bars.throughput.map { .init(atLeast: $0) }),
            Reading(
                Self.group, wire.name, way: consumer.way, "processor-time",
                times.map { $0.processor / eventCount * 1e9 }, "ns/event",
                bar: bars.processorTime.map { .init(atMost: $0) }),
        ]
    }

    /// The bars of an interface; Chat Completions and what is compressed have none.
    private struct Bars {
        private(set) var throughput: Double?
        private(set) var processorTime: Double?

        init(_ wire: Wire, _ kind: Consumer.Kind) {
            let isJudged = wire.form == .webSocket || wire.form == .eventStream
            guard isJudged, !wire.isSecure, wire.streamCount == 1 else { return }
            switch kind {
            case .events: (self.throughput, self.processorTime) = (1.5e6, 650)
            case .batches, .sequence, .scope: (self.throughput, self.processorTime) = (3.5e6, 300)
            case .eventsOnMainActor, .sequenceOnMainActor, .sequenceOnExecutor: break
            }
            if wire.form != .webSocket { self.processorTime = nil }
        }
    }
}

extension Wire {
    fileprivate var isPlainWebSocket: Bool { self.form == .webSocket && !self.isSecure && self.streamCount == 1 }
}
