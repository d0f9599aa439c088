// What is measured: a corpus, cut into chunks of one size.

/// A corpus and how many bytes of it the parser is given at once; `model-deltas/16384` by name.
struct Workload: Hashable {
    /// The size of chunk that is meant when nothing else is said.
    static let standardChunkByteCount = 16 << 10

    /// The stream.
    let corpus: Corpus
    /// The size of every chunk but the last.
    let chunkByteCount: Int

    /// The name on the command line and in results.
    var name: String { "\(self.corpus.rawValue)/\(self.chunkByteCount)" }

    /// How large the stream is: less of it in small chunks, which take longer a byte.
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

    /// The workloads that are measured of a corpus: all that its chunks can differ in.
    static func workloads(of corpus: Corpus) -> [Self] {
        let sizes =
            switch corpus {
            case .modelDeltas: [16 << 10, 1460, 37, 1, 4 << 20, 64 << 20]
            case .modelDeltasCRLF, .modelDeltasCR: [16 << 10, 1460, 37, 1, 4 << 20]
            case .tinyEvents: [16 << 10, 1460, 37, 1, 64 << 20]
            case .longLines: [16 << 10, 1460, 37, 4 << 20]
            case .multiLineData: [16 << 10, 1460, 37, 1, 4 << 20]
            }
        return sizes.map { Self(corpus, chunkByteCount: $0) }
    }

    /// The workloads that a name stands for: all of a corpus, or one with a chunk size.
    static func named(_ name: String) -> [Self]? {
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
