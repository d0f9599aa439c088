#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A conversation with a model, and the connection that carries it.
///
/// Each message is a turn: the model answers, calls tools, reads what they give back, and answers again, until it has
/// said everything. What was said is the context of the next turn. A conversation has one turn at a time: reading a
/// second one throws `ChappieClientError.alreadyRunning`, and the first goes on. Nothing happens before a turn is read.
///
/// A turn that fails or is cancelled before any response of it was complete leaves the conversation as it was, so that
/// the same message can be sent again. After that, what was complete stays, and a call that has no output gets the text
/// `aborted`.
///
/// ```swift
/// let client = Chappie.client(tools: [weather])
/// for try await event in client.stream("What is the weather in Oslo?") {
///     if case .textDelta(let text) = event { print(text, terminator: "") }
/// }
/// ```
///
/// It may be used from any task.
public final class ChappieClient: Sendable {
    /// What the client was told.
    public let configuration: ChappieConfiguration
    /// The engine, shared with the conversations beside this one.
    let transport: ChappieStreamingTransport
    /// What was said.
    let conversation: Conversation
    private let setup: TurnSetup

    /// A client with an engine of its own.
    convenience init(configuration: ChappieConfiguration) {
        let transport = ChappieStreamingTransport(configuration: configuration.transport)
        self.init(
            configuration: configuration, transport: transport,
            conversation: Conversation(context: ChappieClientContext()))
    }

    private init(configuration: ChappieConfiguration, transport: ChappieStreamingTransport, conversation: Conversation)
    {
        self.configuration = configuration
        self.transport = transport
        self.conversation = conversation
        self.setup = TurnSetup(configuration, transport: transport)
    }

    // MARK: Turns

    /// Says something, and returns the whole text of the answer.
    ///
    /// Of a turn with tools it is the text of all its responses, one behind the other: every `textDelta` that a stream
    /// would have had.
    public func send(_ prompt: String) async throws -> String { try await self.send(ChappieResponseRequest(prompt)) }

    /// Says something, and returns the whole text of the answer.
    public func send(_ message: ChappieInputMessage) async throws -> String {
        try await self.send(ChappieResponseRequest(message))
    }

    /// Asks for something, and returns the whole text of the answer.
    public func send(_ request: ChappieResponseRequest) async throws -> String {
        try await self.response(request).outputText
    }

    /// Says something, and returns the answer with its status and what it cost.
    public func response(_ prompt: String) async throws -> ChappieResponse {
        try await self.response(ChappieResponseRequest(prompt))
    }

    /// Says something, and returns the answer with its status and what it cost.
    public func response(_ message: ChappieInputMessage) async throws -> ChappieResponse {
        try await self.response(ChappieResponseRequest(message))
    }

    /// Asks for something, and returns the answer with its status and what it cost.
    ///
    /// Of a turn with tools, `outputText` is the text of all its responses, `usage` their sum, and everything else is
    /// the last one's.
    public func response(_ request: ChappieResponseRequest) async throws -> ChappieResponse {
        let turn = self.turn(request)
        var text = ""
        while let events = try await turn.nextBatch() {
            for case .textDelta(let delta) in events { text += delta }
        }
        return turn.summary.response(text: text)
    }

    /// The events of a turn that says something.
    ///
    /// Dropping the stream, and cancelling the task that reads it, end the turn. A stream cancelled while its consumer
    /// waits throws `CancellationError`; a task that is cancelled between two elements may see the stream end without
    /// an error, which is the standard library's doing.
    public func stream(_ prompt: String) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamResponse(ChappieResponseRequest(prompt))
    }

    /// The events of a turn that says something.
    public func stream(_ message: ChappieInputMessage) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamResponse(ChappieResponseRequest(message))
    }

    /// The events of a turn.
    public func streamResponse(
        _ request: ChappieResponseRequest
    ) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(request).events
    }

    /// The events of a turn that says something, with a handle that can stop it and report on it.
    public func streamHandle(_ prompt: String) -> ChappieStreamHandle {
        self.streamHandle(ChappieResponseRequest(prompt))
    }

    /// The events of a turn that says something, with a handle that can stop it and report on it.
    public func streamHandle(_ message: ChappieInputMessage) -> ChappieStreamHandle {
        self.streamHandle(ChappieResponseRequest(message))
    }

    /// The events of a turn, with a handle that can stop it and report on it.
    public func streamHandle(_ request: ChappieResponseRequest) -> ChappieStreamHandle {
        ChappieStreamHandle(turn: self.turn(request))
    }

    private func turn(_ request: ChappieResponseRequest) -> ConversationTurn {
        ConversationTurn(setup: self.setup, request: request, conversation: self.conversation)
    }

    /// Opens the connection that the next turn will use, and lets the server prepare what the conversation holds.
    ///
    /// Nothing is generated. It does nothing where there is no WebSocket, and while a turn is under way; a failure has
    /// no consequences: the turn that follows meets it again. When the task is cancelled it returns, and the connection
    /// is closed.
    ///
    /// ```swift
    /// await client.prewarm()   // while the person still types
    /// ```
    public func prewarm() async {
        guard let request = ConversationTurn.warmUp(setup: self.setup, conversation: self.conversation) else { return }
        await self.transport.prewarm(request)
    }

    /// The models that the server offers.
    ///
    /// It fails as a turn does: with `ChappieClientError`.
    public func models() async throws -> [ChappieModel] {
        let document = try await self.transport.fetch(path: self.configuration.endpoint.modelsPath)
        guard let models = ChappieModel.models(in: document.body) else { throw ChappieClientError.invalidResponse }
        return models
    }

    /// How much of the account's usage limits is spent.
    ///
    /// Servers tell signed-in accounts; keys have no such limits. It fails as a turn does: with `ChappieClientError`,
    /// which is `invalidResponse` for a document that makes no sense.
    public func usage() async throws -> ChappieUsage {
        let document = try await self.transport.fetch(path: self.configuration.endpoint.usagePathOrDefault)
        guard let usage = ChappieUsage(body: document.body, now: Date()) else {
            throw ChappieClientError.invalidResponse
        }
        return usage
    }

    // MARK: The conversation

    /// What was said so far.
    ///
    /// A turn that is under way is no part of it. Setting it begins from there; a turn that is under way then leaves
    /// nothing.
    public var context: ChappieClientContext {
        get { self.conversation.context }
        set { self.conversation.context = newValue }
    }

    /// Forgets what was said.
    ///
    /// A turn that is under way goes on, and leaves nothing.
    public func clearContext() { self.conversation.context = ChappieClientContext() }

    /// Another, empty conversation over the same engine.
    ///
    /// With `ChappieConfiguration.usesLanes`, it uses the one of this name on the same WebSocket: 1 to 256 of
    /// `A–Z a–z 0–9 _ . -`. Elsewhere each running response has a connection of its own.
    public func lane(_ name: String) -> ChappieClient {
        ChappieClient(
            configuration: self.configuration, transport: self.transport,
            conversation: Conversation(context: ChappieClientContext(), lane: name))
    }

    /// Another conversation over the same engine, which begins with what was said in this one.
    ///
    /// From there on the two go their own ways. See `lane(_:)` for the name.
    public func fork(lane name: String) -> ChappieClient {
        ChappieClient(
            configuration: self.configuration, transport: self.transport,
            conversation: Conversation(
                context: self.conversation.context, lane: name, forkedFrom: self.conversation.lane))
    }
}
