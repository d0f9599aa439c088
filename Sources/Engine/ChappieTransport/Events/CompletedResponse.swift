package import ResponseEvents

/// The result of a complete response for the turn that continues it.
///
/// A value; the driver provides it after its stream has delivered `completed`.
package struct CompletedResponse: Sendable, Equatable {
    /// A call of a tool that the caller runs.
    package struct Call: Sendable, Hashable {
        /// The identifier that the call's output refers to.
        package let callID: String
        /// The tool's name.
        package let name: String
        /// The namespace of the tool.
        package let namespace: String?
        /// JSON text of a function's arguments, or the input of a custom tool, unchanged from the model.
        package let payload: String
        /// Indicates whether the tool takes any text as its input.
        package let isCustom: Bool
        /// Indicates whether the server reports that the model was cut off within the call.
        package let isIncomplete: Bool

        /// Creates a call.
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

        /// Creates the call of a response's item.
        package init(_ call: InputItem.Call, callID: String) {
            self.init(
                callID: callID, name: call.name, namespace: call.namespace, payload: call.payload,
                isCustom: call.isCustom, isIncomplete: call.isIncomplete)
        }

        /// The same call in one spelling: a function's arguments in canonical form.
        ///
        /// It is expensive, as it reads all of the arguments, and should be computed once.
        package var canonical: Self {
            Self(
                callID: self.callID, name: self.name, namespace: self.namespace.flatMap { $0.isEmpty ? nil : $0 },
                payload: self.isCustom ? self.payload : CanonicalJSON.arguments(self.payload), isCustom: self.isCustom,
                isIncomplete: self.isIncomplete)
        }

        /// Returns whether every byte is the same.
        ///
        /// Swift's string comparison would treat canonically equivalent arguments as the same, which a tool does not.
        package static func == (left: Self, right: Self) -> Bool {
            left.callID.isExactly(right.callID) && left.name.isExactly(right.name)
                && (left.namespace == nil) == (right.namespace == nil)
                && (left.namespace ?? "").isExactly(right.namespace ?? "")
                && left.payload.isExactly(right.payload)
                && left.isCustom == right.isCustom && left.isIncomplete == right.isIncomplete
        }

        package func hash(into hasher: inout Hasher) {
            // Strings hash alike when they are canonically equivalent, so that equal calls do.
            hasher.combine(self.callID)
            hasher.combine(self.payload)
        }
    }

    /// The response's identifier.
    package var id: String?
    /// The model that answered.
    package var model: String?
    /// The service tier that answered.
    package var serviceTier: String?
    /// The tokens used by the response.
    package var usage: ChappieTokenUsage?
    /// Indicates whether the turn ends; false when the model wants to continue without a tool call (`end_turn`).
    package var endsTurn = true
    /// The response's items in order, each the JSON text of an input item; they include outputs of tools that were
    /// given back to the server within the response.
    package var items: [[UInt8]] = []
    /// The calls among the items that have no output yet.
    package var calls: [Call] = []
    /// Indicates whether a call has no `call_id`, or two different ones have the same, so that their outputs would be
    /// confused.
    package var hasAmbiguousCalls = false
    /// The turn state that the server requires in the requests of the same turn.
    package var turnState: String?
    /// The server's name for the request.
    package var requestID: String?
    /// The rate limits that came with the answer.
    package var rateLimits: ChappieRateLimits?

    /// Creates a value without any facts.
    package init() {}
}
