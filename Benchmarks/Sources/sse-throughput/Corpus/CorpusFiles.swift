// `sse-throughput --write-corpus`: the streams as files, for programs that parse them in other languages.

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes corpora, and `facts.json` with their counts and checksums.
struct CorpusFiles {
    /// One file.
    private struct Description: Encodable {
        var corpus: String, file: String
        /// The whole stream, and prefixes for slow parsers.
        var prefixes: [EventStreamInput.Prefix]
    }

    /// The sizes of prefixes: each ends with the first event that ends there or later.
    private static let marks = [256 << 10, 1 << 20, 2 << 20, 8 << 20]

    /// Writes the corpora to a folder, which is created when it does not exist.
    static func write(_ corpora: [Corpus], to folder: String) throws {
        let folder = URL(filePath: folder, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var descriptions: [Description] = []
        for corpus in corpora {
            let size = corpus.standardByteCount
            let input = corpus.makeInput(byteCount: size, marks: self.marks.filter { $0 < size } + [size])
            let file = corpus.rawValue + ".events"
            try Data(input.bytes).write(to: folder.appending(path: file))
            descriptions.append(Description(corpus: corpus.rawValue, file: file, prefixes: input.prefixes))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(descriptions).write(to: folder.appending(path: "facts.json"))
    }
}
