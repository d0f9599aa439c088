/// What stands around the model: who it is, what it is told, and which tools it hears of.
///
/// ```swift
/// let harness = ChappieHarness(
///     name: "clerk", summary: "Answers letters", instructions: "Be brief and polite.",
///     capabilities: [.parallelToolCalls], tools: [ChappieHarnessTool(name: "search", description: "Finds letters.")])
/// let client = Chappie.client(harness: harness, tools: [search])
/// ```
public struct ChappieHarness: Sendable, Equatable {
    /// What the program calls it.
    public let name: String
    /// What it is for, in a line.
    ///
    /// For people; the model does not read it.
    public let summary: String
    /// What the model is told before everything else; nil for nothing.
    public let instructions: String?
    /// What the server may do by itself.
    public let capabilities: Set<ChappieHarnessCapability>
    /// Tools that the model hears of, beside the client's own.
    public let tools: [ChappieHarnessTool]

    /// A harness.
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

    /// A helpful assistant that may call several tools at once.
    public static let `default` = Self(
        name: "default", summary: "A helpful assistant",
        instructions: "You are a helpful assistant. Use the tools that you have when they help.",
        capabilities: [.parallelToolCalls])
    /// Nothing at all: no instructions, no tools, the server's defaults.
    public static let none = Self(name: "none")
}

/// What a harness lets the server do.
public enum ChappieHarnessCapability: String, Sendable, Codable, CaseIterable {
    /// The model may call several tools at once: `parallel_tool_calls`.
    ///
    /// Without it the member is not sent, and the server's default applies.
    case parallelToolCalls
    /// The model may search the web, unless a request says otherwise.
    case webSearch
}
