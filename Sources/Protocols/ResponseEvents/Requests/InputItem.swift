// Output items in the form in which a server accepts them as input. Values without an owner.

import CSimdjson

/// An item of a request's input: the JSON text of one object, and the facts about it that a turn needs.
package struct InputItem: Equatable, Sendable {
    /// A call of a tool that the caller runs.
    package struct Call: Equatable, Sendable {
        /// The identifier that the call's output refers to; nil when the server assigned none.
        package let callID: String?
        /// The tool's name; empty when absent.
        package let name: String
        /// The namespace of the tool.
        package let namespace: String?
        /// JSON text of a function's arguments, or the input of a custom tool.
        ///
        /// Arguments that a server sent as a JSON value are that value's JSON text; absent ones are `{}`, and an absent
        /// input is empty.
        package let payload: String
        /// Indicates whether the tool's input is free text.
        package let isCustom: Bool
        /// Indicates whether the server reports that the model was cut off in the middle of the call.
        package var isIncomplete = false
    }

    /// The role of an item among the calls and outputs.
    package enum Part: Equatable, Sendable {
        /// A call that requires an output.
        case call(Call)
        /// The output of a call.
        case output(callID: String)
        /// An item that is neither.
        case other
    }

    /// The item as JSON text.
    package let json: [UInt8]
    /// The role of the item among the calls and outputs.
    package let part: Part

    /// Creates the input form of an output item; nil for one that no server accepts, and for text that is not a JSON
    /// object.
    ///
    /// Identifiers and statuses are left out: without storage a server knows none of them. So are members that are
    /// `null`, and the members of an assistant's message parts other than the text: log probabilities and annotations.
    /// Unencrypted reasoning has no such form. All other members keep the text they were written in. An item that
    /// another one refers to by its identifier keeps it.
    package init?(_ json: some Sequence<UInt8>) {
        guard var item = try? JSONObjectText(Array(json)) else { return nil }
        let type = item.string("type")?.word
        if type == "reasoning", item.string("encrypted_content") == nil { return nil }
        let isIncomplete = item.string("status")?.isExactly("incomplete") == true
        if !Self.typesWithIdentifier.contains(type ?? "") { item["id"] = nil }
        if type != "tool_search_output" { item["status"] = nil }
        item.removeNulls()
        // Servers omit them for functions without parameters, and accept no call without them.
        if type == "function_call", item["arguments"] == nil { item["arguments"] = JSONText.string("{}")[...] }
        if item.string("role")?.isExactly("assistant") == true, let content = item["content"],
            let parts = JSONArrayText(content)
        {
            item["content"] = JSONArrayText.json(parts.elements.map { Self.messagePart($0.json) })[...]
        }
        self.json = item.json
        self.part = Self.part(of: item, type: type, isIncomplete: isIncomplete)
    }

    /// The types of items that are meaningless without their identifiers.
    private static let typesWithIdentifier: Set<String> = ["item_reference", "mcp_approval_request"]

    /// Returns the input form of a part of an assistant's message.
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
            payload: item.string(payload) ?? item[payload].map { String(decoding: $0, as: UTF8.self) } ?? "",
            isCustom: isCustom)
    }
}

extension JSONObjectText {
    /// Returns the text of a member that is a string.
    package func string(_ name: String) -> String? {
        guard let json = self[name], json.count >= 2, json.first == UInt8(ascii: "\"") else { return nil }
        return json.dropFirst().dropLast().withUnsafeBufferPointer { text in
            String(unescaping: csj_text(bytes: text.baseAddress, count: text.count))
        }
    }

    /// Removes the members that are `null`.
    fileprivate mutating func removeNulls() {
        self.removeMembers { $0.json.elementsEqual("null".utf8) }
    }
}
