import PlatformFoundation

/// One conversation with a model, over an engine that it may share with others.
///
/// A server makes one client, and calls `conversation()` for each user. Each message is a turn: the model answers,
/// calls tools, reads their outputs, and answers again, until it is done. The messages of a turn are the context of the
/// next one. A conversation has one turn at a time: reading a second one throws `ChappieClientError.alreadyRunning`,
/// and the first continues. A turn begins when it is read.
///
/// A turn that fails or is cancelled before its first complete response leaves the conversation unchanged, so that the
/// same message can be sent again. After that, complete responses are kept, and a call without an output gets the text
/// `aborted`.
///
/// ```swift
/// let client = Chappie.client(tools: [weather])
/// for try await event in client.stream("What is the weather in Oslo?") {
///     if case .textDelta(let text) = event { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
/// }
/// ```
///
/// It may be used from any task.
public final class ChappieClient: Sendable {
    /// The client's configuration.
    public let configuration: ChappieConfiguration
    /// The engine, shared with the client's lanes and forks.
    let transport: ChappieStreamingTransport
    /// The conversation's context and state.
    let state: Conversation
    private let setup: TurnSetup

    /// Creates a client with an engine of its own.
    convenience init(configuration: ChappieConfiguration) {
        let transport = ChappieStreamingTransport(configuration: configuration.engine)
        self.init(
            configuration: configuration, setup: TurnSetup(configuration, transport: transport),
            conversation: Conversation(context: ChappieClientContext()))
    }

    private init(configuration: ChappieConfiguration, setup: TurnSetup, conversation: Conversation) {
        self.configuration = configuration
        self.transport = setup.transport
        self.state = conversation
        self.setup = setup
    }

    // MARK: Turns

    /// Sends a message, and returns the whole text of the answer.
    ///
    /// For a turn with tools it is the text of all its responses, concatenated: every `textDelta` that a stream would
    /// have had.
    public func send(_ prompt: String) async throws -> String { try await self.send(ChappieResponseRequest(prompt)) }

    /// Sends a message, and returns the whole text of the answer.
    public func send(_ message: ChappieInputMessage) async throws -> String {
        try await self.send(ChappieResponseRequest(message))
    }

    /// Sends a request, and returns the whole text of the answer.
    public func send(_ request: ChappieResponseRequest) async throws -> String {
        try await self.response(request).outputText
    }

    /// Sends a message, and returns the answer with its status and its usage.
    public func response(_ prompt: String) async throws -> ChappieResponse {
        try await self.response(ChappieResponseRequest(prompt))
    }

    /// Sends a message, and returns the answer with its status and its usage.
    public func response(_ message: ChappieInputMessage) async throws -> ChappieResponse {
        try await self.response(ChappieResponseRequest(message))
    }

    /// Sends a request, and returns the answer with its status and its usage.
    ///
    /// For a turn with tools, `outputText` is the text of all its responses, `usage` their sum, and all other
    /// properties are those of the last response.
    public func response(_ request: ChappieResponseRequest) async throws -> ChappieResponse {
        let turn = self.turn(request)
        var text = ""
        while let events = try await turn.next(for: .batches, reusing: []) {
            text.append(textOf: events)
        }
        return turn.summary.response(text: text)
    }

