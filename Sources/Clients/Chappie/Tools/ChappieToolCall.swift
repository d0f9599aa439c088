/// A call of a tool, as its handler receives it.
public struct ChappieToolCall: Sendable, Equatable {
    /// The server's identifier of the call.
    public let callID: String
    /// The tool's name.
    public let name: String
    /// JSON text of a function's arguments, or the input of a custom tool.
    ///
    /// As the model wrote them. A function's are one object: `{}` where the model wrote none.
    public let arguments: String

    /// Creates a call.
    public init(callID: String, name: String, arguments: String) {
        self.callID = callID
        self.name = name
        self.arguments = arguments
    }

    /// The arguments as a value; nil when they are not JSON, such as a custom tool's input.
    public var argumentsJSON: ChappieJSONValue? { ChappieJSONValue(jsonText: self.arguments) }
}

/// The result of a tool for the model.
///
/// ```swift
/// return ChappieToolResult(output: #"{"degrees":21}"#)
/// return .failed("There is no such city.")
/// ```
public struct ChappieToolResult: Sendable, Equatable {
    /// The status of the call.
    public let status: Status
    /// The output for the model.
    public let output: Output

    /// The status of a call, as its tool reports it.
    public enum Status: String, Sendable, CaseIterable {
        /// The tool succeeded.
        case completed
        /// The tool failed; the model reads the reason, and may try another call.
        case failed
        /// The tool was not permitted to run.
        case denied
    }

    /// The output for the model.
    public enum Output: Sendable, Equatable {
        /// Text.
        case text(String)
        /// Parts: text, pictures, files.
        case parts([ChappieContentPart])
    }

    /// Creates a result of text.
    public init(output: String, status: Status = .completed) {
        self.status = status
        self.output = .text(output)
    }

    /// Creates a result of parts: text, pictures, files.
    public init(parts: [ChappieContentPart], status: Status = .completed) {
        self.status = status
        self.output = .parts(parts)
    }

    /// Returns the result of a tool that failed; the model reads the message.
    public static func failed(_ message: String) -> Self { Self(output: message, status: .failed) }

    /// Returns the result of a tool that was not permitted to run; the model reads the reason.
    public static func denied(_ reason: String) -> Self { Self(output: reason, status: .denied) }
}
