import ResponseEvents

/// The request in both its forms, made once a turn, and again when finished items go with it.
struct RequestBodies {
    /// One message of a WebSocket.
    let webSocket: [UInt8]
    /// The body of a POST.
    let http: [UInt8]
    /// The lane of a WebSocket that the caller asks for.
    let streamID: [UInt8]?
    private let body: ResponseRequestBody

    /// Serialises a request; throws when its body is not a JSON object.
    init(_ request: ChappieTransportRequest) throws(ResponseRequestBodyError) {
        try self.init(
            ResponseRequestBody(
                json: request.body,
                overrides: ResponseRequestBody.Overrides(
                    model: request.model,
                    instructions: request.instructions,
                    reasoningEffort: request.reasoningEffort,
                    serviceTier: request.serviceTier,
                    input: request.prompt.map { .text($0) },
                    hasWebSearch: request.searchesWeb ? true : nil)))
    }

    private init(_ body: ResponseRequestBody) throws(ResponseRequestBodyError) {
        self.body = body
        self.streamID = body.streamID
        self.webSocket = try body.webSocketMessage()
        self.http = body.httpBody()
    }

    /// The request with finished items behind its input; nil when it has no input to put them behind.
    func carrying(_ items: [[UInt8]]) -> Self? {
        self.body.appendingInput(items).flatMap { try? Self($0) }
    }

    /// Whether items can be put behind the input.
    var takesItems: Bool { self.body.appendingInput([]) != nil }

    /// Whether the message is too large for a WebSocket: servers take 16 MiB at most, and say so by closing.
    var isTooLargeForWebSocket: Bool { self.webSocket.count >= 16_700_000 }

    /// Whether the response is made in background, which only HTTP can ask for.
    var isBackground: Bool { self.body.isBackground }

    /// Whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.body.isResumable }
}