    /// Returns the events of a turn that sends a message.
    ///
    /// Dropping the stream, and cancelling the task that reads it, end the turn. A stream cancelled while its consumer
    /// waits throws `CancellationError`; a task that is cancelled between two elements may see the stream end without
    /// an error, because of the standard library.
    public func stream(_ prompt: String) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamResponse(ChappieResponseRequest(prompt))
    }

    /// Returns the events of a turn that sends a message.
    public func stream(_ message: ChappieInputMessage) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamResponse(ChappieResponseRequest(message))
    }

    /// Returns the events of a turn.
    public func streamResponse(
        _ request: ChappieResponseRequest
    ) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(request).events
    }

    /// Returns the events of a turn that sends a message, like `stream(_:)`, as a sequence whose elements cost less.
    public func events(_ prompt: String) -> ChappieEventSequence { self.events(ChappieResponseRequest(prompt)) }

    /// Returns the events of a turn that sends a message, like `stream(_:)`, as a sequence whose elements cost less.
    public func events(_ message: ChappieInputMessage) -> ChappieEventSequence {
        self.events(ChappieResponseRequest(message))
    }

    /// Returns the events of a turn, like `streamResponse(_:)`, as a sequence whose elements cost less.
    public func events(_ request: ChappieResponseRequest) -> ChappieEventSequence {
        self.streamHandle(request).sequence()
    }

    /// Passes each event of a turn that sends a message to a closure, and returns when the turn has ended; see
    /// `withEvents(of:isolation:_:)` with a request.
    public func withEvents(
        of prompt: String, isolation actor: isolated (any Actor)? = #isolation,
        _ body: (ChappieStreamEvent) async throws -> Void
    ) async throws {
        try await self.withEvents(of: ChappieResponseRequest(prompt), isolation: actor, body)
    }

    /// Passes each event of a turn that sends a message to a closure, and returns when the turn has ended; see
    /// `withEvents(of:isolation:_:)` with a request.
    public func withEvents(
        of message: ChappieInputMessage, isolation actor: isolated (any Actor)? = #isolation,
        _ body: (ChappieStreamEvent) async throws -> Void
    ) async throws {
        try await self.withEvents(of: ChappieResponseRequest(message), isolation: actor, body)
    }

    /// Passes each event of a turn to a closure, one at a time and in order, and returns when the turn has ended.
    ///
    /// The turn lives as long as the call, tools included. An event costs less than by `events(_:)`: there is one
    /// handler of cancellation for the turn, and none for an event.
    ///
    /// ```swift
    /// try await client.withEvents(of: "Why is the sky blue?") { event in
    ///     if case .textDelta(let text) = event { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
    /// }
    /// ```
    ///
    /// The closure runs in the task of the caller and on its actor, where it may suspend; the turn is read between two
    /// events, and pauses while the closure runs. When the closure throws, or the task is cancelled, the turn is
    /// cancelled: the connection is closed and running tools are cancelled before the call returns, and events that
    /// were read and not passed on are dropped, unless the turn had ended.
    ///
    /// - Parameters:
    ///   - request: the request of the turn.
    ///   - actor: the actor that the closure runs on; default the caller's.
    ///   - body: the closure.
    /// - Throws: the error of the closure; `ChappieClientError` when the turn fails, `.alreadyRunning` while another turn
    ///   of the conversation runs, which continues; the errors of the program's own closures; `CancellationError`.
    public func withEvents(
        of request: ChappieResponseRequest, isolation actor: isolated (any Actor)? = #isolation,
        _ body: (ChappieStreamEvent) async throws -> Void
    ) async throws {
        try await TurnReader(self.turn(request)).withEvents(isolation: actor, body)
    }

    /// Returns a handle on the events of a turn that sends a message, which can stop the turn and report on it.
    public func streamHandle(_ prompt: String) -> ChappieStreamHandle {
        self.streamHandle(ChappieResponseRequest(prompt))
    }

    /// Returns a handle on the events of a turn that sends a message, which can stop the turn and report on it.
    public func streamHandle(_ message: ChappieInputMessage) -> ChappieStreamHandle {
        self.streamHandle(ChappieResponseRequest(message))
    }

    /// Returns a handle on the events of a turn, which can stop the turn and report on it.
    public func streamHandle(_ request: ChappieResponseRequest) -> ChappieStreamHandle {
        ChappieStreamHandle(turn: self.turn(request))
    }

    /// Creates the turn of a request, which begins when it is read.
    func turn(_ request: ChappieResponseRequest) -> ConversationTurn {
        ConversationTurn(setup: self.setup, request: request, conversation: self.state)
    }

    /// Opens the connection that the next turn will use, and lets the server prepare the conversation's context.
    ///
    /// No output is generated. It has no effect where there is no WebSocket, and during a turn; a failure has no
    /// consequences: the next turn meets it again. When the task is cancelled it returns, and the connection is closed.
    ///
    /// ```swift
    /// await client.prewarm()   // while the person still types
    /// ```
    public func prewarm() async {
        guard let request = ConversationTurn.warmUp(setup: self.setup, conversation: self.state) else { return }
        await self.transport.prewarm(request)
    }

    /// Returns the models that the server offers.
    ///
    /// It fails as a turn does: with `ChappieClientError`.
    public func models() async throws -> [ChappieModel] {
        let document = try await self.transport.fetch(path: self.configuration.endpoint.modelsPath)
        guard let models = ChappieModel.models(in: document.body) else { throw ChappieClientError.invalidResponse }
        return models
    }

    /// Returns the used part of the account's usage limits.
    ///
    /// Servers report limits for signed-in accounts; keys have none. It fails as a turn does: with
    /// `ChappieClientError`, which is `invalidResponse` for a document that cannot be decoded. It ends after 30 s in all,
    /// as other exchanges of accounts do, or with the configuration's `timeouts.total` if that is less.
    public func usage() async throws -> ChappieUsage {
        let document = try await self.transport.fetch(
            path: self.configuration.endpoint.usagePathOrDefault, limit: .seconds(30))
        guard let usage = ChappieUsage(body: document.body, now: Date()) else {
            throw ChappieClientError.invalidResponse
        }
        return usage
    }

    /// An executor for tasks that read the client's streams: a service thread.
    ///
    /// See `ChappieStreamingTransport.executor`, also for what such a task must not do. Tools and closures of the
    /// program run where they choose.
    public var executor: any TaskExecutor { self.transport.executor }

    /// Ends the client's engine, with all conversations over it: refuses new turns, and lets running ones end.
    ///
    /// A turn with tools makes its remaining requests within the grace period. See
    /// `ChappieStreamingTransport.shutdown(gracePeriod:)`.
    ///
    /// - Parameter gracePeriod: the time for running turns; default 5 s.
    public func shutdown(gracePeriod: Duration = .seconds(5)) async {
        await self.transport.shutdown(gracePeriod: gracePeriod)
    }

    // MARK: The conversation

    /// Indicates whether a turn runs, so that another one would throw `ChappieClientError.alreadyRunning`.
    ///
    /// May be read from any task.
    public var isRunning: Bool { self.state.isRunning }

    /// The text that the running turn has delivered so far; empty when none runs.
    ///
    /// May be read from any task.
    public var textSoFar: String { self.state.textSoFar }

    /// The messages and outputs so far.
    ///
    /// A running turn is not part of it. Setting it replaces the context; a running turn then adds no items to it.
    public var context: ChappieClientContext {
        get { self.state.context }
        set { self.state.context = newValue }
    }

    /// Clears the context.
    ///
    /// A running turn continues, and adds no items to it.
    public func clearContext() { self.state.context = ChappieClientContext() }

    /// Returns another, empty conversation over the same engine, such as one for each user of a server.
    ///
    /// Conversations run at the same time and know nothing of each other. The engine keeps one idle WebSocket for all
    /// conversations without a lane.
    public func conversation() -> ChappieClient { self.conversation(lane: nil) }

    /// Returns another, empty conversation over the same engine, which has a lane.
    ///
    /// With `ChappieConfiguration.usesLanes`, it uses the lane of this name on the same WebSocket: 1 to 256 of
    /// `A–Z a–z 0–9 _ . -`. Elsewhere each running response has a connection of its own.
    public func lane(_ name: String) -> ChappieClient { self.conversation(lane: name) }

    private func conversation(lane: String?) -> ChappieClient {
        ChappieClient(
            configuration: self.configuration, setup: self.setup,
            conversation: Conversation(context: ChappieClientContext(), lane: lane))
    }

    /// Returns another conversation over the same engine, which begins with this one's context.
    ///
    /// Later turns of the two are independent. See `lane(_:)` for the name; default none.
    public func fork(lane name: String? = nil) -> ChappieClient {
        ChappieClient(
            configuration: self.configuration, setup: self.setup,
            conversation: Conversation(
                context: self.state.context, lane: name, forkedFrom: self.state.lane))
    }
}
