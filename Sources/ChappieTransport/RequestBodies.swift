import ResponseEvents

/// The request in both its forms, made once a turn.
struct RequestBodies {
    /// One message of a WebSocket.
    let webSocket: [UInt8]
    /// The body of a POST.
    let http: [UInt8]

    /// Serialises a request; throws when its body is not a JSON object.
    init(_ request: ChappieTransportRequest) throws(ResponseRequestBodyError) {
        let body = try ResponseRequestBody(
            json: request.body,
            overrides: ResponseRequestBody.Overrides(
                model: request.model,
                instructions: request.instructions,
                reasoningEffort: request.reasoningEffort,
                serviceTier: request.serviceTier,
                input: request.prompt.map { .text($0) },
                hasWebSearch: request.searchesWeb ? true : nil))
        self.webSocket = try body.webSocketMessage()
        self.http = body.httpBody()
    }

    /// Whether the message is too large for a WebSocket: servers take 16 MiB at most, and say so by closing.
    var isTooLargeForWebSocket: Bool { self.webSocket.count >= 16_700_000 }
}
