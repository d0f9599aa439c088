// Output items as input items, the way a server takes them back. Values; nobody owns them.

import CSimdjson

/// An item of a request's input: the JSON text of one object, and what a turn needs to know of it.
package struct InputItem: Equatable, Sendable {
    /// A call of a tool that is not the server's own.
    package struct Call: Equatable, Sendable {
        /// What the call's output refers to; nil when the server gave no name to it.
        package let callID: String?
        /// The tool's name; empty when absent.
        package let name: String
        /// The namespace of the tool.
        package let namespace: String?
        /// JSON text of a function's arguments, or the input of a custom tool.
        ///
        /// Arguments that a server sent as a JSON value are that value's JSON text; absent ones are `null`, and an absent
        /// input is empty.
        package let payload: String
        /// True for a tool whose input is any text.
        package let isCustom: Bool
        /// True when the server says that the model was cut off in the middle of it.
        package var isIncomplete = false
    }

    /// What an item is to the calls beside it.
    package enum Part: Equatable, Sendable {
        /// A call that wants an output.
        case call(Call)
        /// The output of a call.
        case output(callID: String)
        /// Neither.
        case other
    }

    /// The item as JSON text.
    package let json: [UInt8]
    /// What the item is to the calls beside it.
    package let part: Part

    /// An output item as it is given back; nil for one that no server takes back, and for what is no JSON object.
    ///
    /// Identifiers and statuses are left out: without storage a server knows none of them. So are members that are
    /// `null`, and what the parts of an assistant's message hold beside the text: log probabilities and annotations.
    /// Reasoning that is not encrypted has no such form. Everything else keeps the text it was written in. An item that
    /// another one refers to by its identifier keeps it.
    package init?(_ json: some Sequence<UInt8>) {
        guard var item = try? JSONObjectText(Array(json)) else { return nil }
        let type = item.string("type")?.word
        if type == "reasoning", item.string("encrypted_content") == nil { return nil }
        let isIncomplete = item.string("status")?.isExactly("incomplete") == true
        if !Self.typesWithIdentifier.contains(type ?? "") { item["id"] = nil }
        if type != "tool_search_output" { item["status"] = nil }
        item.removeNulls()
        if item.string("role")?.isExactly("assistant") == true, let content = item["content"],
            let parts = JSONArrayText(content)
        {
            item["content"] = JSONArrayText.json(parts.elements.map { Self.messagePart($0.json) })[...]
        }
        self.json = item.json
        self.part = Self.part(of: item, type: type, isIncomplete: isIncomplete)
    }

    /// Items that are nothing without their identifiers.
    private static let typesWithIdentifier: Set<String> = ["item_reference", "mcp_approval_request"]

    /// A part of an assistant's message.
    private static func messagePart(_ json: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard var part = try? JSONObjectText(Array(json)) else { return json }
        part["logprobs"] = nil
        part["annotations"] = nil
        part.removeNulls()
        return part.json[...]
    }

    private static func part(of item: JSONObjectText, type: String?, isIncomplete: Bool) -> Part {
        switch type {
        case "function_call", "custom_tool_call":
            var call = Self.call(item, isCustom: type == "custom_tool_call")
            call.isIncomplete = isIncomplete
            return .call(call)
        case "function_call_output", "custom_tool_call_output":
            return item.string("call_id").map { .output(callID: $0) } ?? .other
        default: return .other
        }
    }

    private static func call(_ item: JSONObjectText, isCustom: Bool) -> Call {
        let payload = isCustom ? "input" : "arguments"
        return Call(
            callID: item.string("call_id").flatMap { $0.isEmpty ? nil : $0 },
            name: item.string("name") ?? "",
            namespace: item.string("namespace"),
            payload: item.string(payload) ?? item[payload].map { String(decoding: $0, as: UTF8.self) }
                ?? (isCustom ? "" : "null"),
            isCustom: isCustom)
    }
}

extension JSONObjectText {
    /// The text of a member that is a string.
    func string(_ name: String) -> String? {
        guard let json = self[name], json.count >= 2, json.first == UInt8(ascii: "\"") else { return nil }
        return json.dropFirst().dropLast().withUnsafeBufferPointer { text in
            String(unescaping: csj_text(bytes: text.baseAddress, count: text.count))
        }
    }

    /// Takes out the members that are `null`.
    fileprivate mutating func removeNulls() {
        self.removeMembers { $0.json.elementsEqual("null".utf8) }
    }
}
