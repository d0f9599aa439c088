// The frame of a delta, by which the next one is read without a scan of all its members. A value that a decoder owns.

import CSimdjson

/// The newest delta of an answer, and the places of the texts in it that may be others in the next one.
///
/// The deltas of an answer repeat all bytes around their text, but for a text that hides its length. An event that repeats
/// them is JSON as the first one was, and means the same with another text.
struct DeltaFrame {
    private static let maximumByteCount = 1 << 10

    private var bytes: [UInt8] = []
    private var frame = csj_frame()
    private var textGap = 0
    private var isKnown = false

    /// Forgets the delta.
    mutating func forget() { self.isKnown = false }

    /// Keeps an event that was read, unless it is too long.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - text: the content of its text.
    ///   - filler: the content of a text that nothing reads.
    mutating func keep(
        _ event: UnsafeRawBufferPointer, text: UnsafeBufferPointer<UInt8>, filler: UnsafeBufferPointer<UInt8>?
    ) {
        guard event.count <= Self.maximumByteCount, let start = event.baseAddress else { return }
        let gaps = [text, filler].compactMap { gap -> Range<Int>? in
            guard let gap, let gapStart = gap.baseAddress else { return nil }
            let offset = UnsafeRawPointer(gapStart) - start
            return offset..<offset + gap.count
        }.sorted { $0.lowerBound < $1.lowerBound }
        guard let first = gaps.first, let last = gaps.last, let textStart = text.baseAddress else { return }
        self.bytes.removeAll(keepingCapacity: true)
        self.bytes.append(contentsOf: event)
        self.frame.count = event.count
        self.frame.gap_count = gaps.count
        self.frame.gap_starts = (first.lowerBound, last.lowerBound)
        self.frame.gap_ends = (first.upperBound, last.upperBound)
        self.textGap = first.lowerBound == UnsafeRawPointer(textStart) - start ? 0 : 1
        self.isKnown = true
    }

    /// Returns the content of the text of an event that repeats the delta, and whether it may have an escape; nil for any
    /// other, and for an empty text.
    mutating func text(in event: UnsafeRawBufferPointer) -> (content: UnsafeBufferPointer<UInt8>, hasEscape: Bool)? {
        guard self.isKnown, event.count <= JSONScanner.maximumEventByteCount else { return nil }
        var (text, hasEscape) = (csj_text(), false)
        let gap = self.textGap
        let isFound = self.bytes.withUnsafeBufferPointer { known in
            self.frame.bytes = known.baseAddress
            let start = event.assumingMemoryBound(to: UInt8.self).baseAddress
            return csj_find_in_frame(&self.frame, gap, start, event.count, &text, &hasEscape)
        }
        return isFound && text.count > 0
            ? (UnsafeBufferPointer(start: text.bytes, count: text.count), hasEscape) : nil
    }
}
