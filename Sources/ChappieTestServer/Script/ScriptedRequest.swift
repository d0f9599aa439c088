// What a scripted answer is made from.
//
// A value.

/// What a scripted answer depends on.
struct ScriptedRequest: Sendable {
    /// The request's JSON.
    var body: JSONValue
    /// The size of its text in bytes.
    var bodyByteCount: Int
    /// The attempt that carries it.
    var attempt: Int
    /// The response's number over all attempts.
    var response: Int
    /// How the text is changed by faults.
    var textChanges: [TextChange] = []
    /// What was said before, the request's input included.
    var conversation = Conversation()

    /// A change of the answer's text.
    enum TextChange: Sendable {
        /// Something else from a scalar offset on.
        case diverge(from: Int, replacement: String?)
        /// Nothing from a scalar offset on.
        case shorten(to: Int)
        /// Something in front.
        case prefix(String)
        /// One delta of so many bytes in front.
        case largeDelta(byteCount: Int)
    }

    /// The name of the model that was asked for.
    var model: String { self.body["model"]?.string ?? "scripted" }

    /// The identity of the answer; ids differ from response to response, their length does not.
    func identity(seed: UInt64) -> ResponseIdentity {
        var random = RandomSequence(seed: seed, stream: UInt64(self.response) &+ 1000)
        return ResponseIdentity(
            id: "resp_" + random.hexDigits(24),
            model: self.model,
            previousID: self.body["previous_response_id"]?.string,
            isStored: self.body["store"] == .bool(true)
        )
    }
}
