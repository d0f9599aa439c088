// What comes to a consumer, over each wire and in each way to read, beside what the machine does with the same bytes.
import BenchmarkResults
import CBareClient

/// Responses whose deltas are read as fast as they come.
enum EndToEndFigures {
    /// What the results call this kind of question.
    static let group = "end-to-end"

    /// A figure for each wire.
    static let all = Wire.all.map { wire in
        Figure(
            name: wire.name, aliases: Self.formerNames(wire),
            summary: "socket to events, \(wire.streamCount == 1 ? "one stream" : "\(wire.streamCount) streams")"
        ) { options in try await Self.measure(wire, options) }
    }

    /// Reads a short response over each wire in every way, and checks all text: what is measured is read rightly.
    static func selfCheck() async throws {
        for wire in Wire.all where wire.streamCount == 1 {
            let expected = ExpectedResponse(messageCount: 20_000)
            let server = try StreamServer(
                .flood(messageCount: expected.messageCount), isSecure: wire.isSecure,
                compresses: wire.form.isCompressed)
            for kind in Consumer.Kind.allCases where kind != .arena || !wire.form.isEventStream {
                let consumer = Consumer(kind: kind, server: server, form: wire.form)
                try await consumer.read(expected, isThorough: true)
            }
        }
        for form in Wire.Form.allCases { try await Self.checkPauses(Wire(form: form, streamCount: 3)) }
        Line.print("What the server sends and what each way of reading gives are the same.")
    }

    /// Reads responses with pauses, and checks that all came, and in batches nothing before its time.
    private static func checkPauses(_ wire: Wire) async throws {
        let expected = ExpectedResponse(messageCount: 2_000)
        for kind in [Consumer.Kind.events, .batches] {
            let server = try StreamServer(
                .flood(messageCount: expected.messageCount, pauseAfter: 600), compresses: wire.form.isCompressed)
            let pauses = Pauses(streamCount: wire.streamCount, first: 600, last: expected.messageCount)
            let consumer = Consumer(kind: kind, server: server, form: wire.form)
            try await consumer.read(wire.streamCount, expected, with: pauses, isThorough: true)
        }
    }

    /// The names of some of the readings.
    private static func formerNames(_ wire: Wire) -> [String] {
        guard wire.form == .webSocket, wire.streamCount == 1 else { return [] }
        return wire.isSecure ? ["events-tls", "batches-tls"] : ["events-plain", "batches-plain"]
    }

    /// How many deltas a response has, so that a run takes some tenths of a second.
    static func messageCount(_ wire: Wire) -> Int {
        switch (wire.streamCount, wire.form.isCompressed) {
        case (1, false): 6 * 65_536
        case (1, true): 3 * 65_536
        case (let count, let isCompressed): (isCompressed ? 200_000 : 400_000) / count
        }
    }

    private static func measure(_ wire: Wire, _ options: Options) async throws -> [Reading] {
        let expected = ExpectedResponse(messageCount: Self.messageCount(wire))
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: wire.isSecure, compresses: wire.form.isCompressed)
        var readings: [Reading] = []
        var machine = MachineReadings(server, wire, expected)
        Cores.watchPace()
        if wire.streamCount == 1 { try machine.measureHalf(options) }
        for kind in [Consumer.Kind.events, .batches] {
            let consumer = Consumer(kind: kind, server: server, form: wire.form)
            readings += try await Self.measure(consumer, wire, expected, options)
        }
        if wire.streamCount == 1 {
            try machine.measureHalf(options)
            readings += machine.readings
        }
        return readings
    }

    private static func measure(
        _ consumer: Consumer, _ wire: Wire, _ expected: ExpectedResponse, _ options: Options
    ) async throws -> [Reading] {
        let bars = Bars(wire, consumer.kind)
        try await consumer.read(wire.streamCount, expected, isThorough: true)
        let times = try await RunTimes.several(
            bars.throughput == nil || options.isPart
                ? options.repetitions : max(Self.barredRepetitions, options.repetitions)
        ) {
            try await consumer.read(wire.streamCount, expected, isThorough: false)
        }
        let eventCount = Double(expected.messageCount * wire.streamCount)
        let work = expected.work(streamCount: wire.streamCount)
        func report(_ reading: Reading, _ measure: String, _ better: ResultFigure.Direction) -> Reading {
            reading.reported(
                Self.group, wire.name, way: consumer.way, measure: measure, better: better, work: work,
                amount: Double(wire.streamCount), decodes: true)
        }
        let throughput = Reading(
            "\(consumer.way)", times.paced(.higher) { eventCount / $0.wall }, "events/s", atLeast: bars.throughput)
        let processor = Reading(
            "  its processor time", times.paced(.lower) { $0.processor / eventCount * 1e9 }, "ns/event",
            bar: bars.processorTime)
        let service = Reading(
            "  of it the service thread", times.paced(.lower) { $0.service / eventCount * 1e9 }, "ns/event")
        return [
            report(throughput, "throughput", .higher), report(processor, "processor-time", .lower), service,
        ]
    }

    /// How often what has a bar by the clock on the wall is measured: it tells what else the machine does.
    private static let barredRepetitions = 11

    /// What is asked of a way to read.
    private struct Bars {
        private(set) var throughput: Double?
        private(set) var processorTime: Double?

        init(_ wire: Wire, _ kind: Consumer.Kind) {
            guard !wire.isSecure, !wire.form.isCompressed, wire.streamCount == 1 else { return }
            self.throughput = kind == .events ? 1.5e6 : 3.5e6
            if wire.form == .webSocket { self.processorTime = kind == .events ? 650 : 300 }
        }
    }
}

extension ExpectedResponse {
    /// What goes through in a run, for the results.
    ///
    /// The bytes are those of the deltas' JSON, the checksum is that of the text of one stream.
    func work(streamCount: Int) -> ResultFigure.Work {
        let eventCount = self.messageCount * streamCount
        return ResultFigure.Work(
            eventCount: eventCount, byteCount: eventCount * 250, checksum: "fnv1a64:" + String(self.hash(), radix: 16))
    }
}
