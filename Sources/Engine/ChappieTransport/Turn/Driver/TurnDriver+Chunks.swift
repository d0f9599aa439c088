import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// The reading of a server that speaks Chat Completions: its chunks are read as the events that they stand for.
///
/// The consumer gets output, finished calls in the form of the Responses API, and of everything else the chunk itself.
extension TurnDriver {
    /// The type under which the consumer gets a chunk, which has none of its own.
    private static let chunkType = "chat.completion.chunk"

    /// Begins the answer of an attempt.
    func beginChunks() {
        self.chunks =
            switch self.engine.configuration.dialect {
            case .responses: nil
            case .chatCompletions:
                ChatCompletionsDecoder(byteCountLimit: self.engine.configuration.limits.eventByteCount)
            }
    }

    /// Handles the data of one event.
    func receivedChunk(_ event: ServerSentEventBytes, attempt: Int) {
        // A chunk behind the end of the attempt is stale.
        guard self.reader.machine.isReadingInPlace(attempt) else { return }
        do throws(ResponseEventError) {
            switch unsafe try self.chunks?.read(event.data) {
            case .chunk(let events, let isSurfaced):
                if events.isEmpty { self.noteSignOfLife(isProgress: false, attempt: attempt) }
                unsafe self.passOn(chunk: event.data, isSurfaced: isSurfaced, attempt: attempt)
                self.received(events, attempt: attempt)
            case .end(let events): self.received(events, attempt: attempt)
            case .otherAPI: self.failed(.otherAPI(.responses))
            case .other, nil: unsafe self.receivedEvent(event.data, named: event.type, attempt: attempt)
            }
        } catch {
            unsafe self.failed(toDecode: error, event.data, named: event.type, attempt: attempt)
        }
    }

    /// Ends the answer at the end of a body in order: some servers send no `[DONE]`.
    func endChunks(attempt: Int) {
        guard self.attempts.current?.stage == .streaming, let events = self.chunks?.end(), !events.isEmpty else {
            return
        }
        self.reader.beginBatch(attempt: attempt, at: self.moment)
        self.received(events, attempt: attempt)
        self.endBatch()
    }

    /// Returns whether an event is one with which an answer ends, as far as its bytes show.
    func isTerminal(_ event: ServerSentEventBytes) -> Bool {
        if let chunks = self.chunks, unsafe chunks.isTerminal(event.data) { return true }
        return unsafe self.reader.isTerminal(event)
    }

    private func received(_ events: TranslatedEvents, attempt: Int) {
        self.reader.isTranslated = true
        defer { self.reader.isTranslated = false }
        unsafe events.forEach { json in unsafe self.receivedEvent(json, attempt: attempt) }
    }

    /// Passes on a chunk to a consumer that wants every event, or those that hold no output.
    private func passOn(chunk json: UnsafeRawBufferPointer, isSurfaced: Bool, attempt: Int) {
        switch self.reader.options.rawEvents {
        case .none: return
        case .unsurfaced: if isSurfaced { return }
        case .all: break
        }
        guard case .deliver = self.reader.machine.rawReceived(type: Self.chunkType, attempt: attempt) else { return }
        self.reader.deliver(.raw(type: Self.chunkType, payload: unsafe String(decoding: json, as: UTF8.self)))
    }
}
