import ResponseEvents

/// The request in both its forms, read once a turn, and again when finished items go with it.
struct RequestBodies {
    /// The request itself.
    let body: ResponseRequestBody
    /// The lane of a WebSocket that carries several responses; nil for the one without a name.
    private let lane: String?
    private let isWarmUp: Bool
    /// What goes into `client_metadata` of a WebSocket's message.
    private let metadata: [String: String]

    /// How large a message is taken by a WebSocket, in bytes: servers take 16 MiB at most, and say so by closing.
    static let messageByteCountLimit = 16_700_000

    /// Reads a request; throws when its body is not a JSON object.
    init(
        _ request: ChappieTransportRequest, usesLanes: Bool, metadata: [String: String] = [:]
    ) throws(ResponseRequestBodyError) {
        self.body = try ResponseRequestBody(
            json: request.body,
            overrides: ResponseRequestBody.Overrides(
                model: request.model,
                instructions: request.instructions,
                reasoningEffort: request.reasoningEffort,
                serviceTier: request.serviceTier,
                input: request.prompt.map { .text($0) },
                hasWebSearch: request.searchesWeb ? true : nil))
        // A conversation goes on behind its input; any other request is the server's to judge.
        guard !request.runsCalls || self.body.hasAcceptableInput else { throw .invalidInput }
        self.lane = usesLanes ? request.lane : nil
        self.isWarmUp = request.isWarmUp
        self.metadata = metadata
    }

    private init(_ body: ResponseRequestBody, like other: Self) {
        self.body = body
        self.lane = other.lane
        self.isWarmUp = other.isWarmUp
        self.metadata = other.metadata
    }

    /// The request with finished items behind its input; nil when it has no input to put them behind.
    func carrying(_ items: [[UInt8]]) -> Self? { self.body.appendingInput(items).map { Self($0, like: self) } }

    /// Indicates whether items can be put behind the input.
    var takesItems: Bool { self.body.appendingInput([]) != nil }

    /// One message of a WebSocket: the whole request, or what is new in it.
    func webSocketMessage(
        _ continuation: ResponseRequestBody.Continuation? = nil, turnState: String? = nil
    ) -> [UInt8] {
        let options = ResponseRequestBody.WebSocketOptions(
            continuation: continuation, turnState: turnState, streamID: self.lane, isWarmUp: self.isWarmUp,
            metadata: self.metadata)
        do throws(ResponseRequestBodyError) {
            return try self.body.webSocketMessage(options)
        } catch {
            preconditionFailure("a continuation's input is an array")
        }
    }

    /// The body of a POST.
    var http: [UInt8] { self.body.httpBody() }

    /// The lane of a WebSocket that the events of the response name.
    var streamID: [UInt8]? { self.lane.map { Array($0.utf8) } ?? self.body.streamID }

    /// Returns whether the message that holds the whole request is too large for a WebSocket.
    func isTooLargeForWebSocket(turnState: String?) -> Bool {
        // Whatever else is in a message is far smaller than this.
        guard self.body.approximateByteCount > Self.messageByteCountLimit / 2 else { return false }
        return self.webSocketMessage(turnState: turnState).count >= Self.messageByteCountLimit
    }

    /// Indicates whether the response is made in background, which only HTTP can ask for.
    var isBackground: Bool { self.body.isBackground }

    /// Indicates whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.body.isResumable }
}

extension ChappieTransportRequest {
    /// Indicates whether the lane has a name that a server takes, or none.
    var hasValidLane: Bool {
        guard let lane = self.lane else { return true }
        return (1...256).contains(lane.utf8.count)
            && lane.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "a"..."z", "A"..."Z", "0"..."9", "_", ".", "-": true
                default: false
                }
            }
    }
}
