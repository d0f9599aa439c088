// A finished call of a tool, and the form in which two are compared. A value without an owner.

/// A finished call of a tool that the caller runs.
///
/// Two are equal when they call one tool in the same way, under the same identifier and with the same status.
package struct FinishedCall: Hashable, Sendable {
    /// The kind of the called tool.
    package enum Kind: Sendable {
        /// A function, whose arguments are JSON.
        case function
        /// A custom tool, whose input is any text.
        case custom
    }

    /// The kind of the called tool.
    package let kind: Kind
    /// The identifier that the call's output refers to; empty when the server assigned none.
    package let callID: String
    /// The tool's name; empty when absent.
    package let name: String
    /// The namespace of the tool; empty when it has none.
    package let namespace: String
    /// JSON text of a function's arguments, or the input of a custom tool, as the model wrote it.
    ///
    /// Empty and absent arguments are `{}`: many models write none for functions without parameters.
    package let payload: String
    /// Indicates whether the server reports that the model was cut off within the call.
    package let isIncomplete: Bool
    /// The tool and the payload in one spelling, with a function's arguments in canonical form: calls with the same
    /// bytes call the same tool in the same way.
    package let content: [UInt8]

    /// Creates a call; reads all of its arguments for their canonical form.
    package init(
        _ kind: Kind = .function, callID: String = "", name: String, namespace: String = "", payload: String,
        isIncomplete: Bool = false
    ) {
        let canonical = kind == .function ? CanonicalJSON.arguments(payload) : payload
        self.kind = kind
        self.callID = callID
        self.name = name
        self.namespace = namespace
        self.payload = kind == .function && canonical == "{}" ? canonical : payload
        self.isIncomplete = isIncomplete
        // Quotation marks end the names, and the payload ends with the content.
        var content = kind == .function ? Array("f".utf8) : Array("c".utf8)
        JSONText.append(namespace, to: &content)
        JSONText.append(name, to: &content)
        self.content = content + canonical.utf8
    }

    /// The identifier as a key; nil when the server assigned none.
    package var key: ExactText? { self.callID.isEmpty ? nil : ExactText(self.callID) }

    /// Returns whether both are one call, however their arguments are spelled.
    package static func == (left: Self, right: Self) -> Bool {
        left.isIncomplete == right.isIncomplete && left.callID.isExactly(right.callID) && left.content == right.content
    }

    /// Feeds the bytes that equality compares into a hasher.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(self.callID))
        hasher.combine(self.content)
    }
}
