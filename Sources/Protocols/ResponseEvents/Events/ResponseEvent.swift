// One event of a response stream, with the data that a turn needs. It is the same over WebSocket and over HTTP.

/// One event of a response stream.
///
/// Borrowed texts are valid until the next call of the decoder; strings are copies.
package struct ResponseEvent {
    /// The kind of the event, with its data.
    package let kind: Kind
    /// The event's number within its response; nil when absent, negative or not an integer.
    ///
    /// Numbers may be skipped.
    package let sequenceNumber: Int?
    /// The event's `type` as it was sent.
    package let typeName: BorrowedText
    /// The lane the event belongs to, on a connection that carries several responses.
    package let streamID: BorrowedText?
    /// `item_id`, the identifier of the item that a delta, a part or the end of a part belongs to; nil when absent or
    /// empty.
    ///
    /// The identifier in an item itself is `ItemSummary.id`.
    package let itemID: BorrowedText?
    /// The halves of surrogate pairs at the ends of a delta's text.
    package let deltaHalves: SurrogateHalves

    /// The kind of an event, with its data.
    package enum Kind {
        /// The server began a response.
        case created(responseID: String?)
        /// More text of one slot. `partIndex` is the content or the summary index; an absent index is 0, and a number
        /// that is not a valid position is -1.
        case delta(DeltaKind, outputIndex: Int, partIndex: Int, text: BorrowedText)
        /// The whole text of one slot, from the event that closes the slot. The indices are those of `delta`.
        case partDone(DeltaKind, outputIndex: Int, partIndex: Int, text: BorrowedText)
        /// An output item begins.
        indirect case outputItemAdded(outputIndex: Int, ItemSummary)
        /// An output item is finished; its contents are authoritative.
        indirect case outputItemDone(outputIndex: Int, ItemSummary)
        /// The response ended well.
        indirect case completed(ResponseSummary)
        /// The response ended with an error, or was cancelled.
        indirect case failed(ResponseSummary)
        /// The response ended early, for a reason that is not an error.
        indirect case incomplete(ResponseSummary)
        /// The request or the response ended with an error outside a response object.
        indirect case error(ErrorEvent)
        /// The used part of a usage limit.
        indirect case rateLimits(UsageLimitSnapshot)
        /// The data that header fields would contain if each response had a header section.
        indirect case metadata(turnState: String?, model: String?)
        /// A sign of life without data.
        case keepalive
        /// A step without content: queued, in progress, the beginning of a part, timing, and the end of a part without
        /// the part's text. Only queued and in progress name their response.
        case contentFree(responseID: String?)
        /// A known event that a turn does not need.
        case other
        /// An event of an unknown type.
        case unknown

        /// Indicates whether a response that produced only such events can be requested again at no loss.
        package var isContentFree: Bool {
            switch self {
            case .created, .outputItemAdded, .rateLimits, .metadata, .keepalive, .contentFree: true
            case .delta, .partDone, .outputItemDone, .completed, .failed, .incomplete, .error, .other, .unknown: false
            }
        }

        /// Indicates whether the event ends its response.
        package var isTerminal: Bool {
            switch self {
            case .completed, .failed, .incomplete, .error: true
            case .created, .delta, .partDone, .outputItemAdded, .outputItemDone, .rateLimits, .metadata, .keepalive,
                .contentFree, .other, .unknown:
                false
            }
        }
    }

    /// More text of one slot, with the fields of `Kind.delta`.
    package struct Delta {
        /// The kind of text that it continues.
        package let kind: DeltaKind
        /// The item's position; 0 when absent, and -1 for a number that is not a valid position.
        package let outputIndex: Int
        /// The content or the summary index; 0 when absent, and -1 for a number that is not a valid position.
        package let partIndex: Int
        /// The text.
        package let text: BorrowedText
        /// The event's number within its response; -1 when it has none.
        package let sequenceNumber: Int
        /// `item_id`, the identifier of the item; nil when absent.
        package let itemID: BorrowedText?
        /// A number that two deltas of one decoder share only if their kind, indices and `itemID` are the same; 0 when
        /// that is not known.
        ///
        /// Deltas with different numbers may still be of the same slot.
        package let shape: UInt
    }

    /// The kind of text that a delta continues.
    package enum DeltaKind: UInt8, CaseIterable, Sendable {
        /// The response's text.
        case text
        /// The text of a refusal.
        case refusal
        /// A summary of the model's reasoning.
        case reasoningSummary
        /// The model's reasoning itself.
        case reasoningText
        /// The JSON text of a function call's arguments.
        case functionArguments
        /// The input of a custom tool call.
        case customInput
    }
}

extension ResponseEvent {
    /// The event where its item is one of reasoning: a delta of text, or the whole of it, is reasoning.
    package var asReasoning: Self {
        let kind: Kind =
            switch self.kind {
            case .delta(let kind, let outputIndex, let partIndex, let text):
                .delta(kind.asReasoning, outputIndex: outputIndex, partIndex: partIndex, text: text)
            case .partDone(let kind, let outputIndex, let partIndex, let text):
                .partDone(kind.asReasoning, outputIndex: outputIndex, partIndex: partIndex, text: text)
            case .created, .outputItemAdded, .outputItemDone, .completed, .failed, .incomplete, .error, .rateLimits,
                .metadata, .keepalive, .contentFree, .other, .unknown:
                self.kind
            }
        return Self(
            kind: kind, sequenceNumber: self.sequenceNumber, typeName: self.typeName, streamID: self.streamID,
            itemID: self.itemID, deltaHalves: self.deltaHalves)
    }
}

extension ResponseEvent.DeltaKind {
    /// The kind of text in an item of reasoning.
    var asReasoning: Self {
        switch self {
        case .text: .reasoningText
        case .refusal, .reasoningSummary, .reasoningText, .functionArguments, .customInput: self
        }
    }
}
