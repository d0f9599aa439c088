import ChappieTransport

/// What a client's turns have in common.
struct TurnSetup: Sendable {
    /// The engine.
    let transport: ChappieStreamingTransport
    /// Makes the requests.
    let composer: RequestComposer
    /// The tools that the program runs, by name.
    let tools: [String: ChappieHostTool]
    /// Answers calls that wait for an approval.
    let approvalHandler: ChappieToolApprovalHandler?
    /// How far a turn may go.
    let limits: ChappieRunLimits
    /// Which events of the wire are passed on.
    let rawEvents: ChappieRawEvents
    /// What the engine was told, the program's sinks among it.
    let engine: ChappieTransportConfiguration

    /// What a configuration says about turns.
    init(_ configuration: ChappieConfiguration, transport: ChappieStreamingTransport) {
        self.transport = transport
        self.composer = RequestComposer(configuration)
        self.tools = Dictionary(configuration.tools.map { ($0.name, $0) }) { _, last in last }
        self.approvalHandler = configuration.toolApprovalHandler
        self.limits = configuration.limits.bounded
        self.rawEvents = configuration.rawEvents
        self.engine = configuration.transport
    }

    /// The rules of the tool loop.
    var rules: ToolLoopStateMachine.Rules {
        ToolLoopStateMachine.Rules(
            policies: self.tools.mapValues(\.policy), canAsk: self.approvalHandler != nil, limits: self.limits,
            schemas: self.tools.compactMapValues(\.input.schema),
            textTools: Set(self.tools.filter { $0.value.input.schema == nil }.keys))
    }
}
