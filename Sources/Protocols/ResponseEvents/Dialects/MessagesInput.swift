// The input items of a request as the messages of Anthropic's Messages. Pure.

import PlatformFoundation

/// The messages of a request, made of input items one after the other.
///
/// Neighbouring items of one side are one message: the text, the reasoning and the calls of an answer, and the outputs of
/// all its calls with what the person says behind them.
struct MessagesInput {
    private enum Role: String { case user, assistant }

    private var system: [ArraySlice<UInt8>] = []
    private var finished: [[UInt8]] = []
    private var role = Role.user
    /// The blocks of the newest message.
    private var blocks: [ArraySlice<UInt8>] = []

    /// The messages.
    var messages: [[UInt8]] { self.finished + (self.blocks.isEmpty ? [] : [self.message]) }

    /// The text of the system as JSON text; nil without any.
    var systemText: ArraySlice<UInt8>? {
        guard self.system.count > 1 else { return self.system.first }
        return JSONArrayText.json(self.system.map(Self.textBlock))[...]
    }

    /// Appends the instructions; `text` is a JSON string.
    mutating func append(system text: ArraySlice<UInt8>) { self.system.append(text) }

    /// Appends an input item.
    mutating func append(_ json: [UInt8]) throws(ResponseRequestBodyError) {
        guard let item = try? JSONObjectText(json) else { throw .notInDialect("an input item that is no object") }
        let own = item[ChappieDialect.messages.rawValue]
        switch item.string("type") ?? "message" {
        case "message": try self.append(message: item, own: own.flatMap { try? JSONObjectText(Array($0)) })
        case "function_call": self.append(call: item, own: own.flatMap { try? JSONObjectText(Array($0)) })
        case "function_call_output": try self.append(output: item)
        // Only this API's own reasoning can go back to it, with its signature.
        case "reasoning": if let own { self.append([own], role: .assistant) }
        // A block that only this API has, such as a search that the server made.
        case _ where own != nil: if let own { self.append([own], role: .assistant) }
        case let type: throw .notInDialect("an input item of type \(type.word)")
        }
    }

    private mutating func append(
        message item: JSONObjectText, own: JSONObjectText?
    ) throws(ResponseRequestBodyError) {
        let content = item["content"] ?? JSONText.string("")[...]
        switch item.string("role") {
        case "system", "developer":
            // It belongs to no message: of all models only the newest take one among the others.
            guard self.finished.isEmpty, self.blocks.isEmpty else {
                throw .notInDialect("a message of the system behind others")
            }
            for block in try Self.blocks(of: content) {
                guard let text = (try? JSONObjectText(Array(block)))?["text"] else {
                    throw .notInDialect("a message of the system with more than text")
                }
                self.system.append(text)
            }
        case "user": self.append(try Self.blocks(of: content), role: .user)
        case "assistant":
            // The server refuses an answer whose only text is white space (reported: home-assistant/core issue 175637).
            var blocks = try Self.blocks(of: content).filter { !Self.isBlank($0) }
            if let own, let last = blocks.popLast(), var block = try? JSONObjectText(Array(last)) {
                for member in own.members { block[member.name] = member.json }
                blocks.append(block.json[...])
            }
            self.append(blocks, role: .assistant)
        case let role: throw .notInDialect("a message of the role \(role?.word ?? "none")")
        }
    }

    private mutating func append(call item: JSONObjectText, own: JSONObjectText?) {
        var block = JSONObjectText()
        block["type"] = JSONText.string("tool_use")[...]
        block["id"] = Self.identifier(item)
        block["name"] = item["name"] ?? JSONText.string("")[...]
        let arguments = Array((item.string("arguments") ?? "").utf8)
        block["input"] = JSONObjectFault(arguments) == nil ? arguments[...] : Array("{}".utf8)[...]
        for member in own?.members ?? [] { block[member.name] = member.json }
        self.append([block.json[...]], role: .assistant)
    }

    private mutating func append(output item: JSONObjectText) throws(ResponseRequestBodyError) {
        var block = JSONObjectText()
        block["type"] = JSONText.string("tool_result")[...]
        block["tool_use_id"] = Self.identifier(item)
        if let output = item["output"], !output.elementsEqual(#""""#.utf8) {
            let isText = output.first == UInt8(ascii: "\"")
            block["content"] = isText ? output : JSONArrayText.json(try Self.blocks(of: output))[...]
        }
        self.append([block.json[...]], role: .user)
    }

    /// Returns the identifier of a call, in which Messages takes letters, digits, `_` and `-` only; those of other APIs
    /// may have more (recorded: `functions.get_weather:0`).
    private static func identifier(_ item: JSONObjectText) -> ArraySlice<UInt8> {
        let text = item.string("call_id") ?? ""
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        return JSONText.string(String(decoding: bytes, as: UTF8.self))[...]
    }

