/// A call of a tool, as the tool gets it.
public struct ChappieToolCall: Sendable, Equatable {
    /// The server's name for the call.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// JSON text of a function's arguments, or the input of a custom tool.
    ///
    /// As the model wrote it. A function's are one object: `{}` where the model wrote nothing.
    public let arguments: String

    /// A call.
    public init(callID: String, name: String, arguments: String) {
        self.callID = callID
        self.name = name
        self.arguments = arguments
    }

    /// The arguments as a value; nil when they are no JSON, such as a custom tool's input.
    public var argumentsJSON: ChappieJSONValue? { ChappieJSONValue(jsonText: self.arguments) }
}

/// What a tool gives back to the model.
///
/// ```swift
/// return ChappieToolResult(output: #"{"degrees":21}"#)
/// return .failed("There is no such city.")
/// ```
public struct ChappieToolResult: Sendable, Equatable {
    /// How the call ended.
    public let status: Status
    /// What the model gets.
    public let output: Output

    /// How a call ended, by the word of its tool.
    public enum Status: String, Sendable, CaseIterable {
        /// The tool did what it was asked.
        case completed
        /// It could not; the model reads why, and may try something else.
        case failed
        /// It was not allowed to.
        case denied
    }

    /// What the model gets.
    public enum Output: Sendable, Equatable {
        /// Text.
        case text(String)
        /// Parts: text, pictures, files.
        case parts([ChappieContentPart])
    }

    /// Text.
    public init(output: String, status: Status = .completed) {
        self.status = status
        self.output = .text(output)
    }

    /// Parts: text, pictures, files.
    public init(parts: [ChappieContentPart], status: Status = .completed) {
        self.status = status
        self.output = .parts(parts)
    }

    /// The tool could not do what it was asked; the model reads the message.
    public static func failed(_ message: String) -> Self { Self(output: message, status: .failed) }

    /// The tool was not allowed to do what it was asked; the model reads the reason.
    public static func denied(_ reason: String) -> Self { Self(output: reason, status: .denied) }
}

/// An answer to a tool call that waits for one.
public enum ChappieToolApproval: Sendable, Equatable {
    /// The tool may run.
    case allowed
    /// It may not; the model reads the reason.
    case refused(String)

    /// The tool may run.
    public static func approved() -> Self { .allowed }

    /// The tool may not run; the model reads the reason.
    public static func denied(_ reason: String = "The call was not approved.") -> Self { .refused(reason) }
}

/// Answers tool calls whose policy is `ask`.
///
/// It may take as long as a person thinks; the turn's time limit and its cancellation end the wait. An error that it
/// throws ends the turn with `ChappieClientError.toolApprovalDenied`.
public typealias ChappieToolApprovalHandler = @Sendable (ChappieApprovalRequest) async throws -> ChappieToolApproval
