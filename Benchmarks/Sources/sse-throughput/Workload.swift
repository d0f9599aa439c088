// A corpus, cut into chunks of one size.

/// A corpus and the size of its chunks, such as `model-deltas/16384`.
struct Workload: Equatable {
    /// The default size of a chunk.
    static let standardChunkByteCount = 16 << 10

    /// The stream.
    let corpus: Corpus
    /// The size of every chunk but the last.
    let chunkByteCount: Int

    /// The name on the command line and in results.
    var name: String { "\(self.corpus.rawValue)/\(self.chunkByteCount)" }

    /// The size of the stream in bytes: smaller with small chunks, which take longer for each byte.
    var byteCount: Int {
        switch self.chunkByteCount {
        case ..<16: min(self.corpus.standardByteCount, 2 << 20)
        case ..<256: min(self.corpus.standardByteCount, 8 << 20)
        default: self.corpus.standardByteCount
        }
    }

    /// A corpus in chunks of a size.
    init(_ corpus: Corpus, chunkByteCount: Int = Self.standardChunkByteCount) {
        self.corpus = corpus
        self.chunkByteCount = chunkByteCount
    }

    /// Every workload that is measured when none is named.
    static let all: [Self] = Corpus.allCases.flatMap { Self.workloads(of: $0) }

    /// The workloads that are measured of a corpus.
    static func workloads(of corpus: Corpus) -> [Self] {
        let sizes =
            corpus == .modelDeltas ? [Self.standardChunkByteCount, 37, 1, 64 << 20] : [Self.standardChunkByteCount]
        return sizes.map { Self(corpus, chunkByteCount: $0) }
    }

    /// Returns the workloads of a name: all of a corpus, one with a chunk size, or those with it in their names.
    static func named(_ name: String) -> [Self] {
        self.exactly(name.hasPrefix("parser/") ? String(name.dropFirst(7)) : name)
            ?? self.all.filter { "parser/\($0.name)".contains(name) }
    }

    private static func exactly(_ name: String) -> [Self]? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard let corpus = parts.first.flatMap({ Corpus(rawValue: String($0)) }) else { return nil }
        switch parts.count {
        case 1: return Self.workloads(of: corpus)
        case 2:
            guard let size = Int(parts[1]), size > 0 else { return nil }
            return [Self(corpus, chunkByteCount: size)]
        default: return nil
        }
    }
}
