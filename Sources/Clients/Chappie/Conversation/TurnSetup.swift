import ChappieTransport
import ResponseEvents
import TransportSurface

/// The common settings of a client's turns.
struct TurnSetup: Sendable {
    /// The engine.
    let transport: ChappieStreamingTransport
    /// Composes the requests.
    let composer: RequestComposer
    /// The tools that the program runs, by name.
    let tools: [String: ChappieHostTool]
    /// Answers calls that wait for an approval.
    let approvalHandler: ChappieToolApprovalHandler?
    /// The limits of a turn.
    let limits: ChappieRunLimits
    /// The events of the wire that are passed on.
    let rawEvents: ChappieRawEvents
    /// The fault of the configuration apart from its model, with which every turn ends before anything is sent; nil
    /// without one.
    private let fault: ChappieArgumentError?
    /// The engine's configuration, with the program's sinks.
    let engine: ChappieTransportConfiguration

    /// Takes the settings of turns from a configuration.
    init(_ configuration: ChappieConfiguration, transport: ChappieStreamingTransport) {
        self.transport = transport
        self.composer = RequestComposer(configuration)
        self.tools = Dictionary(configuration.tools.map { ($0.name, $0) }) { _, last in last }
        self.approvalHandler = configuration.toolApprovalHandler
        self.limits = configuration.limits.bounded
        self.rawEvents = configuration.rawEvents
        self.fault = configuration.fault
        self.engine = configuration.engine
    }

    /// Returns the fault of a request or the configuration, with which the turn ends before anything is sent; nil
    /// without one.
    func fault(of request: ChappieResponseRequest) -> ChappieArgumentError? {
        if request.model == nil, let fault = TextRule.line(self.composer.model),
            request.bodyJSON.flatMap({ try? JSONObjectText($0) })?["model"] == nil
        {
            return ChappieArgumentError("model", fault)
        }
        return self.fault ?? request.fault
    }

    /// The rules of the tool loop.
    var rules: ToolLoopStateMachine.Rules {
        ToolLoopStateMachine.Rules(
            policies: self.tools.mapValues(\.policy), canAsk: self.approvalHandler != nil, limits: self.limits,
            schemas: self.tools.compactMapValues(\.input.schema),
            textTools: Set(self.tools.filter { $0.value.input.schema == nil }.keys))
    }
}
