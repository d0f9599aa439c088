// The input items of a request as the messages of a chat completion. Pure.

/// The messages of a chat completion, made of input items one after the other.
///
/// The reasoning, the text and the calls of one answer are several items there and one message here, which the outputs
/// follow.
///
/// Reasoning goes back with the message that it came with, under the server's own names for it, in a request with tools,
/// and otherwise with the messages of turns that have calls:
/// - DeepSeek refuses such a request without it, also without that of the answer behind the outputs
///   (https://api-docs.deepseek.com/guides/thinking_mode; openclaw/openclaw issue 73417, MoonshotAI/kimi-cli issue 2141),
///   and its first reasoning model refuses it, which has no tools. Kimi refuses calls without it (QuantumNous/new-api issue
///   3121), and OpenRouter those of Gemini without `reasoning_details` (RooCodeInc/Roo-Code issue 11629).
/// - A server may refuse the names of another one: see `ChatForm.takenMembers`.
struct ChatMessages {
    /// A message of the model that is not finished.
    private struct Answer {
        var content: ArraySlice<UInt8>?
        var refusal: ArraySlice<UInt8>?
        var calls: [ArraySlice<UInt8>] = []
    }

    /// Indicates whether the request has tools.
    private let hasTools: Bool
    private let form: ChatForm
    private var messages: [[UInt8]] = []
    private var answer: Answer?
    /// The reasoning that goes back with the answer.
    private var reasoning: JSONObjectText?
    /// Indicates whether the newest turn has calls.
    private var hasCalls = false

    /// The parts of a message behind the newest outputs.
    private var media: [ArraySlice<UInt8>] = []

    /// Begins the messages of a request.
    init(_ form: ChatForm, hasTools: Bool) {
        self.hasTools = hasTools
        self.form = form
    }

    /// Appends a message that is not the model's; `content` is JSON text.
    mutating func append(role: String, content: ArraySlice<UInt8>) {
        self.finishAnswer()
        if role == "user" { self.hasCalls = false }
        self.messages.append(Self.message(role: role, content: content))
    }

    private static func message(role: String, content: ArraySlice<UInt8>) -> [UInt8] {
        var message = JSONObjectText()
        message["role"] = JSONText.string(role)[...]
        message["content"] = content
        return message.json
    }

    /// Appends an input item.
    mutating func append(_ json: [UInt8]) throws(ResponseRequestBodyError) {
        guard let item = try? JSONObjectText(json) else { throw .notInDialect("an input item that is no object") }
        let type = item.string("type") ?? "message"
        if type != "function_call_output" { self.finishOutputs() }
        switch type {
        case "message": try self.append(message: item)
        case "function_call": self.append(call: item)
        case "function_call_output": try self.append(output: item)
        case "reasoning": self.append(reasoning: item)
        case let type: throw .notInDialect("an input item of type \(type.word)")
        }
    }

    /// Returns the messages.
    consuming func finished() -> [[UInt8]] {
        self.finishAnswer()
        self.finishOutputs()
        return self.messages
    }

    private mutating func append(message item: JSONObjectText) throws(ResponseRequestBodyError) {
        let content = try item["content"].map { json throws(ResponseRequestBodyError) in try ChatContent(json) }
        switch item.string("role") {
        case "assistant":
            // A second text begins another message of the assistant.
            if self.answer?.content != nil || self.answer?.refusal != nil { self.finishAnswer() }
            var answer = self.answer ?? Answer()
            answer.content = content?.joined
            answer.refusal = content?.refusal
            self.answer = answer
        // Of the servers of this API only OpenAI's knows the role `developer`, and takes `system` for it.
        case "system", "developer": self.append(role: "system", content: content?.joined ?? Self.empty)
        case "user": self.append(role: "user", content: content?.json ?? Self.empty)
        case let role: throw .notInDialect("a message of the role \(role?.word ?? "none")")
        }
    }

