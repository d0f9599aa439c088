// The input of a scripted answer.
//
// A value.

/// The parameters of a scripted answer.
struct ScriptedRequest: Sendable {
    /// The request's JSON.
    var body: JSONValue
    /// The size of its text in bytes.
    var bodyByteCount: Int
    /// The attempt that carries it.
    var attempt: Int
    /// The response's number over all attempts.
    var response: Int
    /// The changes of the text by faults.
    var textChanges: [TextChange] = []
    /// The conversation, the request's input included.
    var conversation = Conversation()

    /// A change of the answer's text.
    enum TextChange: Sendable {
        /// Another text from a scalar offset on.
        case diverge(from: Int, replacement: String?)
        /// The end of the text at a scalar offset.
        case shorten(to: Int)
        /// A text in front.
        case prefix(String)
        /// One delta of this number of bytes in front.
        case largeDelta(byteCount: Int)
    }

    /// The name of the model that was asked for.
    var model: String { self.body["model"]?.string ?? "scripted" }

    /// Returns the identity of the answer; ids differ from response to response, but not in length.
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
