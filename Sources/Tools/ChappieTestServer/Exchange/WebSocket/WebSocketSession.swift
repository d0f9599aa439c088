// The state of one WebSocket between its requests, and the rules for continuing a response.
//
// A value owned by the connection's exchange.

/// The lanes of one connection.
struct WebSocketSession {
    /// The reason for which a request is answered with an error frame.
    struct Refusal: Equatable {
        /// The status code.
        var status = 400
        /// The error's code.
        var code: String?
        /// The description of the fault.
        var message: String
        /// The member at fault.
        var param: String?
    }

    private struct Lane {
        var lastID: String?
        var conversation = Conversation()
    }

    /// The largest number of named lanes of a connection over its lifetime.
    static let maximumLaneCount = 32

    private var lanes: [String: Lane] = [:]
    private var completedIDs: Set<String> = []
    /// The input that was added to responses that have not used it, by the responses' identifiers.
    private var pendingInputs: [String: [JSONValue]] = [:]

    /// Returns the reason for refusing a message at its arrival; nil when it is accepted.
    ///
    /// A new lane's name is counted.
    mutating func refusal(for body: JSONValue, isOnChatGPTPath: Bool) -> Refusal? {
        guard body["type"]?.string == "response.create" else {
            return Refusal(message: "The message's type is not known.", param: "type")
        }
        if body["background"] == .bool(true) { return Refusal(message: "background is not supported here.") }
        if let refusal = self.laneRefusal(body["stream_id"]) { return refusal }
        if isOnChatGPTPath, let message = ChatGPTRules.violation(body, needsStream: false) {
            return Refusal(message: message)
        }
        return nil
    }

    private mutating func laneRefusal(_ value: JSONValue?) -> Refusal? {
        guard let value, value != .null else { return nil }
        guard let name = Self.laneName(value) else {
            return Refusal(code: "invalid_stream_id", message: "The stream_id is invalid.", param: "stream_id")
        }
        guard self.lanes[name] == nil else { return nil }
        guard self.lanes.keys.count(where: { !$0.isEmpty }) < Self.maximumLaneCount else {
            return Refusal(code: "websocket_stream_limit_reached", message: "Too many streams.", param: "stream_id")
        }
        self.lanes[name] = Lane()
        return nil
    }

    /// Returns the name of a lane; nil when it is invalid.
    static func laneName(_ value: JSONValue?) -> String? {
        let isAllowed: (UInt8) -> Bool = { byte in
            let scalar = Unicode.Scalar(byte)
            return scalar.isASCII
                && (Character(scalar).isLetter || Character(scalar).isNumber || "_.-".contains(Character(scalar)))
        }
        guard let name = value?.string, (1...256).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) else {
            return nil
        }
        return name
    }

    /// Returns the reason for refusing a request when its turn has come; nil when it is accepted.
    func continuationRefusal(for body: JSONValue) -> Refusal? {
        if let previous = body["previous_response_id"], previous != .null {
            guard let id = previous.string, self.lanes.values.contains(where: { $0.lastID == id }) else {
                return Refusal(
                    code: "previous_response_not_found", message: "The previous response was not found.",
                    param: "previous_response_id")
            }
        }
        let conversation = self.conversation(for: body)
        return (conversation.refusalMessage ?? conversation.strayOutputMessage).map {
            Refusal(message: $0, param: "input")
        }
    }

    /// Returns the conversation before a request's response: that of the response that it continues, on any lane, and
    /// its input.
    func conversation(for body: JSONValue) -> Conversation {
        let previous = body["previous_response_id"]?.string
        let lane = previous.flatMap { id in self.lanes.values.first { $0.lastID == id } }
        var conversation = lane?.conversation ?? Conversation()
        conversation.append(input: body["input"])
        return conversation
    }

    /// Returns the id of the lane's last response; nil when there is none.
    func lastID(lane: String?) -> String? { self.lanes[lane ?? ""]?.lastID }

    /// Returns whether a response of this connection is over.
    func isOver(_ id: String) -> Bool { self.completedIDs.contains(id) }

    /// Keeps input for the request that continues a response.
    mutating func keep(_ input: JSONValue?, for responseID: String) {
        self.pendingInputs[responseID, default: []] += Self.items(of: input)
    }

    /// Returns a request with the kept input before its own.
    mutating func takingPending(_ body: JSONValue) -> JSONValue {
        guard let id = body["previous_response_id"]?.string, let pending = self.pendingInputs.removeValue(forKey: id)
        else { return body }
        return body.replacing("input", with: .array(pending + Self.items(of: body["input"])))
    }

    /// Returns the items of an input, which may be a text.
    static func items(of input: JSONValue?) -> [JSONValue] {
        guard let text = input?.string else { return input?.elements ?? [] }
        let item = "{\"type\":\"message\",\"role\":\"user\",\"content\":\(JSONValue.quoted(text))}"
        return [JSONValue(Array(item.utf8))].compactMap { $0 }
    }

    /// Stores a completed response as its lane's last one.
    mutating func complete(_ script: ResponseScript, after conversation: Conversation, lane: String?) {
        var conversation = conversation
        conversation.append(callIDs: script.callIDs)
        self.completedIDs.insert(script.identity.id)
        self.lanes[lane ?? ""] = Lane(lastID: script.identity.id, conversation: conversation)
    }

    /// Removes the response that a failed one would have continued, if that was on the same lane: a failed fork does
    /// not affect the other lane.
    mutating func fail(previousID: String?, lane: String?) {
        guard let previousID, self.lanes[lane ?? ""]?.lastID == previousID else { return }
        self.lanes[lane ?? ""] = Lane()
    }
}