    /// Appends reasoning, which may stand anywhere in its answer; that of another API has no form.
    private mutating func append(reasoning item: JSONObjectText) {
        guard let json = item.object(Self.ownMember), var members = try? JSONObjectText(Array(json)) else { return }
        if let taken = self.form.takenMembers { members.removeMembers { !taken.contains($0.name) } }
        if self.reasoning != nil { self.finishAnswer() }
        self.reasoning = members
    }

    private mutating func append(call item: JSONObjectText) {
        var function = JSONObjectText()
        function["name"] = item["name"] ?? Self.empty
        // Servers refuse a conversation with arguments that are no object (reported: vllm-project/vllm issue 43995).
        let isObject = item.string("arguments").map { JSONObjectFault(Array($0.utf8)) == nil } ?? false
        function["arguments"] = isObject ? item["arguments"] : Self.noArguments
        var call = JSONObjectText()
        call["id"] = item["call_id"] ?? Self.empty
        call["type"] = JSONText.string("function")[...]
        call["function"] = function.json[...]
        if self.form.takenMembers == nil, let own = item.object(Self.ownMember),
            let own = try? JSONObjectText(Array(own))
        {
            if let inner = own.object("function"), let inner = try? JSONObjectText(Array(inner)) {
                function.add(inner)
                call["function"] = function.json[...]
            }
            call.add(own)
        }
        var answer = self.answer ?? Answer()
        answer.calls.append(call.json[...])
        self.answer = answer
    }

