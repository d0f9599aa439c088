// Distinguishes events that are progress of a response from mere signs of life. Pure.

extension ResponseEvent {
    /// Indicates whether the event is progress of the response: the one rule for the `progress` budget and for `stall`.
    ///
    /// The response's beginning and end, its items, their parts, text that is not empty, and the steps of the server's
    /// own tools are progress. Events that say that the response waits or continues (`response.queued`,
    /// `response.in_progress`), an empty delta, limits, metadata, timing and keepalives are not: a gateway sends them
    /// for a model that has stopped. Of unknown types those of a response (`response.…`) are progress, and a `ping` is
    /// not.
    package var isProgress: Bool {
        switch self.kind {
        case .delta(_, _, _, let text), .partDone(_, _, _, let text): !text.isEmpty
        case .created, .outputItemAdded, .outputItemDone, .completed, .failed, .incomplete, .error, .other:
            true
        // The beginning of a part, and the end of a part without its text.
        case .contentFree: Self.ends(self.typeName, with: "part.added") || Self.ends(self.typeName, with: ".done")
        case .unknown: self.typeName.utf8.starts(with: "response.".utf8)
        case .rateLimits, .metadata, .keepalive: false
        }
    }

    private static func ends(_ name: BorrowedText, with suffix: StaticString) -> Bool {
        suffix.withUTF8Buffer { name.utf8.suffix($0.count).elementsEqual($0) }
    }
}
