// Events of the Responses API that were made of another API's. A value.

/// A delta that an event of another API stands for: text without escapes, which is valid as long as that event.
package struct TranslatedDelta {
    /// The text, in whole UTF-8.
    package let text: UnsafeBufferPointer<UInt8>
    /// The kind of text that the delta continues.
    package let kind: ResponseEvent.DeltaKind
    /// The position of its item.
    package let outputIndex: Int
}

/// The events that one event of another API stands for, one behind the other in one piece of memory.
package struct TranslatedEvents {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// The bytes of the newest delta before its text, which the next one of its item repeats.
    private var head = DeltaHead()
    /// The number of deltas of text, reasoning and refusals.
    private(set) var outputCount = 0

    /// Creates the value without events.
    init() {}

    /// Creates the value with a delta.
    package init(_ delta: TranslatedDelta) {
        self.append(delta: delta.text, delta.kind, outputIndex: delta.outputIndex)
        self.pad()
    }

    /// Indicates whether there is no event.
    package var isEmpty: Bool { self.ends.isEmpty }

    /// Calls a closure with each event, behind which as many bytes are readable as a decoder needs.
    package func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        self.bytes.withUnsafeBytes { bytes in
            var start = 0
            for end in self.ends {
                body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }

    /// The number of events.
    var count: Int { self.ends.count }

    /// Removes the events, and keeps their memory.
    mutating func removeAll() {
        guard !self.ends.isEmpty else { return }
        self.bytes.removeAll(keepingCapacity: self.bytes.count <= Self.keptByteCount)
        self.ends.removeAll(keepingCapacity: true)
        self.outputCount = 0
    }

    /// The most memory that is kept for the next events.
    private static let keptByteCount = 16 << 10

    /// Makes the bytes behind the last event readable.
    mutating func pad() {
        guard !self.ends.isEmpty else { return }
        self.bytes.append(contentsOf: Self.padding)
    }

    private static let padding = [UInt8](repeating: 0, count: ResponseEventDecoder.paddingByteCount)

    /// Appends an event of a type with further members, each as JSON text.
    mutating func append(_ type: String, members: [UInt8]) {
        self.begin(type)
        self.bytes += members
        self.end()
    }

    /// Appends an event about an item.
    mutating func append(_ type: String, outputIndex: Int, item: [UInt8]) {
        self.begin(type)
        self.bytes += "\"output_index\":\(outputIndex),\"item\":".utf8
        self.bytes += item
        self.end()
    }

    /// Appends a delta, whose text is the content of a JSON string.
    mutating func append(delta: UnsafeBufferPointer<UInt8>, _ kind: ResponseEvent.DeltaKind, outputIndex: Int) {
        if self.head.kind != kind || self.head.outputIndex != outputIndex {
            self.head = DeltaHead(kind, outputIndex: outputIndex)
        }
        self.bytes.append(contentsOf: self.head.bytes)
        self.bytes.append(contentsOf: delta)
        self.bytes.append(UInt8(ascii: "\""))
        self.end()
        if kind != .functionArguments { self.outputCount += 1 }
    }

    private struct DeltaHead {
        private(set) var kind: ResponseEvent.DeltaKind?
        private(set) var outputIndex = 0
        private(set) var bytes: [UInt8] = []

        init() {}

        init(_ kind: ResponseEvent.DeltaKind, outputIndex: Int) {
            self.kind = kind
            self.outputIndex = outputIndex
            let members = #""output_index":\#(outputIndex),"content_index":0,"delta":""#
            self.bytes = Array(#"{"type":"response.\#(kind.word).delta",\#(members)"#.utf8)
        }
    }

    /// The counts of an answer's tokens; nil for those that the server did not state.
    struct Usage {
        var input: Int?
        var cached: Int?
        var output: Int?
        var reasoning: Int?
        var total: Int?
    }

    /// Appends the end of the answer.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - texts: members that are texts, as the contents of JSON strings; empty ones are left out.
    ///   - details: a further member, as JSON text.
    ///   - usage: the counts of tokens.
    mutating func appendEnd(
        _ status: String, _ texts: [(name: String, content: [UInt8])], details: [UInt8]?, usage: Usage?
    ) {
        var response = Array(#""response":{"status":"\#(status)""#.utf8)
        for text in texts where !text.content.isEmpty {
            response += Array(",\"\(text.name)\":\"".utf8) + text.content + Array("\"".utf8)
        }
        if let details { response += Array(",".utf8) + details }
        if let usage { response += Array(#","usage":{"#.utf8) + Array(usage.members.utf8) + Array("}".utf8) }
        response.append(UInt8(ascii: "}"))
        self.append("response.\(status)", members: response)
    }

    private mutating func begin(_ type: String) {
        self.bytes += #"{"type":""#.utf8
        self.bytes += type.utf8
        self.bytes += "\",".utf8
    }

    private mutating func end() {
        self.bytes.append(UInt8(ascii: "}"))
        self.ends.append(self.bytes.count)
    }
}

extension ResponseEvent.DeltaKind {
    /// The word for the kind in the types of events.
    fileprivate var word: String {
        switch self {
        case .text: "output_text"
        case .refusal: "refusal"
        case .reasoningSummary: "reasoning_summary_text"
        case .reasoningText: "reasoning_text"
        case .functionArguments: "function_call_arguments"
        case .customInput: "custom_tool_call_input"
        }
    }
}

extension TranslatedEvents.Usage {
    /// The counts under the names of the Responses API.
    fileprivate var members: String {
        func member(_ name: String, _ count: Int?) -> String? { count.map { "\"\(name)\":\(max(0, $0))" } }
        func details(_ name: String, _ inner: String?) -> String? { inner.map { "\"\(name)\":{\($0)}" } }
        return [
            member("input_tokens", self.input),
            details("input_tokens_details", member("cached_tokens", self.cached)),
            member("output_tokens", self.output),
            details("output_tokens_details", member("reasoning_tokens", self.reasoning)),
            member("total_tokens", self.total),
        ].compactMap { $0 }.joined(separator: ",")
    }
}
