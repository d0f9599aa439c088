// The members of an output item that a turn needs. Items begin and end rarely, so their strings are copied; long texts
// are borrowed.

/// The members of an output item that a turn needs.
package struct ItemSummary {
    /// The type of an item.
    package enum Kind: Sendable {
        /// Text for the user.
        case message
        /// Reasoning, often encrypted.
        case reasoning
        /// A call of a function whose arguments are JSON text.
        case functionCall
        /// A call of a tool whose input is any text.
        case customToolCall
        /// Any other item, such as the call of a tool that the server runs itself.
        case other
    }

    /// The type of the item; one without a type has that which its members show.
    package let kind: Kind
    /// The item's `type` as it was sent, at most 256 bytes of it; empty when absent.
    package let typeName: String
    /// The item's own identifier; nil when absent or empty, as the other identifiers and names are.
    ///
    /// Some servers change it between events.
    package let id: String?
    /// The status of the item: `in_progress`, `completed`, `incomplete`.
    package let status: String?
    /// The identifier that a call's result refers to.
    package let callID: String?
    /// The name of a call's function or tool.
    package let name: String?
    /// The namespace of a call's function or tool.
    package let namespace: String?
    /// A call's `arguments` or `input`.
    ///
    /// Arguments that a server sent as a JSON value are that value's JSON text.
    package let payload: String?
    /// The author of a message: `assistant`, or `user` and others for an item of the request that a server repeats.
    package let role: String?
    /// The name of the agent that made the item: `agent.agent_name`.
    package let agentName: String?
    /// The texts of the item, by the slots whose deltas they repeat; valid until the decoder is used again.
    ///
    /// For a message the parts of `content`, for reasoning those of `summary` and then those of `content`, all of them
    /// reasoning, whatever a server calls them (LocalAI: `output_text`), for a call `payload`. Parts without a text, or of
    /// an unknown type, are left out. A message whose `content` is a text has that one part.
    package let parts: [ItemPart]
    /// The item as it was sent, valid until the decoder is used again.
    package let json: BorrowedText
}

/// The text of one slot of an item.
package struct ItemPart {
    /// The kind of text: that of the deltas that it repeats.
    package let kind: ResponseEvent.DeltaKind
    /// The place in `content` or `summary`; 0 for a call.
    package let index: Int
    /// The text, valid until the decoder is used again.
    package let text: BorrowedText
}

extension ItemPart {
    /// The part of an item of reasoning: its text is reasoning.
    var asReasoning: Self { Self(kind: self.kind.asReasoning, index: self.index, text: self.text) }
}
