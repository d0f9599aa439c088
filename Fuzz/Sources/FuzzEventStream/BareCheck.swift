// The parser against itself, without a model: whole, and cut at two places, with and without limits.

import Invariants
import ServerSentEvents

/// A stream that is parsed whole and in pieces.
struct BareCheck {
    /// The result of a pass, with the items as one number: a hash of this process, by code that is not traced.
    private struct Result: Equatable {
        var items = Hasher()
        var itemHash = 0
        var itemCount = 0
        var end = EventStreamEnd.clean
        var error: EventStreamError?

        static func == (left: Self, right: Self) -> Bool {
            left.itemHash == right.itemHash && left.itemCount == right.itemCount && left.end == right.end
                && left.error == right.error
        }

        mutating func add(_ item: EventStreamItem) {
            self.itemCount += 1
            switch item {
            case .event(let event):
                self.add(event.type)
                self.add(event.data)
                self.add(event.lastEventID)
            case .reconnectionTime(let milliseconds): self.items.combine(milliseconds)
            case .comment: self.items.combine(true)
            }
        }

        private mutating func add(_ bytes: UnsafeRawBufferPointer) {
            self.items.combine(bytes.count)
            self.items.combine(bytes: bytes)
        }

        mutating func finish(_ parser: inout EventStreamParser) {
            self.end = parser.finish()
            var lastEventID = parser.lastEventID
            lastEventID.withUTF8 { self.add(UnsafeRawBufferPointer($0)) }
            self.itemHash = self.items.finalize()
        }
    }

    private let stream: UnsafeRawBufferPointer

    /// Takes a stream.
    init(_ stream: UnsafeRawBufferPointer) { self.stream = stream }

    /// Parses without limits, and with two that may end the stream anywhere.
    func run(_ random: inout InputHash) {
        self.run(StreamLimits(), &random)
        let event = Int(random.next() % UInt64(self.stream.count + 1))
        self.run(StreamLimits(event: event, line: Int(random.next() % UInt64(event + 1))), &random)
    }

    private func run(_ limits: StreamLimits, _ random: inout InputHash) {
        let cuts = (
            Int(random.next() % UInt64(self.stream.count + 1)), Int(random.next() % UInt64(self.stream.count + 1))
        )
        let (first, second) = (min(cuts.0, cuts.1), max(cuts.0, cuts.1))
        var whole = Result()
        var parser = limits.parser
        // libFuzzer's own copy has exactly the stream's size.
        Self.parse(self.stream, &parser, &whole)
        whole.finish(&parser)
        var cut = Result()
        parser = limits.parser
        for piece in [0..<first, first..<second, second..<self.stream.count] {
            // What stands before a chunk would end a line if it were read.
            let drawn = random.next()
            ExactCopy.lend(
                UnsafeRawBufferPointer(rebasing: self.stream[piece]), misalignment: Int(drawn % 64),
                margin: drawn >> 32 & 1 == 0 ? 0x0A : 0x3A
            ) { Self.parse($0, &parser, &cut) }
        }
        cut.finish(&parser)
        require(
            whole == cut,
            "cut at \(first) and \(second), \(limits): \(cut.itemCount) items, \(cut.end), \(String(describing: cut.error)); "
                + "whole: \(whole.itemCount) items, \(whole.end), \(String(describing: whole.error))")
    }

    private static func parse(
        _ chunk: UnsafeRawBufferPointer, _ parser: inout EventStreamParser, _ result: inout Result
    ) {
        do throws(EventStreamError) {
            try parser.parse(chunk) { result.add($0) }
        } catch {
            require(result.error == nil || result.error == error, "an error does not change")
            result.error = error
        }
    }
}
