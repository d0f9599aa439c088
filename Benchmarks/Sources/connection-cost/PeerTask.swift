// `connection-cost --peer`: a task of Benchmarks/Peers, which other programs are given too.
import BenchmarkResults
import CBareClient
import CStreamScript
import ChappieTransport
import Foundation
import Synchronization

/// Responses of a server that another program has started, and their counts, as a line of JSON.
///
/// The task has the form of Benchmarks/Peers/stream_peers.py. With `first` and `last` it is about paced messages: from
/// the delta of all streams with the number `first` to that with the number `last`, processor time, context switches
/// and lags are measured.
struct PeerTask: Decodable {
    /// The interface that reads.
    enum Way {
        /// One of the engine, for tasks of `typical.py`.
        case engine(Consumer.Kind)
        /// One of `WebSocketClient`, for tasks of `end_to_end.py`.
        case client(PeerMessages.Kind)

        /// Makes an interface of its name on the command line; nil when there is none of that name.
        init?(name: String) {
            if let kind = PeerMessages.Kind(rawValue: name) {
                self = .client(kind)
            } else if let kind = Consumer.Kind(name: name) {
                self = .engine(kind)
            } else {
                return nil
            }
        }
    }

    /// A size of response, the URL of its server, and the file of the server's certificate.
    struct Size: Decodable {
        let deltaCount: Int
        let port: UInt16
        let isEventStream: Bool
        let certificate: String?

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            self.deltaCount = try values.decode(Int.self)
            let text = try values.decode(String.self)
            guard let url = URLComponents(string: text), let port = url.port.flatMap({ UInt16(exactly: $0) }) else {
                throw UsageError("--peer: '\(text)' is no URL with a port")
            }
            self.port = port
            self.isEventStream = url.scheme?.hasPrefix("http") == true
            self.certificate = try values.decode(String?.self)
        }
    }

    let sizes: [Size]
    let streamCount: Int
    /// The time of a run in which a client chooses its response, in seconds.
    let seconds: Double
    /// The timed runs of a flood, and the responses of each when there is one stream; nil is one.
    let runCount: Int
    let responseCount: Int?
    /// Numbers of deltas, from 1; nil in a flood.
    let first: Int?
    let last: Int?

    /// Does the task by one of the interfaces, and prints the answer.
    static func run(_ text: String, by way: Way) async throws {
        Descriptors.raiseLimit()
        Cores.takeClientCore()
        let task = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        var answer =
            switch way {
            case .engine(let kind): try await task.answer(by: kind)
            case .client(let kind): try await PeerMessages(kind: kind).answer(task)
            }
        answer.memoryBytes = try ProcessUse.peakByteCount()
        Line.print(String(decoding: try JSONEncoder().encode(answer), as: UTF8.self))
    }

    private func answer(by kind: Consumer.Kind) async throws -> PeerAnswer {
        guard let size = self.sizes.first else { throw UsageError("--peer: no size") }
        let server = StreamServer(port: size.port, certificatePath: size.certificate)
        let form = size.isEventStream ? Wire.Form.eventStream : .webSocket
        let consumer = Consumer(kind: kind, server: server, form: form, isPatient: true)
        guard let first = self.first, let last = self.last else {
            return try await self.flood(consumer, ExpectedResponse(messageCount: size.deltaCount))
        }
        let meter = PacedMeter(first: first, last: last)
        let tallies = try await consumer.read(self.streamCount, paced: meter)
        return try PeerAnswer(tallies, meter, expecting: size.deltaCount)
    }

    /// Reads once with a check of every byte, and then for time.
    private func flood(_ consumer: Consumer, _ expected: ExpectedResponse) async throws -> PeerAnswer {
        let responseCount = self.responseCount ?? 1
        try await consumer.read(self.streamCount, expected, isThorough: true)
        var answer = PeerAnswer()
        answer.deltaCount = expected.messageCount * (self.streamCount == 1 ? responseCount : 1)
        answer.runs = []
        for _ in 0..<self.runCount {
            let times = try await RunTimes {
                try await consumer.read(
                    self.streamCount, expected, responseCount: responseCount, isThorough: false)
            }
            answer.runs?.append(.init(seconds: times.wall, processorSeconds: times.processor))
        }
        return answer
    }
}

/// The answer to a task: the runs of a flood, or what was measured of paced messages.
struct PeerAnswer: Encodable {
    struct Run: Encodable {
        let seconds: Double
        let processorSeconds: Double
    }

    /// Empty: the version is that of the checkout.
    let version = ""
    var memoryBytes = 0
    var deltaCount: Int?
    var runs: [Run]?
    private(set) var eventCount: Int?
    /// The sum of the moments of all messages, modulo 2^64, as text: JSON's numbers are shorter.
    private(set) var momentSum: String?
    private(set) var seconds: Double?
    private(set) var processorSeconds: Double?
    private(set) var switchCount: Int?
    /// The median and the 99th percentile, in nanoseconds.
    private(set) var lags: [UInt32]?

