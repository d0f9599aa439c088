import ResponseEvents
import StreamSession
import StreamTransport

/// The failure that the end of an attempt means, as far as its answer is known.
///
/// Words of the server go to the reader's evidence.
extension Attempt {
    /// Returns the failure of an attempt whose connection has ended.
    mutating func failure(at end: TransportEnd, _ reader: inout EventReader) -> AttemptFailure {
        // The status code is known, and is more precise than the way the body ended.
        if self.isWithoutResponse { return self.refusal(&reader) }
        if case .closed(_, let reason) = end { reader.evidence.closed(reason) }
        if self.isOtherDocument(&reader) { return .unexpectedContentType }
        if !self.hasEvents, self.refusal.isCompressed {
            return .transport(TransportFailure(phase: .firstEvent, cause: .unsupportedContentCoding))
        }
        return AttemptFailure(end, beforeFirstEvent: !self.hasEvents)
    }

    /// Returns the failure of an attempt that has used a time budget up.
    mutating func failure(
        after budget: AttemptFailure.TimeBudget, _ reader: inout EventReader
    ) -> AttemptFailure {
        switch budget {
        case .firstEvent:
            // The status code is known, and is more precise than the missing body.
            if self.isWithoutResponse { return self.refusal(&reader) }
            if self.isOtherDocument(&reader) { return .unexpectedContentType }
        case .idle, .progress:
            if reader.awaitsToolOutput() { return .toolOutputAwaited }
        case .total:
            break
        }
        return .timeout(budget)
    }

    /// Returns the failure of an attempt with a refusal whose body, or its kept part, has come.
    func refusal(_ reader: inout EventReader) -> AttemptFailure {
        if self.isOtherContent {
            reader.evidence.read(body: self.refusal)
            return .unexpectedContentType
        }
        let facts = reader.evidence.refusal(self.refusal, of: self.head, known: reader.usageLimits)
        return self.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts)
    }

    private mutating func isOtherDocument(_ reader: inout EventReader) -> Bool {
        guard self.isOtherDocument() else { return false }
        reader.evidence.read(body: self.refusal)
        return true
    }
}

extension AttemptFailure {
    /// Creates the failure of an attempt from the end of its connection.
    init(_ end: TransportEnd, beforeFirstEvent: Bool) {
        switch end {
        case .complete: self = beforeFirstEvent ? .endedWithoutEvent : .endedEarly
        case .closed(let code, _): self = .closed(code: code, beforeFirstEvent: beforeFirstEvent)
        case .failed(let failure): self = .transport(failure)
        }
    }
}

extension AttemptFailure {
    /// Creates the failure of an attempt whose event cannot be decoded; events have a limit in bytes.
    init(_ error: ResponseEventError, byteCountLimit: Int) {
        switch error {
        case .tooLarge: self = .eventTooLarge(limit: byteCountLimit)
        case .tooManyItems: self = .tooManyItems(limit: ResponseSummary.maximumOutputCount)
        case .missingType, .notJSON, .notObject, .invalidField, .tooDeep, .outOfMemory, .invalidUTF8:
            self = .undecodableEvent
        }
    }
}

extension [UInt8] {
    /// Indicates whether the bytes begin as gzip does (RFC 1952 section 2.3.1), which no text in UTF-8 does.
    var isCompressed: Bool { self.starts(with: [0x1F, 0x8B]) }
}

extension ResponseHead {
    /// The fields as pairs.
    var namedFields: [(name: String, value: String)] {
        self.fields.map { (name: $0.name, value: $0.value) }
    }
}
