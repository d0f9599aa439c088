// Runs one workload over one path: for the clock, for the allocation counter, or for somebody else's instruments.
import BenchmarkResults
import CAllocationCounter
import ChappieTransport
import Foundation
import ResponseEvents
import StreamTransport

/// The ways from bytes to events.
enum Path: String, CaseIterable {
    /// The decoder alone: one event's JSON to its facts and its text.
    case decode
    /// The messages of a WebSocket, through the engine, to whoever calls `TurnDriver.next()`.
    case webSocket = "websocket"
    /// The same with a budget for the whole turn, with which each message is read in a step of its own.
    case steps
    /// The body of a response, through the event-stream parser and the engine, to whoever calls `TurnDriver.next()`.
    case eventStream = "event-stream"
    /// The consumer's loop alone, around an asynchronous function that has its events ready: what of the others is not
    /// the engine's.
    case loop
    /// As `websocket`, cut at the end: all messages come again, and are compared with what was delivered.
    case replay
    /// As `websocket`, with the standard library's `AsyncThrowingStream` around it.
    case asyncStream = "async-stream"
}

/// One path with one workload.
struct Measurement {
    /// What came out at the end.
    struct Tally: Equatable {
        var eventCount = 0
        var deltaByteCount = 0

        @inline(__always)
        mutating func take(_ event: consuming ChappieStreamEvent) {
            guard case .textDelta(let text) = event else { return }
            self.eventCount += 1
            self.deltaByteCount += text.utf8.count
        }
    }

    let path: Path
    let workload: Workload

