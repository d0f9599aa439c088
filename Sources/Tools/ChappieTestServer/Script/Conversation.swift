// The state of a conversation, without its content.
//
// A pure value. Over HTTP it is derived from a request's input; on a WebSocket a lane keeps it between responses.

/// The calls without an output, and the number of tool rounds since the user's last message.
struct Conversation: Equatable, Sendable {
    /// The types of calls that the caller answers.
    private static let callTypes: Set<String> = [
        "function_call", "custom_tool_call", "local_shell_call", "tool_search_call",
    ]

    /// The number of rounds of outputs after the last message of the user.
    ///
    /// Outputs in a row are one round.
    private(set) var outputRounds = 0
    /// The calls without an output, in order.
    private(set) var openCallIDs: [String] = []
    /// The first output of a function's call that is nowhere before it; nil when there is none.
    private var strayOutputID: String?
    private var callIDs: Set<String> = []
    private var isInOutputs = false

    /// Appends a request's `input`: a text of the user, or items.
    mutating func append(input: JSONValue?) {
        guard let input else { return }
        if input.string != nil { self.userSpoke() }
        for item in input.elements { self.append(item: item) }
    }

    /// Appends a response with these calls.
    mutating func append(callIDs: [String]) {
        self.isInOutputs = false
        self.openCallIDs += callIDs
        self.callIDs.formUnion(callIDs)
    }

    private mutating func append(item: JSONValue) {
        let type = item["type"]?.string ?? "message"
        let callID = item["call_id"]?.string
        if type.hasSuffix("_output") {
            if !self.isInOutputs { self.outputRounds += 1 }
            self.isInOutputs = true
            self.openCallIDs.removeAll { $0 == callID }
            if type == "function_call_output", let callID, !self.callIDs.contains(callID), self.strayOutputID == nil {
                self.strayOutputID = callID
            }
            return
        }
        self.isInOutputs = false
        if Self.callTypes.contains(type), let callID { self.append(callIDs: [callID]) }
        if type == "message", item["role"]?.string == "user" { self.userSpoke() }
    }

    private mutating func userSpoke() {
        self.outputRounds = 0
        self.isInOutputs = false
    }

    /// The reason for which a request is refused: a call without its output; nil when there is none.
    var refusalMessage: String? {
        self.openCallIDs.first.map { "No tool output found for function call \($0)." }
    }

    /// The reason for which a request is refused that has all that it continues: an output without its call; nil when
    /// there is none.
    var strayOutputMessage: String? {
        self.strayOutputID.map { "No tool call found for function call output with call_id \($0)." }
    }

    /// Returns the calls in a response's finished item, which is JSON text.
    static func callIDs(inItem item: JSONValue?) -> [String] {
        guard let type = item?["type"]?.string, Self.callTypes.contains(type) else { return [] }
        return [item?["call_id"]?.string].compactMap { $0 }
    }
}
