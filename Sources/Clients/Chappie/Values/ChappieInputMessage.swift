import ResponseEvents

/// One message of a conversation.
///
/// ```swift
/// let message = ChappieInputMessage.user("Why is the sky blue?", fastMode: true)
/// ```
public struct ChappieInputMessage: Sendable, Equatable {
    /// The author of a message.
    public enum Role: String, Sendable, Codable, CaseIterable {
        /// The operator of the program, with precedence over all others.
        case system
        /// The program.
        case developer
        /// The person.
        case user
        /// The model.
        case assistant
    }

    /// The author of the message.
    public var role: Role
    /// The content, in order.
    public var parts: [ChappieContentPart]
    /// The options of the turn that the message begins.
    public var options: ChappieMessageOptions

    /// Creates a message.
    public init(role: Role, parts: [ChappieContentPart], options: ChappieMessageOptions = ChappieMessageOptions()) {
        self.role = role
        self.parts = parts
        self.options = options
    }

    /// Returns a message of the operator.
    public static func system(_ text: String) -> Self { Self(role: .system, parts: [.text(text)]) }

    /// Returns a message of the program.
    public static func developer(_ text: String) -> Self { Self(role: .developer, parts: [.text(text)]) }

    /// Returns a message of the person; `fastMode` is `ChappieMessageOptions(fastMode: true)`.
    public static func user(_ text: String, fastMode: Bool = false) -> Self {
        Self(role: .user, parts: [.text(text)], options: ChappieMessageOptions(fastMode: fastMode))
    }

    /// Returns a message of the person, with pictures and files in it.
    public static func user(_ parts: [ChappieContentPart], fastMode: Bool = false) -> Self {
        Self(role: .user, parts: parts, options: ChappieMessageOptions(fastMode: fastMode))
    }

    /// Returns an answer of the model.
    public static func assistant(_ text: String) -> Self { Self(role: .assistant, parts: [.text(text)]) }

    /// The text of the message: its text parts, concatenated.
    public var text: String { self.parts.compactMap(\.text).joined() }

    /// The message as an input item.
    var json: [UInt8] {
        var object = JSONObjectText()
        object.setText("message", for: "type")
        object.setText(self.role.rawValue, for: "role")
        let isOutput = self.role == .assistant
        object["content"] = JSONArrayText.json(self.parts.map { $0.json(isOutput: isOutput)[...] })[...]
        return object.json
    }
}

/// The options of the turn that a message begins.
public struct ChappieMessageOptions: Sendable, Equatable {
    /// Indicates whether the model is to answer fast: low reasoning effort, unless the request names another.
    ///
    /// Default false.
    public var fastMode: Bool

    /// Creates options.
    public init(fastMode: Bool = false) { self.fastMode = fastMode }
}