    /// Sends the workload through so many times, and prints what a pass consists of, as one line of JSON.
    func runBare(passCount: Int) async throws {
        try await self.run(passCount: passCount)
        print(
            #"{"path":"\#(self.path.rawValue)","workload":"\#(self.workload.name)","passes":\#(passCount),"#
                + #""eventsPerPass":\#(self.workload.eventCount)}"#)
    }

    /// What an event costs, after a pass that warms everything up.
    ///
    /// Of `replay` what a comparison costs alone: the same without a cut is measured in turn, and taken off. Twice
    /// as many repetitions are made at most while others have a share of the core.
    func measure(repetitions: Int) async throws -> EventCostFigure {
        let passCount = max(1, 100_000 / self.workload.eventCount)
        try await self.run(passCount: 1)
        let delivery = self.path == .replay ? Self(path: .webSocket, workload: self.workload) : nil
        var times = PacedRuns(better: .lower)
        while times.needAnother(of: repetitions) {
            let start = CorePace.now
            let time = try await self.time(passCount: passCount)
            let rest = try await delivery?.time(passCount: passCount) ?? 0
            times.add(time - rest, pace: CorePace.share(since: start))
        }
        let allocations = try await self.allocationsPerEvent() - (delivery?.allocationsPerEvent() ?? 0)
        return EventCostFigure(
            path: self.path, workload: self.workload, passCount: passCount, times: times, allocations: allocations)
    }

    /// Nanoseconds an event.
    private func time(passCount: Int) async throws -> Double {
        let start = Self.processorTime()
        try await self.run(passCount: passCount)
        return (Self.processorTime() - start) / Double(passCount * self.workload.eventCount)
    }

    /// What the thread has taken of a processor, in nanoseconds: others on the machine take their share of a clock.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// The difference between a long run and a short one: what both do once is no part of it.
    private func allocationsPerEvent() async throws -> Double {
        let (short, long) = (1, 5)
        _ = try await self.allocationCount(passCount: short)
        let difference = try await self.allocationCount(passCount: long) - self.allocationCount(passCount: short)
        return Double(difference) / Double((long - short) * self.workload.eventCount)
    }

    private func allocationCount(passCount: Int) async throws -> Int {
        let before = cac_allocation_count()
        try await self.run(passCount: passCount)
        return Int(cac_allocation_count() - before)
    }

    /// Runs the workload so many times over in one response, and checks what came out.
    private func run(passCount: Int) async throws {
        let expected = Tally(
            eventCount: passCount * self.workload.eventCount,
            deltaByteCount: passCount * self.workload.deltaByteCount)
        let tally =
            switch self.path {
            case .decode: try self.decode(passCount: passCount)
            case .loop: try await self.readPrepared(passCount: passCount)
            case .webSocket, .steps, .eventStream, .replay, .asyncStream: try await self.stream(passCount: passCount)
            }
        guard tally == expected else {
            throw WrongTallyError(path: self.path, workload: self.workload.name, expected: expected, got: tally)
        }
    }

    private func decode(passCount: Int) throws -> Tally {
        var decoder = ResponseEventDecoder()
        var tally = Tally()
        for _ in 0..<passCount {
            for message in self.workload.messages.pieces {
                guard case .delta(.text, _, _, let text) = try decoder.decode(message).kind else { continue }
                tally.eventCount += 1
                tally.deltaByteCount += text.byteCount
            }
        }
        return tally
    }

    private func readPrepared(passCount: Int) async throws -> Tally {
        let source = PreparedEvents(self.workload.deltas, passCount: passCount)
        var tally = Tally()
        while let event = try await source.next() { tally.take(event) }
        return tally
    }

    private func stream(passCount: Int) async throws -> Tally {
        let completion = #"{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#
        let isWebSocket = self.path != .eventStream
        let script = ArenaConnection.Script(
            head: ResponseHead(
                statusCode: isWebSocket ? 101 : 200,
                fields: isWebSocket ? [] : [HTTPField("content-type", "text/event-stream")]),
            kind: isWebSocket ? .text : .body,
            pieces: isWebSocket ? self.workload.messages : self.workload.stream, passCount: passCount,
            completion: Lendable([[UInt8]((isWebSocket ? completion : "data: \(completion)\n\n").utf8)]))
        guard let url = URL(string: "http://127.0.0.1/v1") else { throw UsageError() }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configuration.policy = ChappieStreamingTransportPolicy(prefersWebSocket: isWebSocket)
        if self.path == .steps { configuration.timeouts.total = .seconds(3_600) }
        configuration.reconnectDelay = .zero
        let transport = ArenaTransport(script: script, cutCount: self.path == .replay ? 1 : 0)
        let instance = ChappieStreamingTransport(
            configuration: configuration, transport: transport, clock: .measured)
        let request = ChappieTransportRequest(prompt: "hi", model: "m")
        var tally = Tally()
        if self.path == .asyncStream {
            for try await event in instance.stream(request) { tally.take(event) }
        } else {
            let turn = instance.turn(request)
            while let event = try await turn.next() { tally.take(event) }
        }
        return tally
    }
}

/// Hands out events that were made before.
///
/// It belongs to its one consumer.
private final class PreparedEvents {
    private let events: [ChappieStreamEvent]
    private var next = 0
    private var passesLeft: Int

    init(_ deltas: [String], passCount: Int) {
        self.events = deltas.map { .textDelta($0) }
        self.passesLeft = passCount
    }

    @inline(never)
    nonisolated(nonsending) func next() async throws -> ChappieStreamEvent? {
        if self.next == self.events.count {
            self.next = 0
            self.passesLeft -= 1
        }
        guard self.passesLeft > 0 else { return nil }
        defer { self.next += 1 }
        return self.events[self.next]
    }
}

extension TurnClock {
    /// As the engine's own, but for its waits, which are none: the one thread has nothing else to do meanwhile.
    fileprivate static let measured: TurnClock = {
        let start = ContinuousClock.now
        return TurnClock(
            now: { ContinuousClock.now - start }, sleep: { _ in }, fraction: { 0.5 })
    }()
}

/// What came out is not what went in.
struct WrongTallyError: Error, CustomStringConvertible {
    let path: Path
    let workload: String
    let expected: Measurement.Tally
    let got: Measurement.Tally

    var description: String {
        "\(self.path.rawValue) \(self.workload): expected \(self.expected), got \(self.got)"
    }
}
