import ChappieTransport
import ResponseEvents

/// The request of a client for a response: what the relay itself reads of it, and what goes to the upstream.
///
/// Pure.
struct RelayRequest {
    /// The reason for which a request is refused.
    struct Refusal: Error, Equatable {
        let message: String
        let parameter: String?
        /// A word for programs, in the answer's `code`.
        var code = "invalid_request"
    }

    /// Indicates whether the client wants events.
    let streams: Bool
    /// Indicates whether the client wants an answer at once, and the response later.
    let isBackground: Bool
    /// The response that this one continues; nil for none.
    let previousResponseID: String?
    private(set) var request: ChappieTransportRequest

    /// Reads the JSON of a request, or of a WebSocket's message; `model` is that of a request that names none.
    ///
    /// Throws `Refusal` for what is no JSON object.
    init(_ json: [UInt8], model: String?) throws(Refusal) {
        let object: JSONObjectText
        do {
            object = try JSONObjectText(json)
        } catch {
            throw Refusal(message: "The body is not a JSON object.", parameter: nil)
        }
        var body = object
        self.streams = object["stream"].map { Array($0) } == Array("true".utf8)
        self.isBackground = object["background"].map { Array($0) } == Array("true".utf8)
        self.previousResponseID = Self.string(object["previous_response_id"])
        // The relay reads the upstream's answer itself, and answers for what it keeps.
        for name in ["stream", "stream_options", "background", "type", "previous_response_id"] { body[name] = nil }
        if body["model"] == nil, let model { body["model"] = JSONText.string(model)[...] }
        self.request = ChappieTransportRequest(body: body.json)
        self.request.model = Self.string(body["model"])
    }

    /// Puts the input and the output of the response that this one continues in front of its input.
    ///
    /// - Parameters:
    ///   - body: the earlier request's body, with all that it had itself continued.
    ///   - items: the items of its response.
    mutating func continues(_ body: String, items: [String]) {
        guard var own = try? JSONObjectText(self.request.body) else { return }
        let earlier = (try? JSONObjectText(Array(body.utf8)))?["input"]
        let input = Self.items(earlier) + items + Self.items(own["input"])
        own["input"] = Array("[\(input.joined(separator: ","))]".utf8)[...]
        self.request.body = own.json
    }

    /// Returns whether the response to a request may be continued by any later one: without `store` it may.
    static func isStored(_ body: String) -> Bool {
        (try? JSONObjectText(Array(body.utf8)))?["store"].map { Array($0) } != Array("false".utf8)
    }

    /// Returns the items of an input, which may be one text.
    private static func items(_ input: ArraySlice<UInt8>?) -> [String] {
        guard let input, let first = input.first else { return [] }
        if first == UInt8(ascii: "\"") {
            return ["{\"type\":\"message\",\"role\":\"user\",\"content\":\(String(decoding: input, as: UTF8.self))}"]
        }
        guard first == UInt8(ascii: "[") else { return [] }
        let inner = String(decoding: input.dropFirst().dropLast(), as: UTF8.self)
        return inner.allSatisfy(\.isWhitespace) ? [] : [inner]
    }

    /// Reads a string without escapes; nil for any other value.
    private static func string(_ json: ArraySlice<UInt8>?) -> String? {
        guard let json, json.count > 2, json.first == UInt8(ascii: "\""), !json.contains(UInt8(ascii: "\\")) else {
            return nil
        }
        return String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
    }
}
