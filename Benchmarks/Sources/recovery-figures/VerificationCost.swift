// How much of the decoding of an event, taken apart by simdjson, its verification costs.
import BenchmarkResults
import ResponseEvents
import StreamSession

/// Nanoseconds of decoding and of verifying the same events.
enum VerificationCost {
    /// Events of a response with a delta of a word or two each, as models send them.
    ///
    /// Each has its members in another order than the one before, so that the decoder takes it apart.
    private static let events: [[UInt8]] = (0..<2_000).map { number in
        let place = #""output_index":0,"content_index":0"#
        let item = #""item_id":"msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9""#
        return Array(
            (#"{"type":"response.output_text.delta","sequence_number":\#(number),"#
                + (number.isMultiple(of: 2) ? "\(item),\(place)" : "\(place),\(item)")
                + #","delta":" word\#(number)","logprobs":[],"obfuscation":"aZ3kQ9xw"}"#).utf8)
    }

    private static let slot = ReplaySlot(.text, outputIndex: 0)

    static let measurement = Measurement(
        "recovery/verification", "verifying a delta, as a share of taking its event apart"
    ) { _ in
        [Self.measured()]
    }

    /// The verification's share of the decoding, in percent, several times.
    private static func measured() -> Figure {
        let shares = (0..<15).map { _ in 100 * self.verifying() / self.decoding() }
        return Figure(
            "recovery", "verification", measure: "share", unit: "%", runs: shares, bound: 5, boundedQuantile: 0.5
        ).with(work: .init(eventCount: self.events.count, byteCount: self.deltas.bytes.count))
    }

    /// The events' deltas, one behind the other.
    private static let deltas: (bytes: [UInt8], ranges: [Range<Int>]) = {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>] = []
        for number in 0..<Self.events.count {
            let delta = Array(" word\(number)".utf8)
            ranges.append(bytes.count..<bytes.count + delta.count)
            bytes += delta
        }
        return (bytes, ranges)
    }()

    /// The events one behind the other, each with room behind it, as the decoder wants it.
    private static let corpus: (bytes: [UInt8], ranges: [Range<Int>]) = {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>] = []
        for event in Self.events {
            ranges.append(bytes.count..<bytes.count + event.count)
            bytes += event + [UInt8](repeating: 0, count: 64)
        }
        return (bytes, ranges)
    }()

    private static func decoding() -> Double {
        var decoder = ResponseEventDecoder(maximumByteCount: 1 << 20)
        var byteCount = 0
        let time = self.corpus.bytes.withUnsafeBytes { bytes in
            ContinuousClock().measure {
                for range in self.corpus.ranges {
                    guard let event = try? decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[range])),
                        case .delta(_, _, _, let text) = event.kind
                    else { preconditionFailure("an event that is none") }
                    byteCount += text.utf8.count
                }
            }
        }
        precondition(byteCount > self.events.count * 6)
        return time.milliseconds
    }

    private static func verifying() -> Double {
        var ledger = ReplayLedger()
        let slot = self.slot
        let (bytes, ranges) = self.deltas
        let text = bytes.span
        for range in ranges { _ = ledger.admit(text.extracting(range), in: slot) }
        ledger.beginReplay()
        var swallowedCount = 0
        var byteCount = 0
        let clock = ContinuousClock()
        // Walking over the deltas is no part of it.
        let walking = clock.measure {
            for range in ranges { byteCount &+= Int(text.extracting(range)[0]) }
        }
        let time = clock.measure {
            for range in ranges where ledger.admit(text.extracting(range), in: slot) == .swallow {
                swallowedCount += 1
            }
        }
        precondition(swallowedCount == ranges.count && ledger.isCaughtUp && byteCount > 0)
        return (time - walking).milliseconds
    }
}
