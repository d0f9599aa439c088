// Invariant: any bytes have the same result however they are split, and it is the result of the specification's
// algorithm. Every item is returned with the byte that completes it; a limit stops at the first byte that does not fit,
// wherever the chunks end; no input traps, and no byte outside the lent chunk is read or affects the result.
//
// Every input goes through the parser alone, whole and cut (`BareCheck`); the specification and the models see a share.

import Invariants
import ServerSentEvents

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEventStream(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    var random = InputHash(input)
    let hash = random
    BareCheck(input).run(&random)
    guard FuzzDepth.reachesModels(hash) else { return 0 }
    let stream = Array(input)
    let model = StreamModel(stream)
    checkAgainstSpecification(model.recording, stream)

    let check = StreamCheck(stream, model: model.recording)
    for chunking in Chunking.all { check.run(chunking, &random) }
    check.runAgain(&random)
    check.runWithValues(&random)

    // At the limit the stream must pass, below it must not; any other limit may cut it anywhere.
    let (largest, longest) = (model.largestByteCount, model.longestByteCount)
    let small = Int.random(in: 0..<64, using: &random)
    for limits in [
        StreamLimits(event: largest), StreamLimits(event: max(0, largest - 1)), StreamLimits(line: longest),
        StreamLimits(line: max(0, longest - 1)),
        StreamLimits(event: small, line: Int.random(in: 0...small, using: &random)),
    ] {
        let limited = StreamModel(stream, limits: limits).recording
        let isWithin = limits.event >= largest && limits.line >= longest
        require((limited.error == nil) == isWithin, "the model contradicts itself")
        let check = StreamCheck(stream, model: limited, limits: limits)
        for chunking in [Chunking.whole, .single, .upTo(40)] { check.run(chunking, &random) }
        check.runWithValues(&random)
    }

    // Behind a comment of any length the same bytes lie elsewhere in the vectors that a scanner reads.
    let shifted = Array(":".utf8) + Array(repeating: 0x78, count: Int.random(in: 0..<130, using: &random)) + [0x0A]
    let shiftedCheck = StreamCheck(shifted + stream, model: StreamModel(shifted + stream).recording)
    for chunking in [Chunking.whole, .upTo(130)] { shiftedCheck.run(chunking, &random) }

    // Buffers of large values are kept and given back by rules of their own; they would take a third of the time.
    if FuzzDepth.reachesModels(hash, oneOf: 10), let stretched = stretch(stream) {
        let check = StreamCheck(stretched, model: StreamModel(stretched).recording)
        for chunking in [Chunking.whole, .upTo(30_000)] { check.run(chunking, &random) }
    }
    return 0
}

/// Returns the stream with every `\u{1}L` made a run of 100,000 bytes, the first three at most; nil when there is none.
private func stretch(_ stream: [UInt8]) -> [UInt8]? {
    var stretched: [UInt8] = []
    var count = 0
    var index = 0
    while index < stream.count {
        if count < 3, stream[index...].starts(with: [0x01, 0x4C]) {
            stretched += repeatElement(0x78, count: 100_000)
            count += 1
            index += 2
        } else {
            stretched.append(stream[index])
            index += 1
        }
    }
    return count > 0 ? stretched : nil
}

/// The model must mean what the specification does, which knows neither limits nor how many bytes were pending.
private func checkAgainstSpecification(_ model: Recording, _ stream: [UInt8]) {
    let specification = SpecificationParser.parse(stream)
    require(model.items.map(\.decoded) == specification.items, "not what the specification says: \(model.items)")
    require(model.lastEventID == specification.lastEventID, "the last event ID is not the specification's")
    let hasSameEnd =
        switch (model.end, specification.end) {
        case (.clean, .clean), (.insideLine, .insideLine), (.insideEvent, .insideEvent): true
        case (.clean, _), (.insideLine, _), (.insideEvent, _): false
        }
    require(hasSameEnd, "the end is not the specification's")
}

/// The division of a stream into chunks.
enum Chunking {
    /// Not at all.
    case whole
    /// Into single bytes.
    case single
    /// In two.
    case halves
    /// Into pieces up to a length, the empty ones included.
    case upTo(Int)

    /// Every way that each input is cut in.
    static var all: [Chunking] { [.whole, .single, .halves, .upTo(3), .upTo(17), .upTo(80)] }

    /// Returns the ends of the chunks of a stream of `count` bytes.
    func ends(of count: Int, _ random: inout InputHash) -> [Int] {
        switch self {
        case .whole: return [count]
        case .single: return count > 0 ? Array(1...count) : [0]
        case .halves: return [Int.random(in: 0...count, using: &random), count]
        case .upTo(let longest):
            var ends: [Int] = []
            while ends.last ?? 0 < count {
                ends.append(min(count, (ends.last ?? 0) + Int.random(in: 0...longest, using: &random)))
            }
            return ends
        }
    }
}
