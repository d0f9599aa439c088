// A turn of a model, sent on to a browser as server-sent events.
//
// Nothing here belongs to a web framework: an adapter of a few lines makes its response a `BrowserResponse`.
import Chappie
import ServerSentEvents

/// The response to one request of a browser.
protocol BrowserResponse {
    /// Sends the head.
    mutating func sendHead(statusCode: Int, fields: [String: String]) async throws

    /// Sends bytes of the body, and returns when the connection takes more.
    ///
    /// Throws when the browser has left.
    mutating func sendBody(_ bytes: [UInt8]) async throws
}

/// Sends the text of a turn as events of the types `text`, `refusal`, `restart`, `done` and `failed`, whose data is JSON;
/// `restart` voids the text before it.
///
/// - Back-pressure: the turn is read only when the browser's connection has taken what was read before.
/// - A browser that leaves: `sendBody` throws, or the framework cancels this task. Both end the turn, and the server of
///   the model stops.
/// - A browser that asks again, with the `Last-Event-ID` of this answer: it is told to stop.
/// - A server that is shut down while the turn runs: the browser gets `failed`, and may ask another server.
func relay<Response: BrowserResponse>(
    _ turn: ChappieStreamHandle, lastEventID: String?, to response: inout Response
) async throws {
    // However this function ends, the turn ends too.
    defer { turn.cancel() }
    // A browser's EventSource sends its request again when a connection ends, which would be another turn, and another
    // bill. Such a request has the ID of an event, and 204 tells it to stop (WHATWG HTML section 9.2.1).
    guard lastEventID == nil else { return try await response.sendHead(statusCode: 204, fields: [:]) }

    var serializer = EventStreamSerializer()
    var hasHead = false
    do {
        // A batch is everything that is there already: one write for all of it.
        for try await batch in turn.batches() {
            var bytes: [UInt8] = []
            for event in batch.compactMap(browserEvent) { try serializer.serialize(event, appendingTo: &bytes) }
            guard !bytes.isEmpty else { continue }
            // The head waits for the first event, because an error before it can still be a status code.
            if !hasHead { try await response.sendHead(statusCode: 200, fields: eventStreamFields) }
            hasHead = true
            try await response.sendBody(bytes)
        }
    } catch let error as ChappieClientError {
        // A shutdown ends this process's turns, and a browser may ask another one.
        let mayRetry = error.isRetryable || error.tag == "engine.shut-down"
        // The tag is a stable word without content. The server's own message may repeat the request: it stays here.
        let data = ChappieJSONValue.object(["error": .string(error.tag), "retry": .bool(mayRetry)]).jsonText
        guard hasHead else {
            let statusCode = mayRetry ? 503 : 502
            try await response.sendHead(statusCode: statusCode, fields: ["content-type": "application/json"])
            return try await response.sendBody(Array(data.utf8))
        }
        try await response.sendBody(serializer.bytes(for: serverSentEvent("failed", data)))
    }
}

/// Fields without which caches would keep the answer, and nginx would collect it before it passes it on.
private let eventStreamFields = [
    "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no",
]

/// Returns the event that a browser gets; nil for those that are not its business, such as reasoning.
private func browserEvent(_ event: ChappieStreamEvent) -> ServerSentEvent? {
    switch event {
    case .textDelta(let text): serverSentEvent("text", ChappieJSONValue.string(text).jsonText)
    case .refusalDelta(let text): serverSentEvent("refusal", ChappieJSONValue.string(text).jsonText)
    case .restarted: serverSentEvent("restart", "{}")
    case .completed: serverSentEvent("done", "{}")
    default: nil
    }
}

/// Returns an event whose ID says, in a request that repeats this one, that the turn had begun.
private func serverSentEvent(_ type: String, _ data: String) -> ServerSentEvent {
    ServerSentEvent(type: type, data: data, lastEventID: "begun")
}
