// What the numbers of a response's events say, and taking a response up where it broke.

extension TurnStateMachine {
    /// What to do with an event, by its number.
    package enum NumberedEvent: Equatable, Sendable {
        /// Read it.
        case read
        /// Read it, and tell that numbers are missing before it.
        case readBehindGap
        /// Nothing: it has come before.
        case skip
        /// Nothing: the attempt has ended with it, for this reason, and this follows.
        case end(AttemptFailure?, Action)
    }

    /// Whether the server can be asked for the rest of a broken response, so that its events' numbers decide.
    package var isResumable: Bool { self.tracker.isResumable }

    /// Where the response can be taken up again; nil when the server does not keep it, or has not named it.
    var cursor: ResumeCursor? {
        guard self.isResumable, let responseID = self.responseID else { return nil }
        // Behind the last number, output may have come that has none: it would come again.
        let last = self.hasUnnumberedOutput ? nil : self.tracker.last
        return ResumeCursor(responseID: responseID, lastSequenceNumber: last)
    }

    /// The server has named the response; the first name counts.
    package mutating func responseNamed(_ responseID: String, attempt: Int) {
        guard self.isReading(attempt), self.responseID == nil else { return }
        self.responseID = responseID
    }

    /// The server says that the response has failed: nothing of it can be asked for any more.
    package mutating func responseEnded(attempt: Int) {
        if self.isReading(attempt) { self.responseID = nil }
    }

    /// Whether numbers are looked at: not those of a server that does not count.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func readsNumbers() -> Bool { !self.tracker.ignoresNumbers }

    /// Whether numbers of a response that can be fetched again are missing before this one.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func leavesNumbersOut(_ number: Int?) -> Bool { self.tracker.leavesNumbersOut(number) }

    /// Whether a delta is more output of the slot and the item that the last one was output of, by its shape.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isRunning(_ shape: UInt) -> Bool { self.order.isRunning(shape) }

    /// Takes the number of a delta that follows the event before; false when it has to be judged.
    @inline(__always)
    package mutating func takesNext(_ number: Int, fingerprint: UInt64) -> Bool {
        self.tracker.takeNext(number, fingerprint: fingerprint)
    }

    /// Whether an event has come before, with the same number.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isRepeated(_ number: Int?, fingerprint: UInt64) -> Bool {
        self.tracker.isRepeated(number, fingerprint: fingerprint)
    }

    /// Whether another event has come with the number before, of a response whose numbers are believed.
    ///
    /// It is the end of the turn, whatever else the event may break.
    package mutating func contradiction(of number: Int?, fingerprint: UInt64, attempt: Int) -> Action? {
        guard self.isResumable, self.isReading(attempt), self.tracker.isTaken(number),
            !self.tracker.isRepeated(number, fingerprint: fingerprint)
        else { return nil }
        return self.fail(.diverged, nil)
    }

    /// An event of the response has arrived, which `isRepeated` is not true of.
    ///
    /// - Parameters:
    ///   - number: the event's number, if it has one.
    ///   - fingerprint: a number that two different events hardly share.
    ///   - isOutput: whether it is a piece of the response's output.
    ///   - attempt: the attempt it came in.
    /// - Returns: what to do with it.
    package mutating func numbered(
        _ number: Int?, fingerprint: UInt64, isOutput: Bool = false, attempt: Int
    ) -> NumberedEvent {
        guard self.isReading(attempt) else { return .skip }
        if self.awaitsNumber, let end = self.judgeRest(number, isOutput: isOutput, attempt: attempt) { return end }
        self.isEventNumbered = number != nil
        let verdict = self.tracker.received(number, fingerprint: fingerprint, isOutput: isOutput)
        switch self.tracker.consequence(of: verdict) {
        case .deliver:
            // Behind a gap the output without a number would come again: then the response is read from its beginning.
            if number != nil { self.hasUnnumberedOutput = false }
            return self.afterDelivering(verdict, number: number, attempt: attempt)
        case .drop:
            return .skip
        case .fail:
            guard case .gap(let expected, let found) = verdict else { return .end(nil, self.fail(.diverged, nil)) }
            // The missing events are asked for, as after a cut.
            let failure = AttemptFailure.sequenceGap(expected: expected, found: found)
            return .end(failure, self.failed(failure, attempt: attempt, jitter: 0.5))
        }
    }
}

extension TurnStateMachine {
    /// Looks at the beginning of what a server has sent in answer to a request for the events behind a number.
    ///
    /// Output without a number may be output that was delivered, so that the response is read from its beginning then,
    /// and compared.
    private mutating func judgeRest(_ number: Int?, isOutput: Bool, attempt: Int) -> NumberedEvent? {
        guard let last = self.tracker.last else {
            self.awaitsNumber = false
            return nil
        }
        if let number {
            if number > last { self.awaitsNumber = false }
            return nil
        }
        guard isOutput else { return nil }
        self.hasUnnumberedOutput = true
        let failure = AttemptFailure.sequenceGap(expected: last + 1, found: nil)
        return .end(failure, self.failed(failure, attempt: attempt, jitter: 0.5))
    }

    /// The treatment of an event whose number does not forbid to read it.
    ///
    /// Where the connection's responses before had every number, one that is out of order may be a late event of theirs.
    private mutating func afterDelivering(
        _ verdict: SequenceTracker.Verdict, number: Int?, attempt: Int
    ) -> NumberedEvent {
        switch verdict {
        case .inOrder, .untracked, .duplicate, .forgotten:
            return .read
        case .contradiction where self.order.hasRestarted:
            let failure = AttemptFailure.contradictoryEvents(.responseRestarted)
            return .end(failure, self.failed(failure, attempt: attempt, jitter: 0.5))
        case .gap, .late, .contradiction:
            guard let number, self.order.expectsEveryNumber, !self.isResumable else {
                guard case .gap = verdict else { return .read }
                return .readBehindGap
            }
            let failure = AttemptFailure.sequenceGap(expected: (self.tracker.last ?? -1) + 1, found: number)
            return .end(failure, self.failed(failure, attempt: attempt, jitter: 0.5))
        }
    }

    /// Whether output has come in another order than its numbers, and no closing text has shown that it is right.
    package var isOutOfOrder: Bool { self.tracker.hasOvertakenOutput && self.ledger.closed.isEmpty }

    /// The knowledge about the connection's responses that the next one on it gets.
    package var earlierResponses: EarlierResponses { self.order.asEarlier(countsByOne: self.tracker.countsByOne) }
}

/// Where to go on in a response that the server keeps.
package struct ResumeCursor: Equatable, Sendable {
    /// The response's identifier.
    package let responseID: String
    /// The number of the newest event that came; nil when none had one.
    package let lastSequenceNumber: Int?

    /// A place in a response.
    package init(responseID: String, lastSequenceNumber: Int?) {
        self.responseID = responseID
        self.lastSequenceNumber = lastSequenceNumber
    }
}
