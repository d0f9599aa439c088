import ChappieTransport

/// What a client's turns have in common.
struct TurnSetup: Sendable {
    let transport: ChappieStreamingTransport
    let composer: RequestComposer
    let tools: [String: ChappieHostTool]
    let approvalHandler: ChappieToolApprovalHandler?
    let limits: ChappieRunLimits
    let rawEvents: ChappieRawEvents
    /// What the engine was told, the program's sinks among it.
    let engine: ChappieTransportConfiguration

    /// What a configuration says about turns.
    init(_ configuration: ChappieConfiguration, transport: ChappieStreamingTransport) {
        self.transport = transport
        self.composer = RequestComposer(configuration)
        self.tools = Dictionary(configuration.tools.map { ($0.name, $0) }) { _, last in last }
        self.approvalHandler = configuration.toolApprovalHandler
        self.limits = configuration.limits
        self.rawEvents = configuration.rawEvents
        self.engine = configuration.transport
    }

    /// The rules of the tool loop.
    var rules: ToolLoopStateMachine.Rules {
        ToolLoopStateMachine.Rules(
            policies: self.tools.mapValues(\.policy), canAsk: self.approvalHandler != nil, limits: self.limits)
    }
}
