// The streams that are measured, by name. A seed and a size determine every byte.

/// A kind of event stream.
enum Corpus: String, CaseIterable {
    /// `event:` and `data:` lines of text deltas, about 262 bytes an event.
    case modelDeltas = "model-deltas"
    /// The same with CRLF.
    case modelDeltasCRLF = "model-deltas-crlf"
    /// The same with CR alone.
    case modelDeltasCR = "model-deltas-cr"
    /// `data: x`, nine bytes an event.
    case tinyEvents = "tiny-events"
    /// One data line of 1 MiB an event.
    case longLines = "long-lines"
    /// A type, an ID and 40 data lines an event, about 2 KiB.
    case multiLineData = "multi-line-data"

    /// The seed of the generator.
    var seed: UInt64 {
        switch self {
        case .modelDeltas, .modelDeltasCRLF, .modelDeltasCR: 0x5EED_0001
        case .tinyEvents: 0x5EED_0002
        case .longLines: 0x5EED_0003
        case .multiLineData: 0x5EED_0004
        }
    }

    /// The line terminator.
    var lineTerminator: String {
        switch self {
        case .modelDeltas, .tinyEvents, .longLines, .multiLineData: "\n"
        case .modelDeltasCRLF: "\r\n"
        case .modelDeltasCR: "\r"
        }
    }

    /// The size in bytes when it is measured in large chunks.
    var standardByteCount: Int {
        switch self {
        case .modelDeltas, .modelDeltasCRLF, .modelDeltasCR, .tinyEvents: 64 << 20
        case .longLines: 16 << 20
        case .multiLineData: 32 << 20
        }
    }

    /// The size in bytes when a few events are enough, as for counting instructions.
    var smallByteCount: Int { self == .longLines ? 2 << 20 : 256 << 10 }

    /// Builds the stream: whole events, until it has at least `byteCount` bytes.
    func makeInput(byteCount: Int, marks: [Int] = []) -> EventStreamInput {
        var builder = EventStreamBuilder(
            lineTerminator: self.lineTerminator, capacity: byteCount + (2 << 20), marks: marks)
        switch self {
        case .modelDeltas, .modelDeltasCRLF, .modelDeltasCR:
            var deltas = ModelDeltaGenerator(seed: self.seed)
            while builder.byteCount < byteCount {
                builder.append(type: ModelDeltaGenerator.type, dataLines: [deltas.next()])
            }
        case .tinyEvents:
            let lines = [Array("x".utf8)]
            while builder.byteCount < byteCount { builder.append(dataLines: lines) }
        case .longLines:
            var random = SplitMix64(seed: self.seed)
            while builder.byteCount < byteCount { builder.append(dataLines: [Self.text(1 << 20, &random)]) }
        case .multiLineData:
            var random = SplitMix64(seed: self.seed)
            let type = Array("update".utf8)
            var number = 0
            while builder.byteCount < byteCount {
                let lines = (0..<40).map { _ in Self.text(20 + random.next(below: 45), &random) }
                builder.append(type: type, id: Array(String(number).utf8), dataLines: lines)
                number += 1
            }
        }
        return builder.finish()
    }

    /// Random characters of base64's alphabet.
    private static func text(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            var number: UInt64 = 0
            for index in 0..<count {
                if index % 10 == 0 { number = random.next() }
                bytes.initializeElement(at: index, to: alphabet[Int(number & 63)])
                number >>= 6
            }
            initialized = count
        }
    }
}
