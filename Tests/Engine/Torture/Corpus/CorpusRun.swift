// Plays every recorded stream of the corpus, and prints a table of what differs from its index.
//
// Owned by the main task; the workers share the queue of plays and the table, behind locks.
import ChappieTransport
import Foundation
import ResponseEvents
import StreamTransport

/// All plays of the corpus.
struct CorpusRun {
    /// The variable that names the folder.
    static let variable = "CHAPPIE_CORPUS"

    private let options: TortureOptions
    private let folder = SharedFolder.url(Self.variable, orBesideTheCheckout: "corpus")

    /// Prepares to play what the options name.
    init(_ options: TortureOptions) { self.options = options }

    /// Plays everything; returns the exit code.
    func run() async throws -> Int32 {
        guard FileManager.default.fileExists(atPath: self.folder.appendingPathComponent("index.jsonl").path) else {
            Console.shared.line("corpus: \(self.folder.path) has no index.jsonl, so no recorded stream was played")
            // A folder that was named has to be there; the one beside the checkout need not.
            return SharedFolder.path(in: Self.variable) == nil ? 0 : 2
        }
        let streams = try CorpusStream.all(in: self.folder).filter { stream in
            self.options.sessions?.contains { stream.name.contains($0) } ?? true
        }
        guard !streams.isEmpty else {
            throw TortureOptions.Problem(description: "corpus: \(self.folder.path) has no such stream")
        }
        let start = ContinuousClock.now
        let plays = streams.flatMap { self.plays(of: $0) }
        let queue = LockedValue(plays[...])
        let table = LockedValue(DifferenceTable())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<self.options.jobs {
                group.addTask {
                    while let play = queue.withLock({ $0.popFirst() }) {
                        let differences = try await play.differences()
                        table.withLock { $0.add(differences, of: play) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let result = table.withLock { $0 }
        if result.playCount > 0 { Console.shared.line(result.text(streams)) }
        let seconds = String(format: "%.1f", (ContinuousClock.now - start).seconds)
        Console.shared.line(
            "corpus: \(streams.count) streams, \(plays.count) plays in \(seconds) s, \(result.playCount) differ")
        return result.playCount == 0 ? 0 : 1
    }

    /// Every wire whole; the cuts without compression, which says the same events.
    private func plays(of stream: CorpusStream) -> [CorpusPlay] {
        let wires = self.options.wires.filter { $0.dialect == .responses }
        return wires.filter { stream.dialect == .responses || !$0.isWebSocket }.flatMap { wire in
            [CorpusPlay(stream: stream, wire: wire)]
                + (wire.isCompressed ? [] : stream.cuts.map { CorpusPlay(stream: stream, wire: wire, cut: $0) })
        }
    }
}

/// The plays that differ from the index, by what differs.
struct DifferenceTable {
    private struct Row: Hashable {
        var stream: String
        var difference: CorpusPlay.Difference
    }

    private var plays: [Row: [CorpusPlay]] = [:]
    /// The number of plays that differ.
    private(set) var playCount = 0

    /// Adds a play.
    mutating func add(_ differences: [CorpusPlay.Difference], of play: CorpusPlay) {
        if !differences.isEmpty { self.playCount += 1 }
        for difference in differences {
            self.plays[Row(stream: play.stream.name, difference: difference), default: []].append(play)
        }
    }

    /// Returns a paragraph for each stream that differs.
    func text(_ streams: [CorpusStream]) -> String {
        var lines: [String] = []
        for stream in streams {
            let rows = self.plays.filter { $0.key.stream == stream.name }
            guard !rows.isEmpty else { continue }
            lines.append(stream.name)
            for (row, plays) in rows.sorted(by: { $0.value.count > $1.value.count }) {
                let difference = row.difference
                lines.append("  \(difference.fact) in \(plays.count) plays: \(Self.places(plays))")
                lines.append("    expected:  \(Self.excerpt(difference.expected, beside: difference.delivered))")
                lines.append("    delivered: \(Self.excerpt(difference.delivered, beside: difference.expected))")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func places(_ plays: [CorpusPlay]) -> String {
        let wires = Dictionary(grouping: plays, by: \.wire).sorted { $0.key.rawValue < $1.key.rawValue }
        return wires.map { wire, plays in
            let cuts = plays.compactMap(\.cut).sorted().map(String.init)
            let whole = plays.contains { $0.cut == nil } ? ["whole"] : []
            let cut = cuts.isEmpty ? [] : ["cut after " + cuts.joined(separator: " ")]
            return "\(wire.rawValue) \((whole + cut).joined(separator: ", "))"
        }.joined(separator: "; ")
    }

    /// The text from a little before the place where the other one differs.
    private static func excerpt(_ text: String, beside other: String) -> String {
        let same = zip(text.unicodeScalars, other.unicodeScalars).prefix { $0 == $1 }.count
        let scalars = String.UnicodeScalarView(text.unicodeScalars.dropFirst(max(0, same - 20)).prefix(80))
        let begins = same > 20 ? "…" : ""
        return "\(begins)\(String(scalars).debugDescription) (\(text.utf8.count) bytes)"
    }
}
