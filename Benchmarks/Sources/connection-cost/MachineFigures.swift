// What the machine can do at best, whoever asks it.
import BenchmarkResults
import CBareClient
import CMachine
import CStreamScript

/// Copies, scans, reads, decrypts and inflates, each in a loop of C with nothing else in it.
enum MachineFigures {
    /// What the results call this kind of question.
    static let group = "machine"

    private static let workloads = [
        "memory-copy", "line-scan", "loopback-read", "tls-read", "loopback-round-trip", "inflate",
    ]

    /// One figure, because each of its readings is short.
    static let all = [
        Figure(name: "machine", aliases: Self.workloads, summary: "what no program on this machine can pass") {
            options in
            try Self.memory(options) + Self.loopback(options) + Self.roundTrips(options) + Self.inflate(options)
        }
    ]

    // MARK: Memory

    private static let memoryByteCount = 64 << 20

    private static func memory(_ options: Options) throws -> [Reading] {
        let bytes = Self.eventStream()
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.memoryByteCount + Int(CMACHINE_PLACE_COUNT), alignment: 64)
        defer { room.deallocate() }
        let work = ResultFigure.Work(
            eventCount: bytes.eventCount, byteCount: bytes.bytes.count, checksum: "lines:\(bytes.lineCount)")
        return try bytes.bytes.withUnsafeBytes { bytes in
            let copy = UnsafeMutableRawBufferPointer(
                start: cmachine_place(room.baseAddress, bytes.baseAddress), count: Self.memoryByteCount)
            func copies(_ piece: Int) throws -> [Double] {
                try Self.speeds(bytes.count, options) {
                    copy.initializeMemory(as: UInt8.self, repeating: 0)
                    return { _ = cmachine_copy(copy.baseAddress, bytes.baseAddress, bytes.count, piece) }
                } check: {
                    let end = bytes.count - (bytes.count - 1) / piece * piece
                    return copy.prefix(end).elementsEqual(bytes.suffix(end))
                }
            }
            var lineCount = 0
            let scans = try Self.speeds(bytes.count, options) {
                { lineCount = cmachine_count_line_terminators(bytes.baseAddress, bytes.count) }
            } check: {
                "lines:\(lineCount)" == work.checksum
            }
            return [
                Self.report("memory copy, 64 MiB at once", try copies(bytes.count), "memory-copy", "at once", work),
                Self.report("memory copy, 16 KiB at a time", try copies(16 << 10), "memory-copy", "in pieces", work),
                Self.report("line scan (\(String(cString: cmachine_instruction_set())))", scans, "line-scan", "", work),
            ]
        }
    }

    /// Deltas as an event stream has them.
    private static func eventStream() -> (bytes: [UInt8], eventCount: Int, lineCount: Int) {
        var eventCount = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.memoryByteCount) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(CSS_MESSAGE_SIZE)) { message in
                while count + 2 * Int(CSS_MESSAGE_SIZE) <= buffer.count {
                    css_message(UInt64(eventCount), message.baseAddress)
                    count += css_stream_event(start + count, css_delta_type(), message.baseAddress, message.count)
                    eventCount += 1
                }
            }
        }
        return (bytes, eventCount, 3 * eventCount)
    }

    /// Bytes a second of a pass, by the clock on the wall; a first pass is checked and not timed.
    private static func speeds(
        _ byteCount: Int, _ options: Options, prepare: () -> () -> Void, check: () -> Bool
    ) throws -> [Double] {
        let pass = prepare()
        pass()
        guard check() else { throw WrongResultError("a pass over memory did not do what it is for") }
        return (0..<options.repetitions).map { _ in
            let start = ContinuousClock.now
            pass()
            return Double(byteCount) / ((ContinuousClock.now - start) / .seconds(1))
        }
    }

    // MARK: The loopback

    private static func loopback(_ options: Options) throws -> [Reading] {
        try [false, true].map { isSecure in
            let wire = Wire(form: .webSocket, isSecure: isSecure)
            let expected = ExpectedResponse(messageCount: EndToEndFigures.messageCount(wire))
            let server = try StreamServer(.flood(messageCount: expected.messageCount), isSecure: isSecure)
            let results = try MachineReadings(server, wire, expected).reads(options)
            let byteCount = results.first.map { Int($0.result.wire_count) } ?? 0
            let work = ResultFigure.Work(eventCount: expected.messageCount, byteCount: byteCount)
            let values = results.map { Double(byteCount) / $0.result.elapsed }
            return isSecure
                ? Self.report("SSL_read from the loopback", values, "tls-read", "", work)
                : Self.report("read from the loopback", values, "loopback-read", "", work)
        }
    }

    private static func roundTrips(_ options: Options) throws -> [Reading] {
        let (count, warmUpCount) = (2_000, 200)
        var medians: [Double] = []
        var all: [Double] = []
        for _ in 0..<options.repetitions {
            let durations = [UInt64](unsafeUninitializedCapacity: count + warmUpCount) { buffer, filled in
                filled = cbc_round_trips(Cores.pair?.server ?? -1, buffer.baseAddress, count + warmUpCount)
            }
            guard durations.count == count + warmUpCount else { throw WrongResultError("a message did not return") }
            let sorted = durations.dropFirst(warmUpCount).map { Double($0) / 1e3 }.sorted()
            medians.append(sorted[count / 2])
            all += sorted
        }
        all.sort()
        let distribution = [0.5, 0.9, 0.99, 0.999].map { [$0, all[Int(Double(all.count) * $0)]] }
        let work = ResultFigure.Work(eventCount: count, byteCount: 2 * count * Int(CSS_MESSAGE_SIZE))
        let reading = Reading("to another core and back, p50", medians, "µs")
        return [
            reading.reported(
                Self.group, "loopback-round-trip", subject: ResultFigure.machineSubject, measure: "time", work: work,
                distribution: distribution)
        ]
    }

    private static func inflate(_ options: Options) throws -> [Reading] {
        let wire = Wire(form: .webSocketDeflate)
        let expected = ExpectedResponse(messageCount: EndToEndFigures.messageCount(wire))
        let server = try StreamServer(.flood(messageCount: expected.messageCount), compresses: true)
        let results = try MachineReadings(server, wire, expected).inflations(options)
        let byteCount = expected.messageCount * Int(CSS_MESSAGE_SIZE)
        let work = ResultFigure.Work(eventCount: expected.messageCount, byteCount: byteCount)
        let values = results.map { Double(byteCount) / $0.result.elapsed }
        return [Self.report("inflate, what comes out", values, "inflate", "", work)]
    }

    private static func report(
        _ label: String, _ values: [Double], _ workload: String, _ way: String, _ work: ResultFigure.Work
    ) -> Reading {
        Reading(label, values, "bytes/s").reported(
            Self.group, workload, subject: ResultFigure.machineSubject, way: way, measure: "throughput",
            better: .higher, work: work)
    }
}
