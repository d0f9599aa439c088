// One stream, and its consumer.
import ChappieTestServer
import ChappieTransport

/// Reads one response as its plan says, and checks every byte.
struct SoakStream: Sendable {
    let plan: StreamPlan
    let site: SoakSite
    let record: SoakRecord

    /// Runs the stream to its end; what is wrong goes into the record.
    func run() async {
        let number = self.record.begin(self.plan)
        do {
            if self.plan.kind == .faulty {
                try await self.readThroughProxy(number)
            } else {
                try await self.read(from: try self.site.instance(for: self.plan.lane), number)
            }
        } catch {
            self.record.violation("\(self.plan): \(error)")
        }
        self.record.end(number)
    }

    // MARK: Faults

    private func readThroughProxy(_ number: Int) async throws {
        let proxy = try FaultProxy(
            upstream: .init(host: "127.0.0.1", port: self.site.port(of: self.plan.lane)),
            plan: .drawn(
                seed: self.plan.seed &+ 1, byteCount: self.plan.byteCount, hasPings: self.plan.lane.isWebSocket))
        defer { proxy.stop() }
        self.record.count { $0.faultyStreams += 1 }
        try await self.read(from: try self.site.makeInstance(for: self.plan.lane, port: proxy.port), number)
    }

    // MARK: Reading

    private func read(from instance: ChappieStreamingTransport, _ number: Int) async throws {
        let response = self.plan.response
        let prompt = self.site.serve(response, number: number)
        defer { self.site.withdraw(number) }
        let handle = instance.streamHandle(ChappieTransportRequest(prompt: prompt, model: "m"))
        self.record.opened(number) {
            let attempts = handle.report.attempts.map { attempt in
                "\(attempt.transport), \(attempt.receivedByteCount) bytes, \(attempt.outcome ?? "running")"
            }
            return "attempts: \(attempts)"
        }
        var reading = Reading(self, number: number, handle: handle, text: response.text)
        do {
            if self.plan.isBatched {
                for try await batch in handle.batches() {
                    for event in batch { try await reading.take(event) }
                    if reading.isGivenUp { break }
                }
            } else {
                for try await event in handle.events {
                    try await reading.take(event)
                    if reading.isGivenUp { break }
                }
            }
        } catch is CancellationError where reading.hasCancelled {
            // As it was asked to.
        }
        self.judge(reading, handle.report)
    }

    private func judge(_ reading: Reading, _ report: ChappieStreamReport) {
        let failed = report.attempts.filter { $0.outcome != "completed" && $0.outcome != "cancelled" }
        self.record.count { counts in
            counts.byteCount += reading.position
            counts.failedAttempts += failed.count
            if reading.hasEnded { counts.completed += 1 } else { counts.cancelled += 1 }
        }
        guard reading.hasEnded else {
            if !reading.hasCancelled { self.record.violation("\(self.plan): ended after \(reading.position) bytes") }
            return
        }
        // Only the proxies break connections; a slow consumer does not.
        if self.plan.kind != .faulty, report.attempts.count != 1 {
            self.record.violation("\(self.plan): attempts \(report.attempts.map { $0.outcome ?? "none" })")
        }
    }
}

/// The text that a consumer has read, and the places at which it stops for a while.
struct Reading {
    /// The text is not continued like this.
    struct WrongText: Error, CustomStringConvertible {
        let description: String
    }

    private let stream: SoakStream
    private let number: Int
    private let handle: ChappieStreamHandle
    private let text: [UInt8]
    private var random: SoakRandom
    /// The places in the text at which the consumer pauses or gives up.
    private var stops: [Int] = []

    /// The length of the received text.
    private(set) var position = 0
    private(set) var hasEnded = false
    /// Indicates whether the stream was cancelled, in one of the ways.
    private(set) var hasCancelled = false
    /// Indicates whether the consumer wants to stop iterating.
    private(set) var isGivenUp = false

    init(_ stream: SoakStream, number: Int, handle: ChappieStreamHandle, text: [UInt8]) {
        self.stream = stream
        self.number = number
        self.handle = handle
        self.text = text
        self.random = SoakRandom(seed: stream.plan.seed &+ 2)
        switch stream.plan.kind {
        case .steady, .faulty: break
        case .cancelled: self.stops = [self.random.number(in: 0...self.text.count / 2)]
        case .pausing:
            let count = self.random.number(in: 1...4)
            self.stops = (0..<count).map { _ in self.random.number(in: 0...self.text.count) }.sorted()
        }
    }

    /// Takes an event, and the time that the plan has for it.
    mutating func take(_ event: ChappieStreamEvent) async throws {
        guard !self.hasCancelled else { return }
        self.stream.record.progress(self.number, waits: true)
        switch event {
        case .textDelta(let delta): try self.takeText(delta)
        case .completed:
            self.hasEnded = true
            guard self.position == self.text.count else {
                throw WrongText(description: "\(self.position) of \(self.text.count) bytes came")
            }
        case .raw, .usageLimits, .diagnostic: break
        case .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested, .toolCallCompleted, .restarted:
            throw WrongText(description: "the server has sent no \(event)")
        }
        while let stop = self.stops.first, self.position >= stop {
            self.stops.removeFirst()
            try await self.pause()
        }
    }

    private mutating func takeText(_ delta: String) throws {
        guard !self.hasEnded, self.text[self.position...].starts(with: delta.utf8) else {
            throw WrongText(description: "a wrong delta after \(self.position) bytes")
        }
        self.position += delta.utf8.count
    }

    private mutating func pause() async throws {
        if self.stream.plan.kind == .cancelled { return self.cancel() }
        try await self.stream.record.pause(self.number, &self.random)
    }

    private mutating func cancel() {
        self.hasCancelled = true
        if self.random.chance(50) {
            self.handle.cancel()
        } else {
            self.isGivenUp = true
        }
    }
}
