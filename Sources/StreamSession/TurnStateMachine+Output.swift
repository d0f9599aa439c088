// What arrives of a response, and how much of it the consumer gets.

extension TurnStateMachine {
    /// A delta of output that the consumer is to see: whole UTF-8.
    package mutating func deltaReceived(_ bytes: Span<UInt8>, in slot: ReplaySlot, attempt: Int) -> Action {
        guard attempt == self.readAttempt || self.isReadingInPlace(attempt) else { return .ignore }
        return self.perform(self.ledger.admit(bytes, in: slot))
    }

    /// An item begins: where it has the index of an earlier one, what came there belongs to that one.
    package mutating func itemBegan(_ outputIndex: Int, attempt: Int) {
        if self.isReading(attempt), self.order.areIndicesShared { self.ledger.beginItem(outputIndex) }
    }

    /// Whether an item belongs to an agent other than the root, so that its text is not the response's.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isAside(_ outputIndex: Int) -> Bool { self.order.isAside(outputIndex) }

    /// Whether what the end of the response has beyond the events before it may be another response's.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func endsUnderAnotherName() -> Bool { self.order.endsUnderAnotherName }

    /// Whether an item was announced that is not done.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func hasOpenItem() -> Bool { self.order.hasOpenItem }

    /// Whether the closing events of an item are held against its output: it is the root's, and announced once.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isClosed(_ outputIndex: Int) -> Bool {
        !self.order.isAside(outputIndex) && !self.order.isRepeated(outputIndex)
    }

    /// Whether an item has been announced under the same name at the same index.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isAnnounced(_ name: UInt64, at outputIndex: Int) -> Bool {
        self.order.isAnnounced(name, at: outputIndex)
    }

    /// Whether one index may stand for several items of the response.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func areIndicesShared() -> Bool { self.order.areIndicesShared }

    /// Holds the text that a slot is closed with against what has come of it.
    ///
    /// A rest is output like any other: `deltaReceived` is told of it next.
    package mutating func closing(_ text: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Closing {
        self.ledger.close(text, in: slot)
    }

    /// The slot that a closing text belongs to, of which an event says this slot, and the item's name or none.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func place(of text: Span<UInt8>, in slot: ReplaySlot, name: UInt64) -> ReplaySlot {
        let mayBeElsewhere = self.order.isUnannounced(name, at: slot.outputIndex)
        return self.ledger.place(of: text, in: slot, mayBeElsewhere: mayBeElsewhere)
    }

    /// The index of the item that an event with this name and index belongs to.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func place(of name: UInt64, at outputIndex: Int) -> Int {
        self.order.place(of: name, at: outputIndex)
    }

    /// Holds all texts of a kind that the response is closed with, in order, against what has come of that kind.
    package func closing(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, itemCount: Int
    ) -> ReplayLedger.Closing {
        // An item that was announced at two indices is one that the end may list once, and one that is open may be an
        // earlier response's: none is left out then.
        let isListed = self.order.hasRepeats || self.order.mayHaveLateItem
        return unsafe self.ledger.close(texts, ofKind: kind, itemCount: isListed ? .max : itemCount)
    }

    /// The slot that more output of a kind continues; nil when nothing has come of the kind.
    package func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? { self.ledger.newestSlot(of: kind) }

    /// A finished tool call that is to be handed over.
    package mutating func toolCallReceived(_ call: ReplayedToolCall, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.perform(self.ledger.admitToolCall(call))
    }

    /// An event of the wire that is to be passed on unparsed.
    ///
    /// The output index is that of the item it belongs to, where it says so.
    package mutating func rawReceived(type: String, outputIndex: Int? = nil, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.ledger.admitRaw(type: type, outputIndex: outputIndex) ? .deliver(from: 0) : .ignore
    }

    /// An event with content arrived, whether or not the consumer sees it.
    ///
    /// From then on the transport is known to carry responses.
    package mutating func contentReceived(attempt: Int) -> Action {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasContent else {
            return .ignore
        }
        exchange.hasContent = true
        self.state = .exchanging(exchange)
        self.usedRetries.provenTransports.insert(exchange.transport)
        return .ignore
    }

    /// An event arrived, whatever it says: the connection is alive.
    package mutating func eventReceived(attempt: Int) {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasEvents else {
            return
        }
        exchange.hasEvents = true
        self.state = .exchanging(exchange)
    }

    /// An item of the response is finished, and can be given back to the server as input.
    package mutating func itemFinished(outputIndex: Int, attempt: Int) -> Bool {
        guard self.isReading(attempt), outputIndex == self.finishedItemCount else { return false }
        self.finishedItemCount += 1
        return true
    }

    /// A finished call of the attempt that broke is run, to be given back to the server with its output.
    ///
    /// It may be given back again, which is as safe as before. Whoever sends the request anew has it run twice.
    package mutating func callCarried() { self.hasCarriedCall = true }

    /// True when the response of this attempt is being read; false when the input about it is stale.
    package func isReading(_ attempt: Int) -> Bool {
        switch self.state {
        case .exchanging(let exchange) where exchange.attempt == attempt:
            return true
        case .connecting(let current, _):
            precondition(attempt != current, "output of an attempt that has not opened")
            return false
        case .racing(let race):
            precondition(!race.isAbout(attempt), "output of an attempt that has not opened")
            return false
        case .exchanging, .backingOff, .refreshing, .finished:
            // A connection that was given up, or whose response diverged, may still hold events.
            return false
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// The same, for what is asked with every event and answered by `readAttempt`: the answer for any other attempt.
    ///
    /// It is mutating so that it looks at the machine where it lies: one that is only looked at is moved first.
    @inline(never)
    package mutating func isReadingInPlace(_ attempt: Int) -> Bool { self.isReading(attempt) }

    /// `isReplayVerified`, for what asks with every event.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isReplayVerifiedInPlace() -> Bool { self.isReplayVerified }

    /// `replaySafety`, for what asks with every batch.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func replaySafetyInPlace() -> ReplaySafety { self.replaySafety }

    /// True when more output of this attempt is nothing but output: it is not the first, everything that was delivered
    /// before has come again, and no number decides whether it is new.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isFlowing(_ attempt: Int) -> Bool {
        guard case .exchanging(let exchange) = self.state, exchange.attempt == attempt else { return false }
        return exchange.hasContent && self.isReplayVerified && !self.isResumable
    }

    @inline(__always)
    private mutating func perform(_ admission: ReplayLedger.Admission) -> Action {
        switch admission {
        case .deliver(let offset):
            if !self.isEventNumbered { self.hasUnnumberedOutput = true }
            return .deliver(from: offset)
        case .swallow: return .ignore
        case .diverged: return self.fail(.diverged, nil)
        case .tooMuch: return self.fail(.fatal, .outputTooLarge(limit: self.outputByteCountLimit))
        }
    }
}
