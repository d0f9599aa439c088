import ResponseEvents
import StreamSession
import StreamTransport

/// Events that are none of the Responses API's: errors without a type, and other APIs.
extension TurnDriver {
    /// An object without a type; what says nothing is padding.
    func receivedUntyped(_ json: UnsafeRawBufferPointer, attempt: Int) {
        if let event = unsafe UntypedEvent(json) { unsafe self.received(event, json: json, attempt: attempt) }
    }

    /// An object without a type, in a server-sent event whose event type is one of the Responses API's.
    ///
    /// - Returns: false for any other event type.
    func receivedEvent(_ json: UnsafeRawBufferPointer, addingType type: UnsafeRawBufferPointer, attempt: Int) -> Bool {
        let name = unsafe Array(type)
        let object = unsafe Array(json)
        let isName = name.allSatisfy {
            (0x61...0x7A).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
        }
        guard isName, name.starts(with: "response.".utf8), let brace = object.firstIndex(of: UInt8(ascii: "{")) else {
            return false
        }
        let members = object[(brace + 1)...]
        let isEmpty = members.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "}")
        var event = Array(#"{"type":""#.utf8) + name + Array((isEmpty ? "\"" : "\",").utf8) + members
        let count = event.count
        event.append(contentsOf: repeatElement(0, count: ResponseEventDecoder.paddingByteCount))
        unsafe event.withUnsafeBytes { bytes in
            unsafe self.receivedEvent(UnsafeRawBufferPointer(rebasing: bytes[..<count]), attempt: attempt)
        }
        return true
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
        if case .otherAPI = end, self.reader.responseID != nil { return false }
        unsafe self.received(end, json: json, attempt: attempt)
        return true
    }

    private func received(_ event: UntypedEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        // The deltas before it came first.
        self.noteProgressOfQueued()
        guard self.reader.machine.isReading(attempt) else { return }
        self.reader.machine.eventReceived(attempt: attempt)
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
