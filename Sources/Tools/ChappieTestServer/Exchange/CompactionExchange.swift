// Requests to compact a conversation: its items become fewer, which a later request has in their place.
//
// Owned by the connection thread.

/// Answers one POST to `/v1/responses/compact`.
struct CompactionExchange {
    static let path = "/v1/responses/compact"

    let exchange: Exchange

    /// Sends the answer: the user's messages as they are, and one item in place of all others.
    ///
    /// The connection may carry another request when this returns true.
    func run() throws(ConnectionEnd) -> Bool {
        if try self.exchange.sendReplacement() { return true }
        let bytes = self.exchange.request.content
        guard let body = JSONValue(bytes), body.isObject else {
            return try self.refuse("The body is not a JSON object.")
        }
        guard let model = body["model"]?.string, !model.isEmpty else {
            return try self.refuse("Missing required parameter: 'model'.", code: "missing_required_parameter", "model")
        }
        var random = RandomSequence(seed: UInt64(bytes.count), stream: UInt64(self.exchange.attempt))
        let input = body["input"]
        let items = input?.string == nil ? input?.elements ?? [] : []
        var output = (input?.string.map { [$0] } ?? items.compactMap(Self.userText)).map { text in
            "{\"id\":\"msg_\(random.hexDigits(24))\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"user\","
                + "\"content\":[{\"type\":\"input_text\",\"text\":\(JSONValue.quoted(text))}]}"
        }
        let secret = random.hexDigits(64)
        output.append(
            "{\"id\":\"cmp_\(random.hexDigits(24))\",\"type\":\"compaction\",\"encrypted_content\":\"\(secret)\"}")
        let usage = ResponseIdentity.usage(
            inputByteCount: bytes.count, outputByteCount: secret.utf8.count, reasoningTokens: 0)
        try self.exchange.send(
            status: 200,
            body: "{\"id\":\"resp_\(random.hexDigits(24))\",\"object\":\"response.compaction\","
                + "\"created_at\":\(ResponseIdentity.creationTime),\"output\":[\(output.joined(separator: ","))],"
                + "\"usage\":\(usage)}")
        return true
    }

    /// The text of a message of the user; nil for any other item.
    private static func userText(_ item: JSONValue) -> String? {
        guard item["type"]?.string ?? "message" == "message", item["role"]?.string == "user" else { return nil }
        if let text = item["content"]?.string { return text }
        return item["content"]?.elements.compactMap { $0["text"]?.string }.joined(separator: "\n")
    }

    private func refuse(
        _ message: String, code: String? = nil, _ parameter: String? = nil
    ) throws(ConnectionEnd) -> Bool {
        try self.exchange.send(
            status: 400, body: ErrorBody.body(code: code, message: message, param: parameter))
        return true
    }
}
