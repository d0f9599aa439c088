public import ChappieTransport
import ResponseEvents

/// One item of a conversation: a message, reasoning, a call of a tool, or the output of a call.
///
/// It keeps the JSON text with which it is sent; its properties read that text.
///
/// ```swift
/// for item in client.context.history {
///     if let role = item.role { print("\(role.rawValue): \(item.text), \(item.images.count) pictures") }
///     if let call = item.call { print("\(call.name)(\(call.arguments))") }
/// }
/// ```
public struct ChappieHistoryItem: Sendable, Equatable {
    /// The item as JSON text.
    let bytes: [UInt8]

    /// Creates an item of JSON text, which is one object.
    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the item of a message.
    public init(_ message: ChappieInputMessage) { self.bytes = message.json }

    /// Creates an item from JSON text, which is sent as it is.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the text is not one JSON object.
    public init(parsing text: String) throws(ChappieArgumentError) {
        self.bytes = try BodyText.bytes(text.utf8, of: "text")
    }

    /// The item as JSON text.
    public var jsonText: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The item as a value; an empty object for an item with a number that is too large.
    public var json: ChappieJSONValue { ChappieJSONValue(jsonText: self.jsonText) ?? .object([:]) }

    /// The kind of item, such as `message`, `reasoning`, `function_call` or `function_call_output`.
    ///
    /// An item without one is a message.
    public var type: String { self.object.text(of: "type") ?? "message" }

    /// The author of a message; nil for other items.
    public var role: ChappieInputMessage.Role? {
        self.object.text(of: "role").flatMap(ChappieInputMessage.Role.init(rawValue:))
    }

    /// The content of a message, the output of a call, or the text or summary of reasoning: text, pictures and files, in
    /// order.
    ///
    /// Other content, such as sound, is left out.
    public var parts: [ChappieContentPart] {
        let object = self.object
        guard let content = object["content"] ?? object["output"] ?? object["summary"] else { return [] }
        if case .string(let text) = JSONDocumentValue(text: content) { return [.text(text)] }
        return (JSONArrayText(content)?.elements ?? []).compactMap { element in
            (try? JSONObjectText(Array(element.json))).flatMap(ChappieContentPart.init)
        }
    }

    /// The text of the content, concatenated.
    public var text: String { self.parts.compactMap(\.text).joined() }

    /// The pictures of the content.
    public var images: [ChappieContentPart] {
        self.parts.filter {
            switch $0 {
            case .image, .imageFile: true
            case .text, .file, .fileReference, .fileURL: false
            }
        }
    }

    /// The call of a tool; nil for other items.
    public var call: ChappieToolCall? {
        guard let call = InputItem(self.bytes)?.call else { return nil }
        return ChappieToolCall(callID: call.callID, name: call.name, arguments: call.payload)
    }

    /// The identifier of the call whose output the item is; nil for other items.
    public var answeredCallID: String? {
        guard case .output(let callID)? = InputItem(self.bytes)?.part else { return nil }
        return callID
    }

    /// Returns whether requests to servers of a dialect include the item; all but some reasoning is included.
    ///
    /// Reasoning goes back only to the API that it came from, as no other one can read it. An item without a form in the
    /// dialect counts as included: the request is refused (`request.invalid`).
    public func isIncluded(in dialect: ChappieDialect) -> Bool { dialect.includes(self.object) }

    private var object: JSONObjectText { (try? JSONObjectText(self.bytes)) ?? JSONObjectText() }
}

extension ChappieContentPart {
    /// Reads a part of an item; nil for one of another kind.
    fileprivate init?(_ part: JSONObjectText) {
        let detail = part.text(of: "detail")
        switch part.text(of: "type") {
        case "input_text", "output_text", "summary_text", "reasoning_text", "text":
            self = .text(part.text(of: "text") ?? "")
        case "refusal": self = .text(part.text(of: "refusal") ?? "")
        case "input_image":
            if let url = part.text(of: "image_url") {
                self = .image(url: url, detail: detail)
            } else if let id = part.text(of: "file_id") {
                self = .imageFile(id: id, detail: detail)
            } else {
                return nil
            }
        case "input_file":
            if let dataURL = part.text(of: "file_data") {
                self = .file(name: part.text(of: "filename") ?? "", dataURL: dataURL)
            } else if let id = part.text(of: "file_id") {
                self = .fileReference(id: id)
            } else if let url = part.text(of: "file_url") {
                self = .fileURL(url)
            } else {
                return nil
            }
        default: return nil
        }
    }
}