    private mutating func append(_ blocks: [ArraySlice<UInt8>], role: Role) {
        if role != self.role, !self.blocks.isEmpty {
            self.finished.append(self.message)
            self.blocks = []
        }
        self.role = role
        self.blocks += blocks
    }

    private var message: [UInt8] {
        Array(#"{"role":"\#(self.role.rawValue)","content":"#.utf8) + JSONArrayText.json(self.blocks)
            + Array("}".utf8)
    }

    // MARK: Blocks

    private static func textBlock(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        (Array(#"{"type":"text","text":"#.utf8) + text + Array("}".utf8))[...]
    }

    /// Returns a content, a text or an array of parts, as blocks; texts that are empty, which servers refuse, are left
    /// out.
    private static func blocks(of json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> [ArraySlice<UInt8>] {
        guard let parts = JSONArrayText(json) else {
            guard json.first == UInt8(ascii: "\"") || json.elementsEqual("null".utf8) else {
                throw .notInDialect("a content that is neither a text nor an array")
            }
            return json.count > 2 && json.first == UInt8(ascii: "\"") ? [self.textBlock(json)] : []
        }
        var blocks: [ArraySlice<UInt8>] = []
        for element in parts.elements {
            guard let part = try? JSONObjectText(Array(element.json)) else {
                throw .notInDialect("a part of a content that is no object")
            }
            switch element.type {
            case "input_text", "output_text", "refusal":
                let text = part["text"] ?? part["refusal"] ?? JSONText.string("")[...]
                if text.count > 2 { blocks.append(self.textBlock(text)) }
            case "input_image":
                let source = try self.source(
                    of: part, url: "image_url", data: "image_url", naming: "an image")
                blocks.append(self.block("image", source: source.json, name: nil))
            case "input_file":
                let source = try self.source(
                    of: part, url: "file_url", data: "file_data", naming: "a file")
                blocks.append(self.block("document", source: source.json, name: part["filename"]))
            case let type? where ChappieDialect.isPartOfResponses(type):
                throw .notInDialect("a part of type \(type.word)")
            // A block in the form of this API, which a program has written, such as `text` with `cache_control`.
            default: blocks.append(element.json)
            }
        }
        return blocks
    }

    /// Returns whether a block is text that has nothing but white space.
    private static func isBlank(_ block: ArraySlice<UInt8>) -> Bool {
        guard let object = try? JSONObjectText(Array(block)), object.string("type") == "text" else { return false }
        return object.string("text")?.allSatisfy(\.isWhitespace) ?? false
    }

    private static func block(
        _ type: String, source: [UInt8], name: ArraySlice<UInt8>?
    ) -> ArraySlice<UInt8> {
        var block = JSONObjectText()
        block["type"] = JSONText.string(type)[...]
        block["source"] = source[...]
        if let name, name.count > 2 { block["title"] = name }
        return block.json[...]
    }

    /// Returns the source of a picture or a file: its address, its data, or its name on the server.
    private static func source(
        of part: JSONObjectText, url urlName: String, data dataName: String, naming noun: String
    ) throws(ResponseRequestBodyError) -> JSONObjectText {
        var source = JSONObjectText()
        if let id = part["file_id"] {
            source["type"] = JSONText.string("file")[...]
            source["file_id"] = id
        } else if let text = part.string(dataName), text.utf8.starts(with: "data:".utf8) {
            guard let data = DataURL(text) else { throw .notInDialect("\(noun) in a data: URL without ;base64") }
            // Text is sent as such here, as plain text, and not as a document's bytes.
            let isText = data.mediaType.hasPrefix("text/")
            let content = isText ? data.text : String(data.base64)
            guard let content else { throw .notInDialect("\(noun) of type \(data.mediaType.word) that is not UTF-8") }
            source["type"] = JSONText.string(isText ? "text" : "base64")[...]
            source["media_type"] = JSONText.string(isText ? "text/plain" : data.mediaType)[...]
            source["data"] = JSONText.string(content)[...]
        } else if let url = part[urlName] {
            source["type"] = JSONText.string("url")[...]
            source["url"] = url
        } else {
            throw .notInDialect("\(noun) that is neither data nor an address")
        }
        return source
    }
}

/// The parts of a `data:` URL (RFC 2397) that is encoded in base64.
private struct DataURL {
    let mediaType: String
    let base64: Substring

    /// The data as text; nil when it is not base64 of UTF-8.
    var text: String? { Data(base64Encoded: String(self.base64)).flatMap { String(validating: $0, as: UTF8.self) } }

    init?(_ text: String) {
        guard let comma = text.firstIndex(of: ",") else { return nil }
        let head = text[..<comma].dropFirst("data:".count).split(separator: ";")
        guard head.last == "base64" else { return nil }
        self.mediaType = head.count > 1 ? String(head[0]) : "application/octet-stream"
        self.base64 = text[text.index(after: comma)...]
    }
}
