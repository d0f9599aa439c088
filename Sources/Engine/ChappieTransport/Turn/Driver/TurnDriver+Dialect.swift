import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// The reading of a server that speaks another API than Responses: its events are read as those that they stand for.
///
/// The consumer gets output, finished calls in the form of the Responses API, and of everything else the event itself.
extension TurnDriver {
    /// Begins the answer of an attempt.
    func beginAnswer() {
        let limit = self.engine.configuration.limits.eventByteCount
        self.decoder =
            switch self.engine.configuration.dialect {
            case .responses: nil
            case .chatCompletions: ChatCompletionsDecoder(byteCountLimit: limit)
            case .messages: MessagesDecoder(byteCountLimit: limit)
            }
    }

    /// Handles the data of one event of another API.
    func received(_ event: ServerSentEventBytes, of decoder: any DialectDecoder, attempt: Int) {
        // An event behind the end of the attempt is stale.
        guard self.reader.machine.isReading(attempt) else { return }
        do throws(ResponseEventError) {
            switch unsafe try decoder.read(event.data, named: event.type) {
            case .event(let events, let isSurfaced):
                if events.isEmpty { self.noteSignOfLife(isProgress: false, attempt: attempt) }
                unsafe self.passOn(event.data, as: decoder.eventType, isSurfaced: isSurfaced, attempt: attempt)
                self.received(events, attempt: attempt)
            case .output(let delta):
                switch self.reader.read(delta, attempt: attempt) {
                case .queued, .dropped: return
                case .action(let action): self.action = action
                case .scanned:
                    unsafe self.passOn(event.data, as: decoder.eventType, isSurfaced: true, attempt: attempt)
                    self.received(TranslatedEvents(delta), attempt: attempt)
                }
            case .end(let events): self.received(events, attempt: attempt)
            case .otherAPI(let dialect): self.failed(.otherAPI(OtherAPI(dialect)))
            case .other: unsafe self.receivedEvent(event.data, named: event.type, attempt: attempt)
            }
        } catch {
            unsafe self.failed(toDecode: error, event.data, named: event.type, attempt: attempt)
        }
    }

    /// Ends the answer at the end of a body in order: some servers send no `[DONE]`.
    func endAnswer(attempt: Int) {
        guard self.attempts.current?.stage == .streaming, let events = self.decoder?.end(), !events.isEmpty else {
            return
        }
        self.reader.beginBatch(attempt: attempt, at: self.moment)
        self.received(events, attempt: attempt)
        self.endBatch()
    }

    /// Returns whether an event is one with which an answer ends, as far as its bytes show.
    func isTerminal(_ event: ServerSentEventBytes) -> Bool {
        if let decoder = self.decoder, unsafe decoder.isTerminal(event.data) { return true }
        return unsafe self.reader.isTerminal(event)
    }

    private func received(_ events: TranslatedEvents, attempt: Int) {
        self.reader.isTranslated = true
        defer { self.reader.isTranslated = false }
        unsafe events.forEach { json in unsafe self.receivedEvent(json, attempt: attempt) }
    }

    /// Passes on an event to a consumer that wants every event, or those that hold no output.
    private func passOn(_ json: UnsafeRawBufferPointer, as type: String, isSurfaced: Bool, attempt: Int) {
        switch self.reader.options.rawEvents {
        case .none: return
        case .unsurfaced: if isSurfaced { return }
        case .all: break
        }
        guard case .deliver = self.reader.machine.rawReceived(type: type, attempt: attempt) else { return }
        self.reader.deliver(.raw(type: type, payload: unsafe String(decoding: json, as: UTF8.self)))
    }
}

extension OtherAPI {
    /// Takes the API of a dialect.
    init(_ dialect: ChappieDialect) {
        switch dialect {
        case .responses: self = .responses
        case .chatCompletions: self = .chatCompletions
        case .messages: self = .messages
        }
    }
}
