// `sse-throughput self-check`: the facts of the generators are right, and a parser that fails is noticed.

import ServerSentEvents

/// Compares generators, checksums and the parser with each other, on small streams.
enum SelfCheck {
    /// Checks everything.
    ///
    /// - Throws: ``WrongResultError`` when two of them differ
    static func run() throws {
        try self.checkConstants()
        for corpus in Corpus.allCases { try self.check(corpus) }
        try self.checkForms()
    }

    /// Checks that the random numbers are SplitMix64's and that the checksum is zlib's.
    private static func checkConstants() throws {
        var random = SplitMix64(seed: 1_234_567)
        let numbers = [random.next(), random.next(), random.next()]
        try expectSame(
            "SplitMix64",
            expected: [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423], found: numbers)
        var checksum = CRC32()
        Array("123456789".utf8).withUnsafeBytes { checksum.add($0) }
        try expectSame("CRC-32 of 123456789 and a NUL", expected: 0x00C4_9E49, found: checksum.value)
    }

    /// Checks that a generator, the literal reader and the parser agree, and that a changed stream differs for all.
    private static func check(_ corpus: Corpus) throws {
        let name = corpus.rawValue
        let input = corpus.makeInput(byteCount: corpus.smallByteCount, marks: [1, corpus.smallByteCount / 2])
        try expectSame(name, expected: input.facts, found: LiteralReader.facts(of: input.bytes))
        for prefix in input.prefixes {
            let bytes = Array(input.bytes[..<prefix.byteCount])
            try expectSame("a prefix of \(name)", expected: prefix.facts, found: LiteralReader.facts(of: bytes))
        }
        try expectSame("prefixes of \(name)", expected: 2, found: input.prefixes.count)
        for size in [input.bytes.count, 16 << 10, 1460, 37, 1] {
            try expectSame("\(name)/\(size)", expected: input.facts, found: self.parsed(input.bytes, size))
        }
        try self.checkThatChangesAreNoticed(input, name)
    }

    private static func checkThatChangesAreNoticed(_ input: EventStreamInput, _ name: String) throws {
        // The last byte of the last event's data, and the end of its blank line.
        var changed = input.bytes
        guard let last = changed.lastIndex(where: { $0 != 0x0A && $0 != 0x0D }) else { return }
        changed[last] ^= 1
        var cut = input.bytes
        while cut.last == 0x0A || cut.last == 0x0D { cut.removeLast() }
        for stream in [changed, cut] {
            let facts = LiteralReader.facts(of: stream)
            guard facts != input.facts, facts == (try self.parsed(stream, 16 << 10)) else {
                throw WrongResultError(name: name, expected: "a change that is noticed", found: "\(facts)")
            }
        }
    }

    /// Checks the deltas in three forms: the size of an event, and that sizes vary.
    private static func checkForms() throws {
        let byteCount = Corpus.modelDeltas.smallByteCount
        let input = Corpus.modelDeltas.makeInput(byteCount: byteCount)
        let perEvent = input.bytes.count / input.facts.eventCount
        guard (255...270).contains(perEvent) else {
            throw WrongResultError(name: "model deltas", expected: "262 bytes an event", found: "\(perEvent)")
        }
        var deltas = ModelDeltaGenerator(seed: Corpus.modelDeltas.seed)
        let sizes = Set((0..<1000).map { _ in deltas.next().count })
        guard sizes.count > 20 else {
            throw WrongResultError(name: "model deltas", expected: "many sizes", found: "\(sizes.count)")
        }
        let lineFeeds = input.bytes.count { $0 == 0x0A }
        for (corpus, terminatorCount) in [(Corpus.modelDeltasCRLF, 2), (.modelDeltasCR, 1)] {
            let form = corpus.makeInput(byteCount: input.bytes.count + (terminatorCount - 1) * lineFeeds)
            try expectSame(corpus.rawValue, expected: input.facts, found: form.facts)
        }
    }

    private static func parsed(_ bytes: [UInt8], _ chunkByteCount: Int) throws -> StreamFacts {
        try bytes.withUnsafeBytes { bytes in
            var parser = EventStreamParser()
            let facts = try parser.facts(of: bytes, chunkByteCount: chunkByteCount)
            var second = EventStreamParser()
            try expectSame(
                "a bare pass",
                expected: Tally(eventCount: facts.eventCount, dataByteCount: facts.dataByteCount),
                found: second.tally(of: bytes, chunkByteCount: chunkByteCount))
            return facts
        }
    }
}
