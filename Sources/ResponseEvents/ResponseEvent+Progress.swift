// Which events are progress of a response, and which are signs of life alone. Pure.

extension ResponseEvent {
    /// Indicates whether the response has got on with it: the one rule for the `progress` budget and for `stall`.
    ///
    /// The response's beginning and end, its items, their parts, text that is not empty, and the steps of the server's
    /// own tools are progress. That the response waits or goes on (`response.queued`, `response.in_progress`), an empty
    /// delta, limits, metadata, timing and keepalives are none: a gateway sends them for a model that has stopped. Of
    /// types that are not known here those of a response (`response.…`) are progress, and a `ping` is not.
    package var isProgress: Bool {
        switch self.kind {
        case .delta(_, _, _, let text): !text.isEmpty
        case .created, .partDone, .outputItemAdded, .outputItemDone, .completed, .failed, .incomplete, .error, .other:
            true
        // A part that begins, and one that ends without its text.
        case .contentFree: Self.ends(self.typeName, with: "part.added") || Self.ends(self.typeName, with: ".done")
        case .unknown: self.typeName.utf8.starts(with: "response.".utf8)
        case .rateLimits, .metadata, .keepalive: false
        }
    }

    private static func ends(_ name: BorrowedText, with suffix: StaticString) -> Bool {
        suffix.withUTF8Buffer { name.utf8.suffix($0.count).elementsEqual($0) }
    }
}
