// The check of a request for a chat completion for parts of earlier answers that have to come back.
//
// Pure.

extension ChappieTestServer.ChatDemand {
    /// Returns the signature of a call.
    static func signature(of callID: String) -> String { "signature of \(callID)" }

    /// Returns the reason for which a body is refused; nil when it has everything.
    func problem(_ body: JSONValue) -> String? {
        let answers = (body["messages"]?.elements ?? []).filter { $0["role"]?.string == "assistant" }
        switch self {
        case .reasoning:
            let hasTools = body["tools"]?.elements.isEmpty == false
            let isWhole = answers.allSatisfy { answer in
                (!hasTools && answer["tool_calls"] == nil)
                    || answer["reasoning_content"]?.string == ScriptedResponseBuilder.summary
            }
            return isWhole ? nil : "An answer of the model lacks the reasoning_content that it came with."
        case .signatures:
            for call in answers.flatMap({ $0["tool_calls"]?.elements ?? [] }) {
                let signature = call["extra_content"]?["google"]?["thought_signature"]?.string
                guard let id = call["id"]?.string, signature == Self.signature(of: id) else {
                    return "A call lacks the thought_signature that it came with."
                }
            }
            return nil
        }
    }
}