    init() {}

    /// Makes the answer about paced messages; throws when a stream has not had `deltaCount` of them.
    init(_ tallies: [PacedTally], _ meter: PacedMeter, expecting deltaCount: Int) throws {
        for tally in tallies {
            guard tally.isComplete, tally.deltaCount == deltaCount else {
                throw WrongResultError("\(tally.deltaCount) messages came on a stream")
            }
        }
        guard let (start, end) = meter.readings else { throw WrongResultError("too few messages came") }
        let lags = tallies.flatMap(\.lags).sorted()
        self.eventCount = tallies.reduce(0) { $0 + $1.deltaCount }
        self.momentSum = String(tallies.reduce(UInt64(0)) { $0 &+ $1.momentSum })
        self.seconds = Double(end.moment - start.moment) / 1e9
        self.processorSeconds = end.processorTime - start.processorTime
        self.switchCount = end.switchCount - start.switchCount
        self.lags = [0.5, 0.99].map { lags[Int(Double(lags.count - 1) * $0)] }
    }
}

/// The deltas of all streams, counted by their tasks, and what the process had used at the first and the last of them.
final class PacedMeter: Sendable {
    /// The use of the process until a moment.
    struct Reading {
        let moment = cbc_moment()
        let processorTime = ProcessUse.processorTime
        let switchCount = ProcessUse.switchCount
    }

    private let first: Int
    private let last: Int
    private let count = Atomic<Int>(0)
    private let taken = Mutex<(start: Reading?, end: Reading?)>((nil, nil))

    init(first: Int, last: Int) { (self.first, self.last) = (first, last) }

    /// Counts a delta; returns whether its lag is measured.
    @inline(__always)
    func take() -> Bool {
        let number = self.count.add(1, ordering: .relaxed).newValue
        if number == self.first { self.taken.withLock { $0.start = Reading() } }
        if number == self.last { self.taken.withLock { $0.end = Reading() } }
        return number > self.first && number <= self.last
    }

    /// Both readings; nil before the last delta.
    var readings: (Reading, Reading)? {
        self.taken.withLock { taken in
            guard let start = taken.start, let end = taken.end else { return nil }
            return (start, end)
        }
    }
}

/// The paced messages of one stream at its consumer.
struct PacedTally: Sendable {
    private(set) var deltaCount = 0
    private(set) var momentSum: UInt64 = 0
    private(set) var lags: [UInt32] = []
    private(set) var isComplete = false

    @inline(__always)
    mutating func take(_ event: ChappieStreamEvent, _ meter: PacedMeter) {
        switch event {
        case .textDelta(var text):
            let sent = text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) { css_moment($0.baseAddress, $0.count) }
            }
            self.deltaCount += 1
            self.momentSum &+= sent
            if meter.take() { self.lags.append(UInt32(clamping: cbc_moment() &- sent)) }
        case .completed: self.isComplete = true
        case .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested, .toolCallCompleted, .usageLimits,
            .raw, .restarted, .diagnostic:
            break
        }
    }
}

extension Consumer {
    /// The streams that are opened at once, and the time until the next ones: the server accepts them meanwhile.
    private static let openedAtOnce = 100
    private static let openingPause = Duration.milliseconds(20)

    /// Reads a paced response on each of `count` streams of one transport, each in a task of its own.
    fileprivate func read(_ count: Int, paced meter: PacedMeter) async throws -> [PacedTally] {
        let (instance, kind) = (try self.instance(), self.kind)
        return try await withThrowingTaskGroup(of: PacedTally.self) { group in
            for index in 0..<count {
                if index > 0, index.isMultiple(of: Self.openedAtOnce) { try await Task.sleep(for: Self.openingPause) }
                group.addTask {
                    try await Self.on(kind == .sequenceOnExecutor ? instance.executor : nil) {
                        try await Self.tally(of: instance, by: kind, paced: meter)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func tally(
        of instance: ChappieStreamingTransport, by kind: Kind, paced meter: PacedMeter
    ) async throws -> PacedTally {
        var tally = PacedTally()
        switch kind {
        case .batches:
            for try await batch in instance.batches(Self.request) {
                for event in batch { tally.take(event, meter) }
            }
        case .sequence, .sequenceOnMainActor, .sequenceOnExecutor:
            for try await event in instance.events(Self.request) { tally.take(event, meter) }
        case .scope:
            try await instance.withEvents(of: Self.request) { tally.take($0, meter) }
        case .events, .eventsOnMainActor:
            for try await event in instance.stream(Self.request) { tally.take(event, meter) }
        }
        return tally
    }
}
