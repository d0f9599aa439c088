// What many streams cost in memory while they wait.
import BenchmarkResults
import Foundation

/// Resident memory of streams that have begun, and wait in tasks of their own.
///
/// Memory that was freed once is used again without becoming resident again. So no stream is closed in a process that is
/// measured: every run is a process of its own, and a value is what streams have added to those that are there already.
enum MemoryFigures {
    static let all = [
        Self.idle("plain", "resident memory of a stream that waits in a task", isSecure: false, bar: 24),
        Self.idle("tls", "the same with TLS", isSecure: true, bar: 64),
    ]

    /// From the first stream to this one, streams are added one at a time.
    private static let singleCount = 6
    private static let largestCount = 10_000

    private static func idle(_ kind: String, _ summary: String, isSecure: Bool, bar: Double) -> Figure {
        Figure(
            name: "idle-\(kind)", aliases: [1, 100, 1_000, Self.largestCount].map { "\(kind)-\($0)" }, summary: summary
        ) { options in
            try Descriptors.require(Self.largestCount)
            let sizes = Size.all(kind, bar: bar)
            if options.isPart {
                let values = try await Self.smallCrowds(isSecure: isSecure)
                return zip(sizes, values).map { size, value in size.reading([value]) }
            }
            let parts = try (0..<max(5, options.repetitions)).map { _ in try Self.part("idle-\(kind)") }
            let small = sizes.enumerated().map { index, size in size.reading(parts.map { $0[index] }) }
            let largest = Size(count: Self.largestCount, label: "10,000 streams, each", kind: kind, bar: bar)
            return small + [largest.reading(try await Self.largestCrowd(isSecure: isSecure))]
        }
    }

    /// A number of streams whose memory is measured.
    private struct Size {
        let count: Int
        var way = ""
        let label: String
        let kind: String
        var bar: Double?

        /// What a run measures, in order.
        static func all(_ kind: String, bar: Double) -> [Self] {
            [
                Self(count: 1, way: "with what is made once", label: "the first, with what is made once", kind: kind),
                Self(count: 1, label: "one stream more", kind: kind),
                Self(count: 100, label: "100 streams, each", kind: kind),
                Self(count: 1_000, label: "1,000 streams, each", kind: kind, bar: bar),
            ]
        }

        func reading(_ runs: [Double]) -> Reading {
            Reading(self.label, runs, "KiB", bar: self.bar).reported(
                "memory", "\(self.kind)-\(self.count)", way: self.way, measure: "memory", unit: "KiB/stream",
                amount: Double(self.count))
        }
    }

    // MARK: A process

    /// Another process of this program; what it has measured.
    private static func part(_ name: String) throws -> [Double] {
        let results = FileManager.default.temporaryDirectory.appending(path: "connection-cost-part-\(getpid()).jsonl")
        defer { try? FileManager.default.removeItem(at: results) }
        // Its status is about bars, which are held against all runs.
        _ = try ChildProcess.succeeds(
            Programs.own, ["--figure", name, "--part", "--results", results.path], isSilent: true)
        let lines = try Data(contentsOf: results).split(separator: UInt8(ascii: "\n"))
        let values = try lines.compactMap { try JSONDecoder().decode(ResultFigure.self, from: $0).runs.first }
        guard values.count == Size.all(name, bar: 0).count else { throw WrongResultError("a process has failed") }
        return values
    }

    /// KiB of each size, in one process.
    private static func smallCrowds(isSecure: Bool) async throws -> [Double] {
        let server = try StreamServer(.idle, isSecure: isSecure)
        let nothing = try await self.settledMemory()
        let crowd = try Crowd(server)
        defer { crowd.cancel() }
        try await crowd.grow(to: 1)
        let one = try await self.settledMemory()
        // Pages are what becomes resident, and a stream is only a few of them.
        try await crowd.grow(to: self.singleCount)
        let several = try await self.settledMemory()
        try await crowd.grow(to: self.singleCount + 100)
        let hundred = try await self.settledMemory()
        let before = crowd.count
        try await crowd.grow(to: 1_000)
        let thousand = try await self.settledMemory()
        return [
            self.perStream(one - nothing, 1), self.perStream(several - one, self.singleCount - 1),
            self.perStream(hundred - several, 100), self.perStream(thousand - hundred, crowd.count - before),
        ]
    }

    /// KiB a stream on five equal ways from a hundred to the last.
    private static func largestCrowd(isSecure: Bool) async throws -> [Double] {
        let crowd = try Crowd(StreamServer(.idle, isSecure: isSecure))
        defer { crowd.cancel() }
        try await crowd.grow(to: 100)
        var before = try await self.settledMemory()
        var values: [Double] = []
        let step = (self.largestCount - 100) / 5
        for _ in 0..<5 {
            try await crowd.grow(to: crowd.count + step)
            let after = try await self.settledMemory()
            values.append(self.perStream(after - before, step))
            before = after
        }
        return values
    }

    private static func perStream(_ byteCount: Int, _ streamCount: Int) -> Double {
        Double(byteCount) / Double(streamCount) / 1_024
    }

    private static func settledMemory() async throws -> Int {
        try await Task.sleep(for: .milliseconds(100))
        return try ProcessUse.residentByteCount()
    }
}
