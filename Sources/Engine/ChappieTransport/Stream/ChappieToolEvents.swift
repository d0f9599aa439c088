// The events about tools that a model calls. Values without an owner.

/// The rule for a tool that the model calls.
public enum ChappieToolPolicy: String, Sendable, Codable, CaseIterable {
    /// It runs at once.
    case automatic
    /// A person, or a rule, is asked first.
    case ask
    /// It does not run; the model is informed.
    case deny
}

/// A tool that the model has called and that is about to run, if its policy permits it.
public struct ChappieToolExecutionRequest: Sendable, Equatable {
    /// The server's name for the call, which its output refers to.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// The tool's input: JSON text of a function's arguments, or the input of a custom tool.
    ///
    /// It is unchanged from the model, so it may be empty or not JSON at all.
    public let arguments: String
    /// The policy that applies.
    public let policy: ChappieToolPolicy

    /// Creates a request.
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
    /// The tool's input; see `ChappieToolExecutionRequest.arguments`.
    public let arguments: String

    /// Creates a request.
    package init(callID: String, name: String, arguments: String) {
        self.callID = callID
        self.name = name
        self.arguments = arguments
    }
}

/// The result of a tool call.
public enum ChappieToolStatus: String, Sendable, Codable, CaseIterable {
    /// The tool succeeded.
    case completed
    /// The tool reported a failure; the model is informed.
    case failed
    /// The tool was not permitted to run; the model is informed.
    case denied
    /// The turn ended before the tool did.
    case cancelled
}

/// A tool call that is over, with the output for the model.
public struct ChappieToolExecutionResult: Sendable, Equatable {
    /// The server's name for the call.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// The result of the call.
    public let status: ChappieToolStatus
    /// The output as text; of an output in parts, the concatenated text parts.
    public let output: String
    /// The duration of the call, including the wait for an approval.
    public let duration: Duration

    /// Creates a result.
    package init(callID: String, name: String, status: ChappieToolStatus, output: String, duration: Duration) {
        self.callID = callID
        self.name = name
        self.status = status
        self.output = output
        self.duration = duration
    }
}
