import ChappieTransport
import PlatformFoundation
import ResponseEvents

/// The answer of a turn that is to be a value: the text and the refusal of its last message.
///
/// It is collected from the turn's events, and a call of a tool begins it anew: the text before it is not the answer.
/// Of a response with several messages, such as a comment before the answer, the last one counts.
struct StructuredAnswer {
    /// The text of the answer.
    private(set) var text = ""
    /// The model's refusal; empty without one.
    private(set) var refusal = ""

    /// Adds events of the turn.
    mutating func add(_ events: [ChappieStreamEvent]) {
        for event in events {
            switch event {
            case .textDelta(let delta): self.text += delta
            case .refusalDelta(let delta): self.refusal += delta
            case .toolCallRequested, .restarted: (self.text, self.refusal) = ("", "")
            case .approvalRequested, .toolCallCompleted, .reasoningDelta, .usageLimits, .raw, .diagnostic, .completed:
                break
            }
        }
    }

    /// Takes the last message of the last response, if there is one, in place of the events.
    mutating func takeLastMessage(of items: [[UInt8]]) {
        for item in items.reversed() {
            guard let message = try? JSONObjectText(item), message.text(of: "type") == "message",
                message.text(of: "role") == "assistant",
                let parts = message["content"].flatMap({ JSONArrayText($0) })?.elements
            else { continue }
            let objects = parts.compactMap { try? JSONObjectText(Array($0.json)) }
            self.text = objects.compactMap { $0.text(of: "text") }.joined()
            self.refusal = objects.compactMap { $0.text(of: "refusal") }.joined()
            return
        }
    }

    /// Returns the answer as a value of a type; the names that the schema has may be in an error.
    ///
    /// An answer that fits the schema, and is not decoded all the same, is no fault of the server.
    func value<Value: Decodable>(
        of type: Value.Type, schema: ChappieJSONSchema, decoder: JSONDecoder
    ) throws(ChappieStructuredOutputError) -> Value {
        guard self.refusal.isEmpty else { throw .refused(self.refusal) }
        let bytes = Array(self.text.utf8)
        let fault = JSONObjectFault(bytes)
        if let fault, fault.kind != .otherValue { throw .notJSON(offset: fault.kind == .empty ? 0 : fault.offset) }
        do {
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            throw Self.error(error, of: bytes, isObject: fault == nil, schema: schema)
        }
    }

    private static func error(
        _ error: any Error, of answer: [UInt8], isObject: Bool, schema: ChappieJSONSchema
    ) -> ChappieStructuredOutputError {
        let (mismatch, path): (ChappieValueMismatch, [any CodingKey]) =
            switch error as? DecodingError {
            case .keyNotFound(let key, let context)?: (.missing, context.codingPath + [key])
            case .typeMismatch(_, let context)?: (.otherType, context.codingPath)
            case .valueNotFound(_, let context)?: (.null, context.codingPath)
            case .dataCorrupted(let context)?: (.rejected, context.codingPath)
            case nil: (.rejected, [])
            @unknown default: (.rejected, [])
            }
        // Text behind a value that is not an object is found by the decoder alone.
        if !isObject, mismatch == .rejected, path.isEmpty { return .notJSON(offset: 0) }
        // Names that the schema does not have are the answer's.
        let memberNames = schema.memberNames
        let shown = path.map { key -> any CodingKey in
            CodingPlace.isIndex(key) || memberNames.contains(key.stringValue) ? key : SchemaKey("*")
        }
        let place = CodingPlace.words(shown)
        let isFitting = JSONDocumentValue(text: answer).map { SchemaCheck(schema: schema.json).accepts($0) }
        return isFitting == true
            ? .notDecodable(codingPath: place, mismatch) : .doesNotMatch(codingPath: place, mismatch)
    }
}
