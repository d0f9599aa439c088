// The built-in model: its configuration, and the response that it makes.
//
// Pure values; the same seed gives the same text.

extension ChappieTestServer {
    /// A model that answers with generated text, a reasoning summary, and a tool call where tools are offered.
    ///
    /// A request that asks for JSON (`text.format`) is answered with JSON that fits its schema, unless the model has a
    /// text.
    public struct ScriptedModel: Codable, Equatable, Sendable {
        /// The seed of the text.
        package var seed: UInt64 = 1
        /// The text's length in bytes of UTF-8, at least.
        public var textByteCount = 3000
        /// A text that replaces the generated one.
        public var text: String?
        /// The largest text delta, in Unicode scalars.
        package var maximumDeltaLength = 12
        /// Indicates whether a reasoning summary precedes the answer.
        public var includesReasoning = true
        /// Indicates whether the caller's tools are called, functions and custom ones.
        public var callsTools = true
        /// The number of calls in one response.
        public var toolCallCount = 1
        /// The number of responses with calls after a message of the user, before the text comes.
        ///
        /// No two calls of a tool are the same: their numbers and texts count them.
        public var toolRounds = 1
        /// The arguments of a tool's calls, by the tool's name: the arguments' JSON text, or a custom tool's input.
        ///
        /// `$number` in it is replaced by the call's number since the user's last message, from 1. When tools are named
        /// here, no others are called.
        public var toolArguments: [String: String] = [:]
        /// Indicates whether every attempt cuts the text into deltas differently, as services do.
        package var variesDeltas = true
        /// Indicates whether characters outside ASCII are written as `\u` escapes.
        package var escapesNonASCII = false

        /// The defaults.
        public init() {}

        /// The defaults with a seed and a length.
        package init(seed: UInt64, textByteCount: Int = 3000) {
            self.seed = seed
            self.textByteCount = textByteCount
        }

        /// Reads the members that are present; the others keep their defaults.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            func read<Value: Decodable>(_ key: CodingKeys, into member: inout Value) throws {
                member = try members.decodeIfPresent(Value.self, forKey: key) ?? member
            }
            try read(.seed, into: &self.seed)
            try read(.textByteCount, into: &self.textByteCount)
            try read(.text, into: &self.text)
            try read(.maximumDeltaLength, into: &self.maximumDeltaLength)
            try read(.includesReasoning, into: &self.includesReasoning)
            try read(.callsTools, into: &self.callsTools)
            try read(.toolCallCount, into: &self.toolCallCount)
            try read(.toolRounds, into: &self.toolRounds)
            try read(.toolArguments, into: &self.toolArguments)
            try read(.variesDeltas, into: &self.variesDeltas)
            try read(.escapesNonASCII, into: &self.escapesNonASCII)
        }

        /// The whole text of an answer without faults.
        public var fullText: String {
            self.text ?? ScriptedText.prose(seed: self.seed, byteCount: self.textByteCount)
        }
    }
}
