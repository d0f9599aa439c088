import ResponseEvents
import StreamSession
import StreamTransport

/// Events that are none of the Responses API's: errors without a type, and other APIs.
extension TurnDriver {
    /// An object without a type; what says nothing is padding.
    func receivedUntyped(_ json: UnsafeRawBufferPointer, attempt: Int) {
        if let event = unsafe UntypedEvent(json) { unsafe self.received(event, json: json, attempt: attempt) }
    }

    /// The data of a server-sent event whose event type is `error`.
    func receivedNamedError(_ data: UnsafeRawBufferPointer, attempt: Int) {
        if let event = unsafe UntypedEvent(dataOfError: data) {
            unsafe self.received(event, json: data, attempt: attempt)
        } else {
            unsafe self.receivedEvent(data, attempt: attempt)
        }
    }

    /// Whether an event of an unknown type is an error, or the beginning of a response of another API, which ends the
    /// attempt.
    func isEnd(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) -> Bool {
        guard let end = unsafe UntypedEvent(json, ofUnknownType: event.typeName) else { return false }
        if case .otherAPI = end, self.responseID != nil { return false }
        unsafe self.received(end, json: json, attempt: attempt)
        return true
    }

    private func received(_ event: UntypedEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        // The deltas before it came first.
        self.noteProgressOfQueued()
        guard self.machine.isReading(attempt) else { return }
        self.machine.eventReceived(attempt: attempt)
        switch event {
        case .error(let error): unsafe self.receivedError(error, json: json)
        case .otherAPI(let api): self.failed(.otherAPI(OtherAPI(api)))
        }
    }
}

extension OtherAPI {
    fileprivate init(_ api: UntypedEvent.API) {
        switch api {
        case .chatCompletions: self = .chatCompletions
        case .messages: self = .messages
        }
    }
}
