public import ChappieTransport
public import PlatformFoundation

/// The reason for which a model's answer is not a value of the wanted type.
///
/// Its printed form and its description have no part of the answer. A minor version may add cases.
public enum ChappieStructuredOutputError: Error, Sendable, Equatable {
    /// The type's schema cannot be derived: the place inside the outermost type, the type at that place, and the
    /// obstacle.
    ///
    /// Nothing was sent.
    case noSchema(codingPath: String, type: String, ChappieSchemaObstacle)
    /// The model refused to answer; its words, which are content.
    case refused(String)
    /// The answer ended before it was complete; the response has the reason (`incompleteReason`).
    case incomplete(ChappieResponse)
    /// The answer is not JSON from this offset on, in bytes of UTF-8; 0 for an empty one.
    case notJSON(offset: Int)
    /// The answer is JSON, and does not match the type: the place of the value, and its fault.
    ///
    /// Names that the schema does not have, such as the keys of a dictionary, are `*`, because they are content.
    case doesNotMatch(codingPath: String, ChappieValueMismatch)
    /// The answer fits the schema that was sent, and the type is not decoded from it: the place of the value, as in
    /// `doesNotMatch`, and its fault.
    ///
    /// The schema allows what the decoder or the type rejects.
    case notDecodable(codingPath: String, ChappieValueMismatch)
}

/// The reason for which a schema cannot be derived from a type.
///
/// A minor version may add cases.
public enum ChappieSchemaObstacle: String, Sendable, CaseIterable {
    /// The type contains itself.
    case recursive
    /// More than 32 types contain each other.
    case tooDeep
    /// There are more than 5,000 members and cases.
    case tooLarge
    /// The type rejects the recording decoder's values: an enumeration that is not `CaseIterable`, or that has no raw
    /// values of text or integers, or a check in `init(from:)`.
    case rejectsValues
    /// The type chooses between several forms of JSON.
    case severalForms
    /// The type decodes a fixed number of elements.
    case fixedLength
    /// The type asks for the names of the members.
    case openMembers
    /// The decoder's strategy for `Date` or `Data` is a closure or a formatter, which does not show the form.
    case ambiguousForm
    /// The type describes a member that it does not decode (`ChappieDescribed`).
    case unknownMember
    /// The outermost type is not an object.
    case notObject
}

/// The fault of a value in an answer.
///
/// A minor version may add cases.
public enum ChappieValueMismatch: String, Sendable, CaseIterable {
    /// A member is missing.
    case missing
    /// A value is of another type.
    case otherType
    /// A value is `null`.
    case null
    /// A value is out of range, or the type rejects it.
    case rejected
}

extension ChappieStructuredOutputError {
    /// A stable name of the failure, such as `structured-output.refused`.
    public var tag: String {
        switch self {
        case .noSchema: "structured-output.no-schema"
        case .refused: "structured-output.refused"
        case .incomplete: "structured-output.incomplete"
        case .notJSON: "structured-output.not-json"
        case .doesNotMatch: "structured-output.mismatch"
        case .notDecodable: "structured-output.not-decodable"
        }
    }

    /// The category of the failure.
    public var category: ChappieErrorCategory {
        switch self {
        case .noSchema, .refused, .incomplete, .notDecodable: .validation
        case .notJSON, .doesNotMatch: .server
        }
    }

    /// Indicates whether the same request may succeed later without any change: true where the server did not keep to
    /// the schema.
    public var isRetryable: Bool {
        switch self {
        case .noSchema, .refused, .incomplete, .notDecodable: false
        case .notJSON, .doesNotMatch: true
        }
    }

    /// The model's words about a refusal: content, not for logs.
    public var unsafeMessage: String? {
        guard case .refused(let words) = self else { return nil }
        return words
    }
}

extension ChappieStructuredOutputError: LocalizedError {
    /// The problem and the advice, in sentences that are fit to show.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }
    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }
    /// The problem, without the advice.
    public var failureReason: String? { self.problem }
    /// The advice.
    public var recoverySuggestion: String? { self.advice }

    private var problem: String {
        switch self {
        case .noSchema(let path, let type, let obstacle):
            "The schema of \(path.isEmpty ? type : "\(path), of the type \(type),") cannot be derived: "
                + "\(obstacle.words)."
        case .refused: "The model refused to answer."
        case .incomplete: "The answer ended before it was complete."
        case .notJSON(let offset): "The answer is not JSON from offset \(offset) on."
        case .doesNotMatch(let path, let mismatch):
            "The answer does not match the type: \(path.isEmpty ? "the value" : path) \(mismatch.words)."
        case .notDecodable(let path, let mismatch):
            "The answer fits the schema, and the type is not decoded from it: \(path.isEmpty ? "the value" : path) "
                + "\(mismatch.words)."
        }
    }

    private var advice: String {
        switch self {
        case .noSchema(_, _, .unknownMember): "Name the member as it is named in JSON, or remove its description."
        case .noSchema: "Write the schema by hand, with ChappieJSONSchema(parsing:), and pass it as the schema."
        case .refused: "See the model's words, and change the request."
        case .incomplete: "Allow more output tokens, or change the request."
        case .notJSON, .doesNotMatch: "Try again. If it happens often, the server or the model ignores schemas."
        case .notDecodable: "Pass a decoder that reads what the schema describes, or change the schema or the type."
        }
    }
}

extension ChappieStructuredOutputError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }
    /// The same as `description`.
    public var debugDescription: String { "ChappieStructuredOutputError(\(self.description))" }
    /// A mirror of the tag alone.
    public var customMirror: Mirror { Mirror(self, children: ["tag": self.tag]) }
}

extension ChappieSchemaObstacle {
    fileprivate var words: String {
        switch self {
        case .recursive: "the type contains itself"
        case .tooDeep: "too many types contain each other"
        case .tooLarge: "it has too many members and cases"
        case .rejectsValues:
            "its init(from:) rejects the values of the recording decoder (an enumeration has to be CaseIterable, with "
                + "raw values of text or integers)"
        case .severalForms: "its init(from:) chooses between several forms"
        case .fixedLength: "its init(from:) does not read a list to its end"
        case .openMembers: "its init(from:) asks for the names of the members"
        case .ambiguousForm: "the decoder's strategy does not show its form"
        case .unknownMember: "it describes a member that it does not decode"
        case .notObject: "it is not decoded from an object"
        }
    }
}

extension ChappieValueMismatch {
    fileprivate var words: String {
        switch self {
        case .missing: "is missing"
        case .otherType: "is of another type"
        case .null: "is null"
        case .rejected: "is out of range, or rejected by the type"
        }
    }
}
