// Streams whose cost must grow with their size and no faster, whatever their size.

import ServerSentEvents

/// A stream of any size, how it is cut, and what is in it.
enum GrowthShape: String, CaseIterable {
    case oneLineInPackets = "one line, 1460-byte chunks"
    case oneLineInDrips = "one line, 37-byte chunks"
    case manyDataLines = "one event of 8-byte data lines, 16 KiB chunks"
    case manyDataLinesAtOnce = "one event of 8-byte data lines, one chunk"
    case giantChunk = "model deltas, one chunk, LF"
    case giantChunkWithFinalCR = "model deltas, one chunk, LF and a final CR"
    case giantChunkOfCR = "model deltas, one chunk, CR"
    case endlessComment = "one endless comment, 16 KiB chunks"
    case endlessUnknownField = "one endless unknown field, 16 KiB chunks"
    case endlessFieldName = "one endless field name, 1460-byte chunks"
    case longType = "one event type, 1460-byte chunks"
    case longID = "one ID, 1460-byte chunks"
    case carriageReturns = "CRs, one chunk"
    case manyComments = "empty comments, 16 KiB chunks"

    /// A stream of `byteCount` bytes or a few more.
    struct Input {
        /// The stream.
        var bytes: [UInt8]
        /// How much of it the parser gets at once.
        var chunkByteCount: Int
        /// What is in it.
        var tally: Tally
        /// How it ends.
        var end: EventStreamEnd
    }

    /// Builds the stream.
    func makeInput(byteCount: Int) -> Input {
        switch self {
        case .oneLineInPackets: Self.line("data: ", byteCount, chunk: 1460)
        case .oneLineInDrips: Self.line("data: ", byteCount, chunk: 37)
        case .manyDataLines: Self.dataLines(byteCount, chunk: 16 << 10)
        case .manyDataLinesAtOnce: Self.dataLines(byteCount, chunk: .max)
        case .giantChunk: Self.deltas(.modelDeltas, byteCount)
        case .giantChunkWithFinalCR: Self.deltas(.modelDeltas, byteCount, hasFinalCR: true)
        case .giantChunkOfCR: Self.deltas(.modelDeltasCR, byteCount)
        case .endlessComment: Self.endless(":", byteCount, chunk: 16 << 10)
        case .endlessUnknownField: Self.endless("unknown: ", byteCount, chunk: 16 << 10)
        case .endlessFieldName: Self.endless("", byteCount, chunk: 1460)
        case .longType: Self.line("data: x\nevent: ", byteCount, chunk: 1460, dataByteCount: 1)
        case .longID: Self.line("data: x\nid: ", byteCount, chunk: 1460, dataByteCount: 1)
        case .carriageReturns: Self.repeated("\r", byteCount, chunk: .max)
        case .manyComments: Self.repeated(":\n", byteCount, chunk: 16 << 10)
        }
    }

    /// One long line, which is an event's data unless a count of data bytes is given.
    private static func line(_ start: String, _ byteCount: Int, chunk: Int, dataByteCount: Int? = nil) -> Input {
        let bytes = Array(start.utf8) + Array(repeating: 0x78, count: byteCount) + Array("\n\n".utf8)
        let tally = Tally(eventCount: 1, dataByteCount: dataByteCount ?? byteCount)
        return Input(bytes: bytes, chunkByteCount: chunk, tally: tally, end: .clean)
    }

    private static func dataLines(_ byteCount: Int, chunk: Int) -> Input {
        let lineCount = byteCount / 8
        let bytes = (0..<lineCount).flatMap { _ in "data: x\n".utf8 } + Array("\n".utf8)
        let tally = Tally(eventCount: 1, dataByteCount: 2 * lineCount - 1)
        return Input(bytes: bytes, chunkByteCount: min(chunk, bytes.count), tally: tally, end: .clean)
    }

    private static func deltas(_ corpus: Corpus, _ byteCount: Int, hasFinalCR: Bool = false) -> Input {
        var input = corpus.makeInput(byteCount: byteCount)
        if hasFinalCR { input.bytes[input.bytes.count - 1] = 0x0D }
        let tally = Tally(eventCount: input.facts.eventCount, dataByteCount: input.facts.dataByteCount)
        return Input(bytes: input.bytes, chunkByteCount: input.bytes.count, tally: tally, end: .clean)
    }

    /// A line that never ends, and that nothing has to be kept of.
    private static func endless(_ start: String, _ byteCount: Int, chunk: Int) -> Input {
        let bytes = Array(start.utf8) + Array(repeating: 0x78, count: byteCount)
        return Input(
            bytes: bytes, chunkByteCount: chunk, tally: Tally(), end: .insideLine(pendingByteCount: 0))
    }

    private static func repeated(_ text: String, _ byteCount: Int, chunk: Int) -> Input {
        let bytes = (0..<byteCount / text.utf8.count).flatMap { _ in text.utf8 }
        return Input(bytes: bytes, chunkByteCount: min(chunk, bytes.count), tally: Tally(), end: .clean)
    }
}
