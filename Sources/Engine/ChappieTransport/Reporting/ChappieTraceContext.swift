import TransportSurface

/// The place of a request in a distributed trace, as W3C Trace Context (level 1) writes it.
public struct ChappieTraceContext: Sendable, Equatable {
    /// `traceparent`: version, trace, parent and flags, in lower-case hexadecimal.
    public let traceparent: String
    /// `tracestate`: the members of vendors; at most 512 bytes.
    public let tracestate: String?

    /// Creates a context from the fields of an incoming request; nil when `traceparent` is not
    /// `00-<32 hex>-<16 hex>-<2 hex>`, or has a trace or a parent of zeros alone (section 3.2.2).
    ///
    /// A `tracestate` that is too long or not printable ASCII is omitted. `init(parsing:tracestate:)` reports the
    /// reasons.
    public init?(traceparent: String, tracestate: String? = nil) {
        guard Self.fault(ofParent: traceparent) == nil else { return nil }
        self.traceparent = traceparent
        self.tracestate = tracestate.flatMap { Self.fault(ofState: $0) == nil ? $0 : nil }
    }

    /// Creates a context.
    ///
    /// Throws `ChappieArgumentError` for a `traceparent` or a `tracestate` that cannot be sent.
    public init(parsing traceparent: String, tracestate: String? = nil) throws(ChappieArgumentError) {
        if let fault = Self.fault(ofParent: traceparent) { throw ChappieArgumentError("traceparent", fault) }
        if let fault = tracestate.flatMap(Self.fault(ofState:)) { throw ChappieArgumentError("tracestate", fault) }
        self.traceparent = traceparent
        self.tracestate = tracestate
    }

    private static func fault(ofParent text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [2, 32, 16, 2], parts[0] == "00",
            parts.allSatisfy({ $0.utf8.allSatisfy(Self.isLowercaseHexadecimal) })
        else { return "is not 00-<32 hex>-<16 hex>-<2 hex>, in lower case" }
        let isZero = parts[1...2].contains { part in part.allSatisfy { $0 == "0" } }
        return isZero ? "has a trace or a parent of zeros alone" : nil
    }

    private static func fault(ofState text: String) -> String? {
        guard (1...512).contains(text.utf8.count) else { return "is not 1 to 512 bytes long" }
        return text.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? nil : "is not printable ASCII"
    }

    private static func isLowercaseHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
