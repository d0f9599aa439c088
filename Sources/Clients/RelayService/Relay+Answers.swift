import ChappieRelay
import ChappieTransport
import RelayHTTPServer
import ResponseEvents

/// The answers of a relay: whole ones, event streams and refusals.
extension Relay {
    /// The user and the exchange of a request.
    struct Caller {
        let exchange: HTTPExchange
        let name: String?
        /// The fields of every answer.
        let fields: [(name: String, value: String)]
        /// Indicates whether only the head of the answer is asked for.
        var isHead = false
    }

    private static let streamFields = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
    ]

    /// Answers with an event stream that a closure writes.
    ///
    /// If it throws, the answer is cut: the client reconnects and continues from its position.
    func stream(to caller: Caller, _ body: () async throws -> Void) async {
        do {
            try caller.exchange.begin(fields: caller.fields + Self.streamFields)
            self.metrics.answered(200)
            guard !caller.isHead else { return self.finish(caller) }
            // Proxies close answers that are silent for long.
            let signOfLife = Task {
                while true {
                    try await Task.sleep(for: .seconds(15))
                    try await caller.exchange.write(Array(":\n\n".utf8))
                }
            }
            defer { signOfLife.cancel() }
            try await body()
            self.finish(caller)
        } catch {
            caller.exchange.abort()
        }
    }

    private func finish(_ caller: Caller) {
        self.endRequest(of: caller)
        caller.exchange.finish()
    }

    /// Answers as a whole; JSON unless a field says otherwise.
    func respond(
        _ caller: Caller, _ status: Int, _ body: String, _ fields: [(name: String, value: String)] = []
    ) {
        let type =
            fields.contains { $0.name == "Content-Type" } || body.isEmpty ? [] : [("Content-Type", "application/json")]
        self.endRequest(of: caller)
        do {
            try caller.exchange.respond(
                HTTPServerResponse(statusCode: status, fields: caller.fields + type + fields, body: Array(body.utf8)))
            self.metrics.answered(status)
        } catch {
            // An answer has begun, or the client has gone.
            caller.exchange.abort()
        }
    }

    /// Refuses a request with a status code, a word for programs and a sentence.
    func refuse(
        _ caller: Caller, _ status: Int, _ code: String, _ message: String,
        _ fields: [(name: String, value: String)] = [], parameter: String? = nil
    ) {
        let error = Self.errorObject(code: code, message: message, parameter: parameter)
        let saysWhen = fields.contains { $0.name == "Retry-After" }
        let later = !saysWhen && (status == 429 || status == 503) ? [("Retry-After", "5")] : []
        self.respond(caller, status, "{\"error\":\(error)}", later + fields)
    }

    /// Refuses a request because of an error.
    func refuse(_ caller: Caller, _ error: any Error) {
        // The client has gone, so it cannot be told.
        if error is CancellationError || error is HTTPExchange.Failure { return }
        let (status, code, message) = Self.refusal(error)
        let delay = (error as? ChappieClientError)?.retryAfter.map { Int(($0 / .seconds(1)).rounded(.up)) }
        self.refuse(
            caller, status, code, message, delay.map { [("Retry-After", "\($0)")] } ?? [],
            parameter: (error as? RelayRequest.Refusal)?.parameter)
    }

    /// Returns the status code, the word and the sentence with which an error is answered.
    static func refusal(_ error: any Error) -> (status: Int, code: String, message: String) {
        switch error {
        case let refusal as RelayRequest.Refusal: (400, refusal.code, refusal.message)
        case ChappieHubError.unknownStream: (404, "not_found", "The response is unknown or expired.")
        case ChappieHubError.tooManyStreams: (429, "too_many_streams", "Too many responses are being made.")
        case ChappieHubError.shutDown: (503, "draining", "The relay is shutting down.")
        // Another attempt reads the same.
        case ChappieHubError.journal(.damaged):
            (500, "stream_damaged", "What the journal has of the stream cannot be read.")
        case ChappieHubError.journal: (503, "journal_unavailable", "The journal cannot be used.")
        case let error as ChappieClientError: self.refusal(ofUpstream: error)
        default: (500, "internal", "The relay has failed.")
        }
    }

    /// Passes on what the client can mend; the upstream's word about the relay's own credential is not the client's.
    private static func refusal(ofUpstream error: ChappieClientError) -> (status: Int, code: String, message: String) {
        let status =
            switch error {
            case .httpError(let status, _) where [400, 404, 413, 422].contains(status): status
            case .transport(let failure) where failure.code == .invalidRequest: 400
            default: error.category == .rateLimit ? 429 : 502
            }
        return (status, error.tag, error.safeDescription)
    }

    /// A code and a sentence for a reader of a stream.
    static func words(_ error: ChappieHubError) -> (code: String, message: String) {
        switch error {
        case .failed(let failure): (failure.tag, failure.message)
        case .cancelled: ("cancelled", "the response was cancelled")
        default: (self.refusal(error).code, self.refusal(error).message)
        }
    }

    /// The JSON text of an error, as the Responses API has it.
    static func errorObject(code: String, message: String, parameter: String? = nil) -> String {
        "{\"message\":\(self.quoted(message)),\"type\":\"relay_error\","
            + "\"param\":\(parameter.map(self.quoted) ?? "null"),\"code\":\(self.quoted(code))}"
    }

    /// Returns whether a client's text may stand in a field of an answer.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 256 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// The JSON text of a string.
    static func quoted(_ text: String) -> String { String(decoding: JSONText.string(text), as: UTF8.self) }
}

extension ChappieHubError {
    /// Indicates whether the response itself has ended so, which every reader is told; what concerns the hub or the
    /// journal is no end of the response.
    var isOfResponse: Bool {
        switch self {
        case .failed, .cancelled: true
        default: false
        }
    }
}
