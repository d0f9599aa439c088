// What one WebSocket remembers between its requests, and the rules for continuing a response.
//
// A value owned by the connection's exchange.

/// The lanes of one connection.
struct WebSocketSession {
    /// Why a request is answered with an error frame.
    struct Refusal: Equatable {
        var code: String?
        var message: String
        var param: String?

        init(code: String? = nil, message: String, param: String? = nil) {
            self.code = code
            self.message = message
            self.param = param
        }
    }

    private struct Lane {
        var lastID: String?
        var conversation = Conversation()
    }

    private static let maximumLaneCount = 32

    private var lanes: [String: Lane] = [:]

    /// Why a request is refused; nil when it is not.
    ///
    /// Naming a new lane counts it.
    mutating func refusal(for body: JSONValue, isOnChatGPTPath: Bool) -> Refusal? {
        guard body["type"]?.string == "response.create" else {
            return Refusal(message: "The message's type is not known.", param: "type")
        }
        if body["background"] == .bool(true) { return Refusal(message: "background is not supported here.") }
        if let refusal = self.laneRefusal(body["stream_id"]) { return refusal }
        if isOnChatGPTPath, let message = ChatGPTRules.violation(body, needsStream: false) {
            return Refusal(message: message)
        }
        return self.continuationRefusal(body)
    }

    private mutating func laneRefusal(_ value: JSONValue?) -> Refusal? {
        guard let value else { return nil }
        let isAllowed: (UInt8) -> Bool = { byte in
            let scalar = Unicode.Scalar(byte)
            return scalar.isASCII
                && (Character(scalar).isLetter || Character(scalar).isNumber || "_.-".contains(Character(scalar)))
        }
        guard let name = value.string, (1...256).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) else {
            return Refusal(code: "invalid_stream_id", message: "The stream_id is invalid.", param: "stream_id")
        }
        guard self.lanes[name] == nil else { return nil }
        guard self.lanes.keys.count(where: { !$0.isEmpty }) < Self.maximumLaneCount else {
            return Refusal(code: "websocket_stream_limit_reached", message: "Too many streams.", param: "stream_id")
        }
        self.lanes[name] = Lane()
        return nil
    }

    private func continuationRefusal(_ body: JSONValue) -> Refusal? {
        guard let previous = body["previous_response_id"], previous != .null else { return nil }
        guard let id = previous.string, self.lanes.values.contains(where: { $0.lastID == id }) else {
            return Refusal(
                code: "previous_response_not_found", message: "The previous response was not found.",
                param: "previous_response_id")
        }
        return nil
    }

    /// What was said before a request's response: what the lane knows of the response that it continues, and its input.
    func conversation(for body: JSONValue) -> Conversation {
        let previous = body["previous_response_id"]?.string
        let lane = previous.flatMap { id in self.lanes.values.first { $0.lastID == id } }
        var conversation = lane?.conversation ?? Conversation()
        conversation.append(input: body["input"])
        return conversation
    }

    /// The id of the lane's last response; nil when there is none.
    func lastID(lane: String?) -> String? { self.lanes[lane ?? ""]?.lastID }

    /// Remembers a completed response as its lane's last one.
    mutating func complete(_ script: ResponseScript, after conversation: Conversation, lane: String?) {
        var conversation = conversation
        conversation.append(callIDs: script.callIDs)
        self.lanes[lane ?? ""] = Lane(lastID: script.identity.id, conversation: conversation)
    }

    /// Forgets the response that a failed one would have continued.
    mutating func fail(previousID: String?) {
        guard let previousID else { return }
        for (name, lane) in self.lanes where lane.lastID == previousID { self.lanes[name] = Lane() }
    }
}
