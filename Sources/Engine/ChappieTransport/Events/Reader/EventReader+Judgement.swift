import ResponseEvents
import StreamSession

/// The first two steps of reading an event: whether it is read, and whether it is new.
extension EventReader {
    /// The verdict on an event.
    enum Judgement {
        /// The event is not read: it is of another lane or another response, or has come before.
        case dropped
        /// The event is read, if it is new.
        case read(Reading)

        /// An event that is read.
        struct Reading {
            /// A number that two different events of the response hardly share; 0 for an event that has no number.
            let fingerprint: UInt64
            /// Indicates whether the response makes progress by the event.
            let isProgress: Bool
            /// Indicates whether the event follows missing numbers: then it is known to be new.
            let isBehindGap: Bool
        }
    }

    /// Decides whether an event is read.
    mutating func judge(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) -> Judgement {
        let fingerprint = unsafe self.fingerprint(of: event, json: json)
        guard self.isOnOurLane(event) else { return .dropped }
        if self.machine.delivery.isRepeated(event.sequenceNumber, fingerprint: fingerprint) {
            self.repeated(event)
            return .dropped
        }
        if let end = self.machine.contradiction(of: event.sequenceNumber, fingerprint: fingerprint, attempt: attempt) {
            self.end = .decided(end, after: nil)
            return .dropped
        }
        // An event behind a gap may be rejected, and then the order of events must not record it: it comes again.
        let isBehindGap = self.machine.delivery.leavesNumbersOut(event.sequenceNumber)
        if isBehindGap {
            guard self.isNew(event, fingerprint: fingerprint, attempt: attempt) else { return .dropped }
        }
        let isProgress = event.isProgress && !self.isAnnouncedAgain(event)
        guard self.belongs(event) else { return .dropped }
        return .read(Judgement.Reading(fingerprint: fingerprint, isProgress: isProgress, isBehindGap: isBehindGap))
    }

    /// Returns whether an event is new, by its number.
    mutating func isNew(_ event: ResponseEvent, fingerprint: UInt64, attempt: Int) -> Bool {
        let verdict = self.machine.numbered(
            event.sequenceNumber, fingerprint: fingerprint, isOutput: event.kind.isOutput, attempt: attempt)
        switch verdict {
        case .read:
            return true
        case .readBehindGap:
            self.noteGap()
            return true
        case .skip:
            return false
        case .end(let failure, let action):
            self.end = .decided(action, after: failure)
            return false
        }
    }

    /// Handles an event that has come before, by its number: it is dropped, unless it shows that another response is
    /// read.
    private mutating func repeated(_ event: ResponseEvent) {
        if self.machine.delivery.order.isOther(event) { return self.fail(.contradictoryEvents(.otherResponse)) }
        switch event.kind {
        case .created: self.machine.delivery.order.rewound()
        case .outputItemAdded(let outputIndex, let item):
            let place = self.machine.delivery.place(of: item.fingerprint, at: outputIndex)
            self.machine.delivery.order.rewound(to: place)
        case .delta, .partDone, .outputItemDone, .completed, .failed, .incomplete, .error, .rateLimits, .metadata,
            .keepalive, .contentFree, .other, .unknown:
            return
        }
    }

    /// Returns whether the event is not one of another lane of the same WebSocket.
    private mutating func isOnOurLane(_ event: ResponseEvent) -> Bool {
        guard let streamID = event.streamID, !streamID.isEmpty else { return true }
        return unsafe self.lane?.elementsEqual(streamID.utf8) ?? false
    }

    /// Returns whether an event announces the response or an item again, which is no progress.
    private mutating func isAnnouncedAgain(_ event: ResponseEvent) -> Bool {
        switch event.kind {
        case .created: self.machine.delivery.order.hasBegun
        case .outputItemAdded(let outputIndex, let item):
            self.machine.delivery.isAnnounced(item.fingerprint, at: outputIndex)
        case .delta, .partDone, .outputItemDone, .completed, .failed, .incomplete, .error, .rateLimits, .metadata,
            .keepalive, .contentFree, .other, .unknown:
            false
        }
    }

    /// Returns whether an event belongs to the response; one that does not is no progress of it.
    private mutating func belongs(_ event: ResponseEvent) -> Bool {
        if case .completed(let summary) = event.kind, self.isLeftOver(summary) { return false }
        self.closesAgain = self.isClosedAgain(event)
        switch self.machine.delivery.judge(event, isAgain: self.closesAgain) {
        case .fine, .tolerated:
            return true
        case .foreign:
            return false
        case .violation(let violation):
            self.fail(.contradictoryEvents(violation))
            return false
        }
    }

    /// Returns whether a response's end is that of an earlier one of the turn, whose identifier is not known.
    private mutating func isLeftOver(_ summary: ResponseSummary) -> Bool {
        summary.id == nil && self.record.isLeftOver(summary.output, answered: self.options.answeredCalls)
    }

    /// Reports missing numbers, once in an attempt.
    private mutating func noteGap() {
        guard !self.findings.hasGap else { return }
        self.findings.hasGap = true
        self.report(ChappieDiagnostic(kind: .sequenceGap, transport: self.transport))
    }

