/// Additional data that a response is to contain (`include`).
///
/// Any name may be given: `"file_search_call.results"`.
public struct ChappieInclude: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// A kind of data by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A kind of data by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// Reasoning in the encrypted form in which later requests can carry it.
    public static let encryptedReasoning = Self(rawValue: "reasoning.encrypted_content")
    /// Log probabilities of the text.
    public static let textLogProbabilities = Self(rawValue: "message.output_text.logprobs")
    /// The sources of web searches.
    public static let webSearchSources = Self(rawValue: "web_search_call.action.sources")
    /// The results of file searches.
    public static let fileSearchResults = Self(rawValue: "file_search_call.results")
    /// The outputs of the server's code interpreter.
    public static let codeInterpreterOutputs = Self(rawValue: "code_interpreter_call.outputs")
}

/// The server's treatment of an input that is longer than the model's context (`truncation`).
///
/// Any name may be given.
public struct ChappieTruncation: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// A treatment by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A treatment by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// Items at the beginning of the conversation are dropped.
    public static let auto = Self(rawValue: "auto")
    /// The request fails with status code 400.
    public static let disabled = Self(rawValue: "disabled")
}
