// The verdicts on events of a response.
// Values without an owner.

extension ResponseOrder {
    /// What an event is to its response.
    package enum Verdict: Equatable, Sendable {
        /// It is where it belongs.
        case fine
        /// It is read like any other, but worth a diagnostic; each oddity is reported once, then it is fine.
        case tolerated(Oddity)
        /// It is no part of the response that is read, and must be dropped: it does not end it either.
        case foreign
        /// The response cannot be read on.
        case violation(Violation)
    }

    /// What some servers do.
    package enum Oddity: UInt8, Sendable, CaseIterable {
        /// The response was created twice before it had output.
        case createdAgain
        /// Output or an item came before the response was created.
        case notCreated
        /// The response has another identifier than it was created with.
        case responseIDChanged
        /// Output or the end of an item that was never added.
        case itemNotAdded
        /// An item with the same index was added before.
        case itemAddedAgain
        /// An item with the same index was done before.
        case itemDoneAgain
        /// Output of an item that was done.
        case itemContinued
        /// An item has another identifier than it was announced with.
        case itemIDChanged
    }

    /// What would break the promise.
    package enum Violation: Hashable, Sendable, CaseIterable {
        /// A position that is none, or too high.
        case indexOutOfRange
        /// Another response, or the same once more, begins where one has output.
        case responseRestarted
        /// Output of an item that is done.
        case itemContinued
        /// The server was asked for the rest of a response, and answers with another one.
        case otherResponse
        /// Output was taken for that of an earlier response of the connection, and the response has none of its own.
        case itemUnknown
        /// A closing event says other content than came before it.
        case closingDiffers
        /// A closing event has more of a slot whose place later output has taken.
        case closingOutOfPlace
        /// Output came in another order than its numbers, and no closing text says which is right.
        case outOfOrder
        /// Two items of one index write in turn.
        case itemsInterleaved
        /// An item that has output is said to be another agent's.
        case agentChanged
    }
}
