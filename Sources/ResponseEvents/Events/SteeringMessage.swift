// The message that adds items to a response that is being generated. Pure.

/// The message of a WebSocket that steers a response.
package enum SteeringMessage {
    /// The answer of the server to a steering message.
    package enum Answer: Equatable, Sendable {
        /// The message is accepted: the response ends, and another one continues from it.
        case accepted
        /// The message waits for items that the next request has to bring.
        case pending
        /// The message is refused; the code of the error, if it is one of the protocol's.
        case failed(code: String?)
    }

    /// Returns an input of one message of the user.
    package static func input(_ text: String) -> [UInt8] {
        var input = Array(#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"#.utf8)
        JSONText.append(text, to: &input)
        return input + Array("}]}]".utf8)
    }

    /// Returns the items of an input, each as JSON text; nil when it is not an array of objects, or an empty one.
    package static func items(of input: [UInt8]) -> [[UInt8]]? {
        guard let elements = JSONArrayText(input)?.elements, !elements.isEmpty,
            elements.allSatisfy({ $0.json.first == UInt8(ascii: "{") })
        else { return nil }
        return elements.map { Array($0.json) }
    }

    /// Returns the message; the input is an array of items.
    package static func json(previousResponseID: String, input: [UInt8]) -> [UInt8] {
        var message = JSONObjectText()
        message["type"] = JSONText.string("response.steer")[...]
        message["previous_response_id"] = JSONText.string(previousResponseID)[...]
        message["input"] = input[...]
        return message.json
    }

    /// Returns the answer in an event; nil for any other event.
    package static func answer(type: String, json: UnsafeRawBufferPointer) -> Answer? {
        switch type {
        case "response.steer.accepted": return .accepted
        case "response.steer.pending": return .pending
        case "response.steer.failed":
            let facts = ServerErrorFacts(body: json)
            return .failed(code: facts?.code.flatMap { Self.codes.contains($0) ? $0 : nil })
        default: return nil
        }
    }

    private static let codes: Set<String> = [
        "invalid_input", "response_already_completed", "response_not_active", "response_not_found",
        "steering_not_supported", "successor_creation_failed", "too_many_pending_steers",
    ]
}
