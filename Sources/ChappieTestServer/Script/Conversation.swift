// What a conversation has come to, without its content.
//
// A pure value. Over HTTP a request's input makes it; on a WebSocket a lane keeps it from response to response.

/// Which calls have no output yet, and how often tools were used since the user spoke.
struct Conversation: Equatable, Sendable {
    /// Calls that the caller answers.
    private static let callTypes: Set<String> = [
        "function_call", "custom_tool_call", "local_shell_call", "tool_search_call",
    ]

    /// How many rounds of outputs stand behind the last message of the user.
    ///
    /// Outputs in a row are one round.
    private(set) var outputRounds = 0
    /// The calls without an output, in order.
    private(set) var openCallIDs: [String] = []
    private var isInOutputs = false

    /// A request's `input` follows: a text, which the user says, or items.
    mutating func append(input: JSONValue?) {
        guard let input else { return }
        if input.string != nil { self.userSpoke() }
        for item in input.elements { self.append(item: item) }
    }

    /// A response follows with these calls.
    mutating func append(callIDs: [String]) {
        self.isInOutputs = false
        self.openCallIDs += callIDs
    }

    private mutating func append(item: JSONValue) {
        let type = item["type"]?.string ?? "message"
        let callID = item["call_id"]?.string
        if type.hasSuffix("_output") {
            if !self.isInOutputs { self.outputRounds += 1 }
            self.isInOutputs = true
            self.openCallIDs.removeAll { $0 == callID }
            return
        }
        self.isInOutputs = false
        if Self.callTypes.contains(type), let callID { self.openCallIDs.append(callID) }
        if type == "message", item["role"]?.string == "user" { self.userSpoke() }
    }

    private mutating func userSpoke() {
        self.outputRounds = 0
        self.isInOutputs = false
    }

    /// Why nothing can be said now: a call without its output; nil when there is none.
    var refusalMessage: String? {
        self.openCallIDs.first.map { "No tool output found for function call \($0)." }
    }

    /// The calls in a response's finished item, which is JSON text.
    static func callIDs(inItem item: JSONValue?) -> [String] {
        guard let type = item?["type"]?.string, Self.callTypes.contains(type) else { return [] }
        return [item?["call_id"]?.string].compactMap { $0 }
    }
}
