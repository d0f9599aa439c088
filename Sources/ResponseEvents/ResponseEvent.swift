// One event of a response stream, as far as a turn is driven by it. The same over WebSocket and over HTTP.

/// One event of a response stream.
///
/// Texts that are borrowed are valid until the next call of the decoder; strings live as long as anyone wants.
package struct ResponseEvent {
    /// What the event says.
    package let kind: Kind
    /// The event's number within its response; nil when absent, negative or not an integer.
    ///
    /// Numbers may skip.
    package let sequenceNumber: Int?
    /// The event's `type` as it was sent.
    package let typeName: BorrowedText
    /// The lane the event belongs to, on a connection that carries several responses.
    package let streamID: BorrowedText?
    /// `item_id`, the identifier of the item that a delta, a part or the end of a part belongs to; nil when absent.
    ///
    /// The identifier in an item itself is `ItemSummary.id`.
    package let itemID: BorrowedText?
    /// The halves of surrogate pairs at the ends of a delta's text.
    package let deltaHalves: SurrogateHalves

    /// What an event says.
    package enum Kind {
        /// The server began a response.
        case created(responseID: String?)
        /// More text of one slot. `partIndex` is the content or the summary index; an absent index is 0,
        /// and a number that is no position is -1.
        case delta(DeltaKind, outputIndex: Int, partIndex: Int, text: BorrowedText)
        /// The whole text of one slot, as the event that closes the slot says it. The indices are those of `delta`.
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
        /// How much of a usage limit is used.
        indirect case rateLimits(UsageLimitSnapshot)
        /// What would be header fields if there were a header section for each response.
        indirect case metadata(turnState: String?, model: String?)
        /// Nothing but a sign of life.
        case keepalive
        /// A step without content: queued, in progress, a part that begins, timing, and the end of a part without the
        /// part's text. Only queued and in progress name their response.
        case contentFree(responseID: String?)
        /// A known event that no turn needs.
        case other
        /// An event of a type that is not known here.
        case unknown

        /// Indicates whether a response that produced nothing but such events can be requested again at no loss.
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

    /// More text of one slot, as `Kind.delta` has it.
    package struct Delta {
        /// What kind of text it continues.
        package let kind: DeltaKind
        /// The item's position; 0 when absent, and -1 for a number that is none.
        package let outputIndex: Int
        /// The content or the summary index; 0 when absent, and -1 for a number that is no position.
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
        /// Deltas with different numbers may be of the same slot.
        package let shape: UInt
    }

    /// What kind of text a delta continues.
    package enum DeltaKind: UInt8, CaseIterable, Sendable {
        /// The response's text.
        case text
        /// The words of a refusal.
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
