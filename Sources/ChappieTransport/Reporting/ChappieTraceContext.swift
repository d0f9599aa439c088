/// The place of a request in a distributed trace, as W3C Trace Context (level 1) writes it.
public struct ChappieTraceContext: Sendable, Equatable {
    /// `traceparent`: version, trace, parent and flags, in lower-case hexadecimal.
    public let traceparent: String
    /// `tracestate`: the members of vendors; at most 512 bytes.
    public let tracestate: String?

    /// Creates a context; nil when `traceparent` is not `00-<32 hex>-<16 hex>-<2 hex>`, or has a trace or a parent of
    /// zeros alone (section 3.2.2).
    ///
    /// A `tracestate` that is too long or not printable ASCII is omitted.
    public init?(traceparent: String, tracestate: String? = nil) {
        let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [2, 32, 16, 2], parts[0] == "00",
            parts.allSatisfy({ $0.utf8.allSatisfy(Self.isLowercaseHexadecimal) }),
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        self.traceparent = traceparent
        self.tracestate = tracestate.flatMap { state in
            (1...512).contains(state.utf8.count) && state.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? state : nil
        }
    }

    private static func isLowercaseHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