    /// Returns a number that two different events of the response hardly share; 0 for an event that has no number.
    ///
    /// For a delta it is computed from the slot and the text, as padding may differ when it is sent again. For another
    /// event it is computed from its type and place where the server creates it anew for each connection, and from its
    /// bytes otherwise.
    private mutating func fingerprint(of event: ResponseEvent, json: UnsafeRawBufferPointer) -> UInt64 {
        guard event.sequenceNumber != nil, self.machine.delivery.readsNumbers() else { return 0 }
        if case .delta(let kind, let outputIndex, let partIndex, let text) = event.kind {
            return unsafe EventFingerprint.of(
                delta: text.utf8.span,
                in: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex))
        }
        let type = unsafe event.typeName.utf8.span
        guard self.machine.delivery.isResumable else {
            return EventFingerprint.of(type: type, content: unsafe Span(_unsafeBytes: json))
        }
        // An odd number without a pattern distinguishes places.
        let place = UInt64(truncatingIfNeeded: event.kind.outputIndex ?? 0) &* 0x9E37_79B9_7F4A_7C15
        return EventFingerprint.of(type: type, content: type.extracting(..<0)) ^ place
    }
}

extension ResponseOrder {
    /// Returns whether the event names another response than the resumed one, or names an item of it differently.
    fileprivate mutating func isOther(_ event: ResponseEvent) -> Bool {
        switch event.kind {
        case .created(let responseID), .contentFree(let responseID): self.isOther(responseID: responseID)
        case .completed(let summary), .failed(let summary), .incomplete(let summary):
            self.isOther(responseID: summary.id)
        case .outputItemAdded(let outputIndex, let item), .outputItemDone(let outputIndex, let item):
            self.isOther(item.fingerprint, at: outputIndex)
        case .delta(_, let outputIndex, _, _), .partDone(_, let outputIndex, _, _):
            self.isOther(event.itemName, at: outputIndex)
        case .error, .rateLimits, .metadata, .keepalive, .other, .unknown: false
        }
    }
}

extension Delivery {
    /// Returns the relation of the event to the response that is read; with `isAgain` it repeats one of a done item.
    fileprivate mutating func judge(_ event: ResponseEvent, isAgain: Bool) -> ResponseOrder.Verdict {
        switch event.kind {
        case .created(let responseID): self.order.created(responseID: responseID)
        case .delta(let kind, let outputIndex, let partIndex, _):
            self.judge(
                deltaIn: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex), name: event.itemName
            )
        case .partDone(let kind, let outputIndex, let partIndex, _):
            self.order.closing(
                of: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex), name: event.itemName,
                isAgain: isAgain)
        case .outputItemAdded(let outputIndex, let item):
            self.order.itemAdded(
                outputIndex, name: item.fingerprint, isAside: item.isAside, kind: item.itemKind)
        case .outputItemDone(let outputIndex, let item):
            self.order.itemDone(
                outputIndex, name: item.fingerprint, isAside: item.isAside, kind: item.itemKind, isAgain: isAgain)
        case .completed(let summary), .incomplete(let summary):
            self.order.terminal(responseID: summary.id, .complete(names: summary.output.map(\.fingerprint)))
        case .failed(let summary): self.order.terminal(responseID: summary.id, .failure)
        case .error: self.order.terminal(responseID: nil, .error)
        case .contentFree(let responseID): self.order.mentioned(responseID: responseID)
        case .unknown where event.announcesRestart: self.order.restartAnnounced()
        case .other, .unknown: self.order.mentioned(responseID: nil)
        // They concern the connection and the account, not a response.
        case .rateLimits, .metadata, .keepalive: .fine
        }
    }
}

extension ResponseEvent {
    /// Indicates whether an event of an unknown type announces that the answer begins anew, such as `fallback_restart`
    /// of gateways.
    fileprivate var announcesRestart: Bool {
        let words = unsafe String(decoding: self.typeName.utf8.prefix(64), as: UTF8.self)
            .split { !$0.isLetter }.map { $0.lowercased() }
        return !Set(words).isDisjoint(with: ["restart", "restarted", "fallback", "rollback", "rewind"])
    }

    /// The fingerprint of the identifier of the item that a delta or its end belongs to; 0 when it has none.
    var itemName: UInt64 { self.itemID.map { unsafe EventFingerprint.of(name: $0.utf8.span) } ?? 0 }
}

extension ResponseEvent.Kind {
    /// Indicates whether it is a piece of the response's output.
    fileprivate var isOutput: Bool {
        switch self {
        // An end may be the only sign that there is no more output.
        case .delta, .partDone, .outputItemDone, .completed: true
        case .created, .outputItemAdded, .failed, .incomplete, .error, .rateLimits, .metadata, .keepalive,
            .contentFree, .other, .unknown:
            false
        }
    }

    /// The index of the event's item, where it names one.
    var outputIndex: Int? {
        switch self {
        case .delta(_, let outputIndex, _, _), .partDone(_, let outputIndex, _, _),
            .outputItemAdded(let outputIndex, _), .outputItemDone(let outputIndex, _):
            outputIndex
        case .created, .completed, .failed, .incomplete, .error, .rateLimits, .metadata, .keepalive, .contentFree,
            .other, .unknown:
            nil
        }
    }
}
