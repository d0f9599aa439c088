package import ResponseEvents

/// What a complete response leaves behind for the turn that goes on after it.
///
/// A value; the driver hands it out once its stream has said `completed`.
package struct CompletedResponse: Sendable, Equatable {
    /// A call of a tool that the caller runs.
    package struct Call: Sendable, Equatable {
        /// What the call's output refers to.
        package let callID: String
        /// The tool's name.
        package let name: String
        /// The namespace of the tool.
        package let namespace: String?
        /// JSON text of a function's arguments, or the input of a custom tool: as the model wrote it.
        package let payload: String
        /// True for a tool whose input is any text.
        package let isCustom: Bool
        /// Indicates whether the server says that the model was cut off in the middle of it.
        package let isIncomplete: Bool

        /// A call.
        package init(
            callID: String, name: String, namespace: String?, payload: String, isCustom: Bool,
            isIncomplete: Bool = false
        ) {
            self.callID = callID
            self.name = name
            self.namespace = namespace
            self.payload = payload
            self.isCustom = isCustom
            self.isIncomplete = isIncomplete
        }

        /// A call of a response's item.
        package init(_ call: InputItem.Call, callID: String) {
            self.init(
                callID: callID, name: call.name, namespace: call.namespace, payload: call.payload,
                isCustom: call.isCustom, isIncomplete: call.isIncomplete)
        }

        /// The same call in one spelling: a function's arguments in canonical form.
        ///
        /// To be made once: it reads all of the arguments.
        package var canonical: Self {
            Self(
                callID: self.callID, name: self.name, namespace: self.namespace.flatMap { $0.isEmpty ? nil : $0 },
                payload: self.isCustom ? self.payload : CanonicalJSON.arguments(self.payload), isCustom: self.isCustom,
                isIncomplete: self.isIncomplete)
        }

        /// Returns whether every byte is the same.
        ///
        /// Swift's string comparison would take canonically equivalent arguments for the same, which they are not for a
        /// tool.
        package static func == (left: Self, right: Self) -> Bool {
            left.callID.isExactly(right.callID) && left.name.isExactly(right.name)
                && (left.namespace == nil) == (right.namespace == nil)
                && (left.namespace ?? "").isExactly(right.namespace ?? "")
                && left.payload.isExactly(right.payload)
                && left.isCustom == right.isCustom && left.isIncomplete == right.isIncomplete
        }
    }

    /// The response's identifier.
    package var id: String?
    /// The model that answered.
    package var model: String?
    /// The tokens it cost.
    package var usage: ChappieTokenUsage?
    /// False when the model wants to be asked again though no tool was called (`end_turn`).
    package var endsTurn = true
    /// The response's items in order, each the JSON text of an input item: outputs of tools among them, if they were
    /// given back to the server in the middle of the response.
    package var items: [[UInt8]] = []
    /// The calls among the items that have no output yet.
    package var calls: [Call] = []
    /// Indicates whether a call has no `call_id`, or two different ones have the same, so that their outputs would be
    /// mixed up.
    package var hasAmbiguousCalls = false
    /// What the server wants to have echoed in the requests of the same turn.
    package var turnState: String?
    /// The server's name for the request.
    package var requestID: String?

    /// Nothing is known yet.
    package init() {}
}
