// What arrives of a response, and how much of it the consumer gets.

extension TurnStateMachine {
    /// A delta of output that the consumer is to see: whole UTF-8.
    package mutating func deltaReceived(_ bytes: Span<UInt8>, in slot: ReplaySlot, attempt: Int) -> Action {
        guard self.isExchanging(attempt) else { return .ignore }
        return self.perform(self.ledger.admit(bytes, in: slot))
    }

    /// A finished tool call that is to be handed over.
    package mutating func toolCallReceived(_ call: ReplayedToolCall, attempt: Int) -> Action {
        guard self.isExchanging(attempt) else { return .ignore }
        return self.perform(self.ledger.admitToolCall(call))
    }

    /// An event of the wire that is to be passed on unparsed.
    package mutating func rawReceived(type: String, attempt: Int) -> Action {
        guard self.isExchanging(attempt) else { return .ignore }
        return self.ledger.admitRaw(type: type) ? .deliver(from: 0) : .ignore
    }

    /// An event with content arrived, whether or not the consumer sees it.
    ///
    /// From then on the transport is known to carry responses.
    package mutating func contentReceived(attempt: Int) -> Action {
        guard self.isExchanging(attempt) else { return .ignore }
        if case .exchanging(_, let transport, hasContent: false) = self.state {
            self.state = .exchanging(attempt: attempt, transport: transport, hasContent: true)
            self.usedRetries.provenTransports.insert(transport)
        }
        return .ignore
    }

    /// True when the response of this attempt is being read; false when the input about it is stale.
    func isExchanging(_ attempt: Int) -> Bool {
        switch self.state {
        case .exchanging(attempt, _, _):
            return true
        case .connecting(let current, _):
            precondition(attempt != current, "output of an attempt that has not opened")
            return false
        case .exchanging, .backingOff, .refreshing, .finished:
            // A connection that was given up, or whose response diverged, may still hold events.
            return false
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    private mutating func perform(_ admission: ReplayLedger.Admission) -> Action {
        switch admission {
        case .deliver(let offset): return .deliver(from: offset)
        case .swallow: return .ignore
        case .diverged: return self.fail(.diverged, nil)
        }
    }
}
