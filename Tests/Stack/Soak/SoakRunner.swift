// Runs the streams of a soak, and watches the process meanwhile.
import Foundation

/// The streams of a soak, and the servers that they are to.
protocol SoakStreams: Sendable {
    /// Starts the servers.
    init() throws

    /// The names of what has to occur in a run beside the counts that every run has.
    static var others: [String] { get }

    /// Runs the stream that a seed stands for to its end; what is wrong goes into the record.
    func run(seed: UInt64, _ record: SoakRecord) async

    /// Runs streams of every sort, so that what is made once is made.
    func warmUp(seed: UInt64, _ record: SoakRecord) async

    /// The violations that the servers have seen.
    var violations: [String] { get }
}

/// One soak.
struct SoakRunner: Sendable {
    private let options: SoakOptions
    private let streams: any SoakStreams
    private let record: SoakRecord
    private let end: ContinuousClock.Instant

    init(_ options: SoakOptions, streams: any SoakStreams, record: SoakRecord) {
        self.options = options
        self.streams = streams
        self.record = record
        self.end = .now + .seconds(options.seconds)
    }

    /// Runs streams until the time is over; what was wrong with the process as a whole.
    func run() async throws -> [String] {
        let watch = Task { try await self.watch() }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<self.options.streams { group.addTask { await self.work(worker) } }
        }
        watch.cancel()
        return (try? await watch.value) ?? []
    }

    private func work(_ worker: Int) async {
        var random = SoakRandom(seed: self.options.seed &* 1_000_003 &+ UInt64(worker))
        while ContinuousClock.now < self.end {
            await self.streams.run(seed: random.next(), self.record)
        }
    }

    /// Looks at the process every second; a stream that is stuck would never let it end.
    private func watch() async throws -> [String] {
        var memory = MemoryWatch(seconds: self.options.seconds)
        let start = ContinuousClock.now
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            let stuck = self.record.stuck(at: .now)
            guard stuck.isEmpty else {
                for text in stuck { Console.line("VIOLATION: \(text)") }
                // The streams go on, and what a process tidies up at its end they still use.
                _exit(1)
            }
            let elapsed = (ContinuousClock.now - start).components.seconds
            memory.note(try ProcessUse.residentByteCount(), at: Int(elapsed))
            if elapsed % 60 == 0 {
                Console.line("\(elapsed) s: \(self.record.counts); \(self.record.violations.count) violations")
            }
        }
        guard let slack = self.options.memorySlack else { return [] }
        Console.line("memory: \(memory)")
        return memory.violation(slack: slack << 20).map { [$0] } ?? []
    }
}

/// The memory after a quarter of the time, and at the end.
struct MemoryWatch: CustomStringConvertible {
    private let seconds: Int
    private var early = 0
    private var late = 0

    init(seconds: Int) { self.seconds = seconds }

    /// The greatest of the second quarter's first half, and of the last eighth.
    mutating func note(_ byteCount: Int, at second: Int) {
        if second * 8 >= self.seconds * 2, second * 8 <= self.seconds * 3 { self.early = max(self.early, byteCount) }
        if second * 8 >= self.seconds * 7 { self.late = max(self.late, byteCount) }
    }

    func violation(slack: Int) -> String? {
        self.late > self.early + slack ? "the memory grows: \(self)" : nil
    }

    var description: String { "\(self.early >> 20) MiB after a quarter of the time, \(self.late >> 20) MiB at the end" }
}