    private mutating func append(output item: JSONObjectText) throws(ResponseRequestBodyError) {
        let content = try item["output"].map { json throws(ResponseRequestBodyError) in try ChatContent(json) }
        self.finishAnswer()
        self.hasCalls = true
        var message = JSONObjectText()
        message["role"] = JSONText.string("tool")[...]
        message["tool_call_id"] = item["call_id"] ?? Self.empty
        message["content"] = content?.joinedOrJSON ?? Self.empty
        if self.form.outputMedia == .behindOutputs, let content, !content.media.isEmpty {
            message["content"] = content.joined ?? Self.empty
            let name = Array("Output of the call ".utf8) + (item["call_id"] ?? Self.empty).dropFirst().dropLast()
            self.media.append((Array(#"{"type":"text","text":""#.utf8) + name + Array(":\"}".utf8))[...])
            self.media += content.media
        }
        self.messages.append(message.json)
    }

    /// Ends the outputs of an answer with a message that has their pictures and files.
    private mutating func finishOutputs() {
        guard !self.media.isEmpty else { return }
        let content = JSONArrayText.json(self.media)
        self.media = []
        self.messages.append(Self.message(role: "user", content: content[...]))
    }

    private mutating func finishAnswer() {
        let reasoning = self.reasoning.take()
        guard let answer = self.answer.take() else { return }
        if !answer.calls.isEmpty { self.hasCalls = true }
        var message = JSONObjectText()
        message["role"] = JSONText.string("assistant")[...]
        let isEmpty = answer.refusal == nil && answer.calls.isEmpty
        message["content"] = answer.content ?? (isEmpty ? Self.empty : Array("null".utf8)[...])
        if let refusal = answer.refusal { message["refusal"] = refusal }
        if !answer.calls.isEmpty { message["tool_calls"] = JSONArrayText.json(answer.calls)[...] }
        if let reasoning, self.hasTools || self.hasCalls { message.add(reasoning: reasoning, before: answer.content) }
        self.messages.append(message.json)
    }

    /// The member of an item with what goes back to servers of this API.
    private static let ownMember = ChappieDialect.chatCompletions.rawValue

    private static let empty = Array("\"\"".utf8)[...]
    private static let noArguments = Array(#""{}""#.utf8)[...]
}

extension JSONObjectText {
    /// Adds members whose names are not there yet.
    fileprivate mutating func add(_ other: JSONObjectText) {
        for member in other.members where self[member.name] == nil { self[member.name] = member.json }
    }

    /// Adds the members of reasoning to a message of the model, and parts of a content before its text.
    fileprivate mutating func add(reasoning: JSONObjectText, before text: ArraySlice<UInt8>?) {
        if let json = reasoning["content"], let parts = JSONArrayText(json)?.elements {
            var content = parts.map(\.json)
            if let text, text.count > 2 {
                content.append((Array(#"{"type":"text","text":"#.utf8) + text + Array("}".utf8))[...])
            }
            self["content"] = JSONArrayText.json(content)[...]
        }
        self.add(reasoning)
    }
}

/// The content of a message, or the output of a call, in the form of a chat completion.
private struct ChatContent {
    /// The content as JSON text: a text, or an array of parts.
    let json: ArraySlice<UInt8>
    /// The texts in one, with their quotes; nil without any.
    let joined: ArraySlice<UInt8>?
    /// The texts of the refusals in one; nil without any.
    let refusal: ArraySlice<UInt8>?
    /// The parts that are no text.
    let media: [ArraySlice<UInt8>]
    /// Indicates whether there is nothing but text.
    private let isText: Bool

    /// The texts in one if there is nothing else, and else all parts: servers take a text everywhere.
    var joinedOrJSON: ArraySlice<UInt8> { self.isText ? self.joined ?? self.json : self.json }

    /// Reads a text, or an array of parts.
    init(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let parts = JSONArrayText(json) else {
            guard json.first == UInt8(ascii: "\"") || json.elementsEqual("null".utf8) else {
                throw .notInDialect("a content that is neither a text nor an array")
            }
            (self.json, self.joined, self.refusal, self.media, self.isText) = (json, json, nil, [], true)
            return
        }
        var translated: [ArraySlice<UInt8>] = []
        var texts: [ArraySlice<UInt8>] = []
        var refusals: [ArraySlice<UInt8>] = []
        var media: [ArraySlice<UInt8>] = []
        for element in parts.elements {
            guard let part = try? JSONObjectText(Array(element.json)) else {
                throw .notInDialect("a part of a content that is no object")
            }
            let form = try Self.part(part, type: element.type, written: element.json)
            if let form { translated.append(form) }
            switch element.type {
            case "input_text", "output_text", "text": if let text = part["text"] { texts.append(text) }
            case "refusal": if let text = part["refusal"] { refusals.append(text) }
            default: if let form { media.append(form) }
            }
        }
        self.media = media
        self.isText = texts.count == translated.count
        self.joined = Self.joined(texts)
        self.refusal = Self.joined(refusals)
        self.json = self.isText && texts.count == 1 ? texts[0] : JSONArrayText.json(translated)[...]
    }

    /// Returns a part in its form; nil for one that has another place.
    private static func part(
        _ part: JSONObjectText, type: String?, written: ArraySlice<UInt8>
    ) throws(ResponseRequestBodyError) -> ArraySlice<UInt8>? {
        var new = JSONObjectText()
        switch type {
        case "input_text", "output_text", "text":
            new["type"] = JSONText.string("text")[...]
            new["text"] = part["text"]
        case "input_image":
            guard let address = part["image_url"] else { throw .notInDialect("an image by file_id") }
            var url = JSONObjectText()
            url["url"] = address
            if let detail = part["detail"] { url["detail"] = detail }
            new["type"] = JSONText.string("image_url")[...]
            new["image_url"] = url.json[...]
        case "input_file":
            var file = part
            guard part["file_url"] == nil else { throw .notInDialect("a file by file_url") }
            file["type"] = nil
            new["type"] = JSONText.string("file")[...]
            new["file"] = file.json[...]
        case "refusal": return nil
        case let type? where ChappieDialect.isPartOfResponses(type) && type != "input_audio":
            throw .notInDialect("a part of type \(type.word)")
        // A part in the form of the other API, which a program has written, such as `input_audio`.
        default: return written
        }
        return new.json[...]
    }

    /// Returns texts, each with its quotes, as one; nil for none.
    private static func joined(_ texts: [ArraySlice<UInt8>]) -> ArraySlice<UInt8>? {
        guard !texts.isEmpty else { return nil }
        return ([UInt8(ascii: "\"")] + texts.flatMap { $0.dropFirst().dropLast() } + [UInt8(ascii: "\"")])[...]
    }
}
