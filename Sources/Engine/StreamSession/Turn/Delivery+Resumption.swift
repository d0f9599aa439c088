/// The position in a kept response at which another turn can continue.
extension Delivery {
    /// The position behind the events that were read.
    package enum Position: Equatable, Sendable {
        /// The last known one: what was read since is not passed on, or only a part of it.
        case unchanged
        /// None: output without a number would be repeated.
        case unknown
        /// The last known one until the consumer gets more, and none behind that: a tool call that was read goes to the
        /// consumer at the end of the response.
        case held
        /// Behind the event with the cursor's number.
        case known(ResumeCursor)
    }

    /// The position behind the events that were read; `unchanged` for a response that cannot be resumed.
    ///
    /// Mutating like the other members that are called for events.
    package mutating func position() -> Position {
        // In a replay the numbers begin anew, while its output was delivered.
        guard self.isResumable, self.isCaughtUp, self.earlier?.isOver != false, let responseID = self.responseID else {
            return .unchanged
        }
        guard !self.hasUnnumberedOutput, let number = self.lastNumber else {
            return self.hasDelivered ? .unknown : .unchanged
        }
        return .known(ResumeCursor(responseID: responseID, lastSequenceNumber: number))
    }

    /// Returns whether the next event was delivered by another turn, so that nothing of it is passed on.
    package mutating func wasDelivered(_ number: Int?) -> Bool { self.earlier?.includes(number) ?? false }

    /// Records that an event was read.
    package mutating func read(_ number: Int?) { self.earlier?.read(number) }

    /// The first request of a turn that continues a response: all of its events; nil for any other turn.
    ///
    /// Only with the first part of the response can the rest be compared with the response's closing events.
    var firstCursor: ResumeCursor? {
        guard self.isResumption, let responseID = self.responseID else { return nil }
        return ResumeCursor(responseID: responseID, lastSequenceNumber: nil)
    }
}
