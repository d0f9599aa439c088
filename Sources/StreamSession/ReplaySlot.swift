/// The place in a response that a piece of output belongs to.
///
/// Immutable values, owned by nobody. Identifiers are no part of it: a server that is asked again gives new ones, and
/// only positions can be compared.
package struct ReplaySlot: Hashable, Sendable {
    /// What a slot holds.
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// Text of a message.
        case text
        /// A refusal of a message.
        case refusal
        /// A summary of the model's reasoning.
        case reasoningSummary
        /// The model's reasoning itself.
        case reasoningText
        /// The arguments or the input of a tool call, given out while they are written.
        case toolCall
    }

    /// What the slot holds.
    package let kind: Kind
    /// The item's position in the response's output.
    package let outputIndex: Int
    /// The content part's or the summary part's position in the item; 0 for a tool call.
    package let partIndex: Int

    /// A slot.
    package init(_ kind: Kind, outputIndex: Int, partIndex: Int = 0) {
        self.kind = kind
        self.outputIndex = outputIndex
        self.partIndex = partIndex
    }
}

/// A finished tool call, as it was handed to the consumer.
///
/// Two are equal when their bytes are: Swift's string comparison would take canonically equivalent arguments for the
/// same, which they are not for a tool.
package struct ReplayedToolCall: Sendable, Equatable {
    /// The item's position in the response's output.
    package let outputIndex: Int
    /// The tool's name.
    package let name: String
    /// The tool's namespace, where it has one.
    package let namespace: String?
    /// The arguments, which the caller has brought into a canonical form, or the input text.
    package let arguments: String

    /// A call.
    package init(outputIndex: Int, name: String, namespace: String? = nil, arguments: String) {
        self.outputIndex = outputIndex
        self.name = name
        self.namespace = namespace
        self.arguments = arguments
    }

    /// True when every byte is the same.
    package static func == (left: Self, right: Self) -> Bool {
        left.outputIndex == right.outputIndex
            && left.name.utf8.elementsEqual(right.name.utf8)
            && (left.namespace == nil) == (right.namespace == nil)
            && (left.namespace ?? "").utf8.elementsEqual((right.namespace ?? "").utf8)
            && left.arguments.utf8.elementsEqual(right.arguments.utf8)
    }
}
