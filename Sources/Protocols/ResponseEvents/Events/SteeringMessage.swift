// The message that adds items to a response that is being generated. Pure.

/// The message of a WebSocket that steers a response.
package enum SteeringMessage {
    /// The answer of the server to a steering message, with the identifier that the server has given it; nil without
    /// one.
    ///
    /// The rules are those of openai-python 3.57.0, `types/responses/response_steer_*_event.py`.
    package enum Answer: Equatable, Sendable {
        /// The input is the server's: it goes into a successor of the response, whose `response.created` commits it.
        case accepted(id: String?)
        /// The input stays the server's: it goes before the input of the request that brings the missing outputs.
        case pending(id: String?)
        /// The input is refused, at once or behind its acceptance; the code of the error, if it is one of the
        /// protocol's.
        case failed(id: String?, code: String?)
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
        case "response.steer.accepted": return unsafe .accepted(id: Self.id(in: json))
        case "response.steer.pending": return unsafe .pending(id: Self.id(in: json))
        case "response.steer.failed":
            let facts = ServerErrorFacts(body: json)
            return unsafe .failed(
                id: Self.id(in: json), code: facts?.code.flatMap { Self.codes.contains($0) ? $0 : nil })
        default: return nil
        }
    }

    /// Returns the identifier of the steering that an answer is about; an empty one is none.
    private static func id(in json: UnsafeRawBufferPointer) -> String? {
        guard let steer = unsafe (try? JSONObjectText(Array(json)))?["steer"],
            let id = (try? JSONObjectText(Array(steer)))?.string("id"), !id.isEmpty
        else { return nil }
        return id
    }

    private static let codes: Set<String> = [
        "invalid_input", "response_already_completed", "response_not_active", "response_not_found",
        "steering_not_supported", "successor_creation_failed", "too_many_pending_steers",
    ]
}
