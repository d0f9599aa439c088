import PlatformFoundation
import ResponseEvents

/// The way in which a server takes requests.
struct RequestForm: Equatable {
    /// The language of the server.
    var dialect = ChappieDialect.responses
    /// The form of a request for a chat completion.
    var chat = ChatForm()
}

extension RequestForm {
    /// Servers that refuse members of messages which are other servers', with those that they send themselves: OpenAI's,
    /// which sends none, Groq's (janhq/jan issue 8136; `reasoning` is in groq-python's types), Cerebras' (OpenMinis/OpenMinis
    /// issue 361) and Mistral's (OpenMinis/OpenMinis issue 87).
    private static let strictServers: [(suffix: String, members: Set<String>)] = [
        (".api.openai.com", []), (".api.groq.com", ["reasoning"]), (".api.cerebras.ai", ["reasoning"]),
        (".api.mistral.ai", ["content"]),
    ]

    /// Takes the form from a configuration: servers are known by their hosts.
    init(_ configuration: ChappieTransportConfiguration) {
        self.dialect = configuration.dialect
        let host = configuration.baseURL.host(percentEncoded: false)?.lowercased() ?? ""
        // With OpenAI's hosts of other regions, and Azure's older names.
        let suffixes = [
            ".api.openai.com", ".openai.azure.com", ".openai.azure.us", ".cognitiveservices.azure.com",
            ".services.ai.azure.com",
        ]
        if suffixes.contains(where: ".\(host)".hasSuffix) { self.chat = .openAI }
        self.chat.takenMembers = Self.strictServers.first { ".\(host)".hasSuffix($0.suffix) }?.members
        if ".\(host)".hasSuffix(".mistral.ai") { self.chat.asksForUsage = false }
    }
}

/// The request in both its forms, read once in a turn, and again when finished items are added.
struct RequestBodies {
    /// The request itself.
    let body: ResponseRequestBody
    private let dialect: ChappieDialect
    /// The body in another API; nil in the Responses API.
    private let ownBody: [UInt8]?
    /// The lane of a WebSocket that carries several responses; nil for the lane without a name.
    private let lane: String?
    private let isWarmUp: Bool
    /// The members of `client_metadata` in a WebSocket's message.
    private let metadata: [String: String]

    /// The maximum size of a WebSocket message, in bytes: servers take 16 MiB at most, and close the connection beyond.
    static let messageByteCountLimit = 16_700_000

    /// Reads a request; throws when its body is not a JSON object, or has no form in the dialect.
    init(
        _ request: ChappieTransportRequest, usesLanes: Bool, metadata: [String: String] = [:],
        form: RequestForm = RequestForm()
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
        // A conversation continues behind its input; any other request is left to the server's judgement.
        guard !request.runsCalls || self.body.hasAcceptableInput else { throw .invalidInput }
        self.lane = usesLanes ? request.lane : nil
        self.isWarmUp = request.isWarmUp
        self.metadata = metadata
        self.dialect = form.dialect
        self.ownBody =
            switch form.dialect {
            case .responses: nil
            case .chatCompletions: try self.body.chatBody(form.chat)
            case .messages: try self.body.messagesBody()
            }
    }

    private init(_ body: ResponseRequestBody, like other: Self) {
        self.body = body
        self.lane = other.lane
        self.isWarmUp = other.isWarmUp
        self.metadata = other.metadata
        self.dialect = other.dialect
        self.ownBody = other.ownBody
    }

    /// Returns the request with finished items behind its input; nil when it has no suitable input.
    func carrying(_ items: [[UInt8]]) -> Self? { self.body.appendingInput(items).map { Self($0, like: self) } }

    /// Indicates whether items can be added behind the input.
    var takesItems: Bool { self.dialect.continuesPartialAnswers && self.body.appendingInput([]) != nil }

    /// Returns one message of a WebSocket: the whole request, or the new part of it.
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
    var http: [UInt8] { self.ownBody ?? self.body.httpBody() }

    /// The lane of a WebSocket that the events of the response name.
    var streamID: [UInt8]? { self.lane.map { Array($0.utf8) } ?? self.body.streamID }

    /// Returns whether the message that holds the whole request is too large for a WebSocket.
    func isTooLargeForWebSocket(turnState: String?) -> Bool {
        // The other parts of a message are far smaller than this.
        guard self.body.approximateByteCount > Self.messageByteCountLimit / 2 else { return false }
        return self.webSocketMessage(turnState: turnState).count >= Self.messageByteCountLimit
    }

    /// Indicates whether the response is made in the background, which can be requested over HTTP only.
    var isBackground: Bool { self.body.isBackground }

    /// Indicates whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.dialect.hasCursor && self.body.isResumable }
}
