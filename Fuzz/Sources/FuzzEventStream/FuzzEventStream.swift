// Invariant: a stream gives the same events, reconnection times, comments, last event ID, error and end however it is
// split, and no bytes make the parser trap or read outside the chunk it was lent.

import ServerSentEvents

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEventStream(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    for limit in [64 << 20, 12] {
        let whole = Transcript(of: input, limit: limit) { $0 }
        let single = Transcript(of: input, limit: limit) { _ in 1 }
        precondition(single == whole, "split into single bytes, the stream has another meaning")
        // The cuts follow from the input, so that a crash can be run again.
        var seed = input.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        let random = Transcript(of: input, limit: limit) { remaining in
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return min(remaining, Int(seed >> 58))
        }
        precondition(random == whole, "split at random, the stream has another meaning")
    }
    return 0
}

/// All that a parser said about a stream.
struct Transcript: Equatable {
    private var items: [UInt8] = []
    private var end = EventStreamEnd.clean
    private var error: EventStreamError?

    /// Parses a stream in chunks.
    ///
    /// - Parameters:
    ///   - input: the stream
    ///   - limit: the byte limit for an event
    ///   - chunkByteCount: says how long the next chunk is, given how many bytes are left
    init(of input: UnsafeRawBufferPointer, limit: Int, chunkByteCount: (Int) -> Int) {
        var parser = EventStreamParser(maximumEventByteCount: limit)
        var start = 0
        while start < input.count {
            let count = chunkByteCount(input.count - start)
            self.parse(UnsafeRawBufferPointer(rebasing: input[start..<start + count]), &parser)
            start += count
        }
        self.end = parser.finish()
        self.items += Array(parser.lastEventID.utf8)
    }

    private mutating func parse(_ bytes: UnsafeRawBufferPointer, _ parser: inout EventStreamParser) {
        // An allocation of exactly this size lets the address sanitizer see a read past the end.
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { chunk.deallocate() }
        chunk.copyMemory(from: bytes)
        do throws(EventStreamError) {
            try parser.parse(UnsafeRawBufferPointer(chunk)) { item in self.append(item, UnsafeRawBufferPointer(chunk)) }
        } catch {
            precondition(self.error == nil || self.error == error, "an error does not change")
            self.error = error
        }
    }

    private mutating func append(_ item: EventStreamItem, _ chunk: UnsafeRawBufferPointer) {
        switch item {
        case .event(let event):
            precondition(self.error == nil, "nothing is handed out after an error")
            for field in [event.type, event.data, event.lastEventID] {
                withUnsafeBytes(of: field.count) { self.items += Array($0) }
                self.items += Array(field)
            }
            self.readPastEnd(of: event.data, chunk)
        case .reconnectionTime(let milliseconds):
            withUnsafeBytes(of: milliseconds) { self.items += [1] + Array($0) }
        case .comment:
            self.items.append(2)
        }
    }

    /// Reads the 64 bytes past data that do not lie in the chunk.
    private func readPastEnd(of data: UnsafeRawBufferPointer, _ chunk: UnsafeRawBufferPointer) {
        guard let start = data.baseAddress, let first = chunk.baseAddress else { return }
        if start >= first, start <= first + chunk.count { return }
        let padding = UnsafeRawBufferPointer(start: start + data.count, count: 64)
        precondition(padding.allSatisfy { $0 == 0 }, "64 bytes past buffered data are readable")
    }
}
