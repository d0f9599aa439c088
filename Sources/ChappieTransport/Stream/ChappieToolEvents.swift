// What a consumer hears of the tools that a model calls. Values; nobody owns them.

/// Whether a tool runs when the model calls it.
public enum ChappieToolPolicy: String, Sendable, Codable, CaseIterable {
    /// It runs at once.
    case automatic
    /// A person, or a rule, is asked first.
    case ask
    /// It does not run; the model is told so.
    case deny
}

/// A tool that the model has called and that is about to run, if its policy lets it.
public struct ChappieToolExecutionRequest: Sendable, Equatable {
    /// The server's name for the call, which its output refers to.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// What the tool is given: JSON text of a function's arguments, or the input of a custom tool.
    ///
    /// As the model wrote it, so it may be empty or no JSON at all.
    public let arguments: String
    /// The policy that applies.
    public let policy: ChappieToolPolicy

    /// A call of a tool.
    package init(callID: String, name: String, arguments: String, policy: ChappieToolPolicy) {
        self.callID = callID
        self.name = name
        self.arguments = arguments
        self.policy = policy
    }
}

/// A tool call that waits for an answer.
public struct ChappieApprovalRequest: Sendable, Equatable {
    /// The server's name for the call.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// What the tool would be given; see `ChappieToolExecutionRequest.arguments`.
    public let arguments: String

    /// A call that waits.
    package init(callID: String, name: String, arguments: String) {
        self.callID = callID
        self.name = name
        self.arguments = arguments
    }
}

/// How a tool call ended.
public enum ChappieToolStatus: String, Sendable, Codable, CaseIterable {
    /// The tool did what it was asked.
    case completed
    /// The tool says that it could not; the model is told.
    case failed
    /// It was not allowed to run; the model is told.
    case denied
    /// The turn ended before it had.
    case cancelled
}

/// A tool call that is over, and what goes back to the model.
public struct ChappieToolExecutionResult: Sendable, Equatable {
    /// The server's name for the call.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// How it ended.
    public let status: ChappieToolStatus
    /// The output as text; of an output in parts, the text parts one behind the other.
    public let output: String
    /// How long it took, the wait for an approval included.
    public let duration: Duration

    /// The end of a call.
    package init(callID: String, name: String, status: ChappieToolStatus, output: String, duration: Duration) {
        self.callID = callID
        self.name = name
        self.status = status
        self.output = output
        self.duration = duration
    }
}
