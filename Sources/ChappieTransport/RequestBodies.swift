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
    private let metadata: [String: String]

    /// Serialises a request; throws when its body is not a JSON object.
    ///
    /// The metadata goes into `client_metadata` of a WebSocket's message.
    init(_ request: ChappieTransportRequest, metadata: [String: String] = [:]) throws(ResponseRequestBodyError) {
        try self.init(
            ResponseRequestBody(
                json: request.body,
                overrides: ResponseRequestBody.Overrides(
                    model: request.model,
                    instructions: request.instructions,
                    reasoningEffort: request.reasoningEffort,
                    serviceTier: request.serviceTier,
                    input: request.prompt.map { .text($0) },
                    hasWebSearch: request.searchesWeb ? true : nil)),
            metadata: metadata)
    }

    private init(_ body: ResponseRequestBody, metadata: [String: String]) throws(ResponseRequestBodyError) {
        self.body = body
        self.streamID = body.streamID
        self.metadata = metadata
        self.webSocket = try body.webSocketMessage(.init(metadata: metadata))
        self.http = body.httpBody()
    }

    /// The request with finished items behind its input; nil when it has no input to put them behind.
    func carrying(_ items: [[UInt8]]) -> Self? {
        self.body.appendingInput(items).flatMap { try? Self($0, metadata: self.metadata) }
    }

    /// Whether items can be put behind the input.
    var takesItems: Bool { self.body.appendingInput([]) != nil }

    /// Whether an output item can be given back as input: reasoning that is not encrypted, for one, cannot.
    static func takes(_ item: [UInt8]) -> Bool {
        guard let body = Self.emptyBody, let carrying = body.appendingInput([item]) else { return false }
        return carrying.httpBody().count > body.httpBody().count
    }

    private static let emptyBody = try? ResponseRequestBody(json: Array(#"{"input":[]}"#.utf8))

    /// Whether the message is too large for a WebSocket: servers take 16 MiB at most, and say so by closing.
    var isTooLargeForWebSocket: Bool { self.webSocket.count >= 16_700_000 }

    /// Whether the response is made in background, which only HTTP can ask for.
    var isBackground: Bool { self.body.isBackground }

    /// Whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.body.isResumable }
}
