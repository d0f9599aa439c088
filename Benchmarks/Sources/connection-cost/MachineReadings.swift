// The machine's limit for a wire: the same bytes in a loop of C, and what the server sends at most.
import BenchmarkResults
import CBareClient

/// Loops around a system call over one response.
struct MachineReadings {
    private let server: StreamServer
    private let wire: Wire
    private let expected: ExpectedResponse
    /// What was found so far: by the loop around `read`, by the one that throws all away, and by that around `inflate`.
    private var readResults: [PacedResult] = []
    private var drainResults: [PacedResult] = []
    private var inflateResults: [PacedResult] = []

    init(_ server: StreamServer, _ wire: Wire, _ expected: ExpectedResponse) {
        self.server = server
        self.wire = wire
        self.expected = expected
    }

    /// Measures half of the runs of the loops that make sense for the wire.
    ///
    /// They take a second together: what somebody else does just then would be in all of them.
    mutating func measureHalf(_ options: Options) throws {
        if self.wire.form.isCompressed {
            self.inflateResults += try self.inflations(options, share: 0.5)
        }
        let longer = self.wire.form.isCompressed ? try self.longer() : self
        let read = try longer.reads(options, share: 0.5)
        let byteCount = read.first?.result.wire_count ?? 0
        self.readResults += read
        self.drainResults += try longer.several(options, share: 0.5) { try longer.drain(byteCount) }
    }

    /// What the halves came to.
    var readings: [Reading] {
        let count = self.transferExpected.messageCount
        return self.report(
            self.readResults, count, way: "read", "the machine: \(self.wire.isSecure ? "SSL_read" : "read")")
            + self.report(self.drainResults, count, way: "server's ceiling", "the server's ceiling").prefix(1)
            + self.report(self.inflateResults, self.expected.messageCount, way: "inflate", "the machine: inflate")
    }

    /// A response that takes some tens of milliseconds to read when it is compressed, and not one.
    private var transferExpected: ExpectedResponse {
        self.wire.form.isCompressed ? ExpectedResponse(messageCount: 16 * self.expected.messageCount) : self.expected
    }

    /// The loops over that response.
    private func longer() throws -> Self {
        let expected = self.transferExpected
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: self.wire.isSecure, compresses: true)
        return Self(server, self.wire, expected)
    }

    /// The processor time that a message takes in a loop around `read` or `inflate`.
    func processorTime(_ options: Options) throws -> Reading {
        let isCompressed = self.wire.form.isCompressed
        let results = try isCompressed ? self.inflations(options) : self.reads(options)
        let name = isCompressed ? "inflate alone" : "\(self.wire.isSecure ? "SSL_read" : "read") and frame headers"
        let count = Double(self.expected.messageCount)
        return Reading("the machine: \(name)", results.paced(.lower) { $0.seconds / count * 1e9 }, "ns/event")
    }

    /// Reads the response several times, and finds its frames or chunks.
    func reads(_ options: Options, share: Double = 1) throws -> [PacedResult] {
        try self.several(options, share: share) { try self.read() }
    }

    /// Inflates the response several times, from memory.
    func inflations(_ options: Options, share: Double = 1) throws -> [PacedResult] {
        try self.several(options, share: share) { try self.inflate() }
    }

    private func read() throws -> cbc_result {
        let pieces = self.wire.pieces(messageCount: self.expected.messageCount)
        let result = cbc_read(self.server.address(self.wire.form), UInt64(pieces.count))
        let isRight = self.wire.form.isCompressed || result.byte_count == pieces.byteCount
        guard result.is_complete, result.message_count == pieces.count, isRight else {
            throw WrongResultError("the bare loop did not find what the server has sent")
        }
        return result
    }

    private func inflate() throws -> cbc_result {
        let pieces = self.wire.pieces(messageCount: self.expected.messageCount)
        let result = cbc_inflate(self.server.address(self.wire.form), UInt64(self.expected.messageCount + 2))
        // The events at the edges of a WebSocket's response are not compressed.
        let byteCount = self.wire.form.isEventStream ? pieces.byteCount : self.expected.messageCount * 250
        guard result.is_complete, result.byte_count == byteCount else {
            throw WrongResultError("what was inflated is not what the server has sent")
        }
        return result
    }

    /// Takes the response's bytes and throws them away.
    private func drain(_ byteCount: UInt64) throws -> cbc_result {
        let result = cbc_drain(self.server.address(self.wire.form), byteCount, false)
        guard result.is_complete else { throw WrongResultError("the server sent \(result.wire_count) bytes") }
        return result
    }

    /// How long the shortest runs go on together, in seconds, and how many of them there are at most.
    private static let (duration, most) = (0.2, 60)

    /// Runs behind a first one that only warms up: three times as many as of others, or more, as they are short; or a
    /// share of them.
    private func several(
        _ options: Options, share: Double, _ run: () throws -> cbc_result
    ) throws -> [PacedResult] {
        _ = try run()
        let (count, most) = (Double(3 * options.repetitions) * share, Double(Self.most) * share)
        var results: [PacedResult] = []
        var sum = 0.0
        while PacedRuns.needsMore(after: results.map(\.pace), of: Int(count.rounded(.up)))
            || sum < Self.duration * share && Double(results.count) < most
        {
            let start = CorePace.now
            results.append(PacedResult(result: try run(), pace: CorePace.share(since: start)))
            sum += CorePace.now - start
        }
        return results
    }

    private func report(_ results: [PacedResult], _ messageCount: Int, way: String, _ label: String) -> [Reading] {
        guard !results.isEmpty else { return [] }
        let count = Double(messageCount)
        let byteCount = results.first.map { Int($0.result.wire_count) } ?? 0
        let work = ResultFigure.Work(eventCount: messageCount, byteCount: byteCount)
        func report(_ reading: Reading, _ measure: String, _ better: ResultFigure.Direction) -> Reading {
            reading.reported(
                EndToEndFigures.group, self.wire.name, subject: ResultFigure.machineSubject, way: way,
                measure: measure, better: better, work: work, amount: 1, decodes: false)
        }
        return [
            // The server's core has as much to do with it, and nobody looks at that one.
            report(Reading(label, results.map { count / $0.result.elapsed }, "events/s"), "throughput", .higher),
            report(
                Reading("  its processor time", results.paced(.lower) { $0.seconds / count * 1e9 }, "ns/event"),
                "processor-time", .lower),
        ]
    }
}

/// What a loop of C has found, and which share of its speed the core had meanwhile.
struct PacedResult {
    let result: cbc_result
    /// Nil when nobody has looked.
    let pace: Double?
}

extension [PacedResult] {
    /// A speed or a cost of each, with the pace of the core.
    func paced(_ better: ResultFigure.Direction, _ value: (cbc_result) -> Double) -> PacedRuns {
        PacedRuns(self.map { (value($0.result), $0.pace) }, better: better)
    }
}

extension StreamServer {
    /// What the loops of C are told of it.
    func address(_ form: Wire.Form) -> cbc_server {
        cbc_server(
            port: self.port, is_secure: self.certificatePath != nil, is_event_stream: form.isEventStream,
            compresses: form.isCompressed)
    }
}
