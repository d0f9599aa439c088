// The verdicts on events of a response.
// Values without an owner.

extension ResponseOrder {
    /// The kind of a response's end.
    package enum End: Equatable, Sendable {
        /// The response is complete or incomplete; with the fingerprints of the listed items' identifiers, 0 for none.
        case complete(names: [UInt64])
        /// The response failed.
        case failure
        /// An error outside a response ended it.
        case error
    }

    /// The relation of an event to its response.
    package enum Verdict: Equatable, Sendable {
        /// It is in order.
        case fine
        /// It is read like any other, but worth a diagnostic; each oddity is reported once, then the verdict is `fine`.
        case tolerated(Oddity)
        /// It does not belong to the response that is read, and must be dropped; it does not end the response either.
        case foreign
        /// The response cannot be read further.
        case violation(Violation)
    }

    /// A deviation of some servers that is tolerated.
    package enum Oddity: UInt8, Sendable, CaseIterable {
        /// The response was created twice before it had output.
        case createdAgain
        /// Output or an item came before the response was created.
        case notCreated
        /// The response has another identifier than it was created with.
        case responseIDChanged
        /// Output or the end of an item came that was never added.
        case itemNotAdded
        /// An item with the same index was added before.
        case itemAddedAgain
        /// An item with the same index was done before.
        case itemDoneAgain
        /// Output of an item came after the item was done.
        case itemContinued
        /// An item has another identifier than it was announced with.
        case itemIDChanged
    }

    /// An event that would break the delivery guarantee; the raw value is its word in reports.
    package enum Violation: String, Sendable, CaseIterable {
        /// A position is negative or too high.
        case indexOutOfRange = "index-out-of-range"
        /// Another response, or the same again, begins after one has output.
        case responseRestarted = "response-restarted"
        /// Output of an item came after the item was done, or output of a part that its closing text does not have.
        case itemContinued = "item-continued"
        /// The server was asked for the rest of a response, and answers with another one.
        case otherResponse = "other-response"
        /// Output was attributed to an earlier response of the connection, and the response has none of its own.
        case itemUnknown = "item-unknown"
        /// A closing event differs from the content before it.
        case closingDiffers = "closing-differs"
        /// A closing event has more content of a slot after later output has come.
        case closingOutOfPlace = "closing-out-of-place"
        /// Output came in another order than its numbers, and no closing text confirms either.
        case outOfOrder = "out-of-order"
        /// Two items of one index write alternately.
        case itemsInterleaved = "items-interleaved"
        /// An item that has output is attributed to another agent.
        case agentChanged = "agent-changed"
    }

    /// Indicates whether an index may stand for several items.
    package var areIndicesShared: Bool {
        [Oddity.itemAddedAgain, .itemDoneAgain, .itemContinued].contains(where: self.hasSeen)
    }

    /// Indicates whether a jump in the numbers of events is a sign of another response.
    package var expectsEveryNumber: Bool { self.earlier.countsByOne }
}
