/// The environment of the model: its instructions, capabilities and tools.
///
/// ```swift
/// let harness = ChappieHarness(
///     name: "clerk", summary: "Answers letters", instructions: "Be brief and polite.",
///     capabilities: [.parallelToolCalls], tools: [ChappieHarnessTool(name: "search", description: "Finds letters.")])
/// let client = Chappie.client(harness: harness, tools: [search])
/// ```
public struct ChappieHarness: Sendable, Equatable {
    /// The program's name for it.
    public let name: String
    /// Its purpose, in a line.
    ///
    /// For people; the model does not read it.
    public let summary: String
    /// The instructions before all input; nil for none.
    public let instructions: String?
    /// The capabilities that the server may use.
    public let capabilities: Set<ChappieHarnessCapability>
    /// The tools that are declared to the model, beside the client's own.
    public let tools: [ChappieHarnessTool]

    /// Creates a harness.
    public init(
        name: String, summary: String = "", instructions: String? = nil,
        capabilities: Set<ChappieHarnessCapability> = [], tools: [ChappieHarnessTool] = []
    ) {
        self.name = name
        self.summary = summary
        self.instructions = instructions
        self.capabilities = capabilities
        self.tools = tools
    }

    /// A harness without instructions, whose model may call several tools at once.
    public static let `default` = Self(name: "default", capabilities: [.parallelToolCalls])
    /// An empty harness: no instructions, no tools, the server's defaults.
    public static let none = Self(name: "none")
}

/// A permission of the harness for the server.
public enum ChappieHarnessCapability: String, Sendable, Codable, CaseIterable {
    /// The model may call several tools at once: `parallel_tool_calls`.
    ///
    /// Without it the member is not sent, and the server's default applies.
    case parallelToolCalls
    /// The model may search the web, unless a request says otherwise.
    case webSearch
}
