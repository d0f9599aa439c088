// Output items in the form in which a server accepts them as input. Values without an owner.

import CSimdjson

/// An item of a request's input: the JSON text of one object, and the facts about it that a turn needs.
package struct InputItem: Equatable, Sendable {
    /// The role of an item among the calls and outputs.
    package enum Part: Equatable, Sendable {
        /// A call that requires an output.
        case call(FinishedCall)
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
    /// Unencrypted reasoning has no such form, unless it has a member for a dialect (`ChappieDialect.itemMember`). All
    /// other members keep the text they were written in. An item that another one refers to by its identifier keeps it.
    ///
    /// `call` is the call that the item is, where the caller has it already.
    package init?(_ json: some Sequence<UInt8>, call: FinishedCall? = nil) {
        guard var item = try? JSONObjectText(Array(json)) else { return nil }
        let type = item.string("type")?.word
        if type == "reasoning", item.string("encrypted_content") == nil {
            guard ChappieDialect.hasMember(in: item) else { return nil }
        }
        let status = item.string("status")?.word
        if !Self.typesWithIdentifier.contains(type ?? "") { item["id"] = nil }
        if type != "tool_search_output" { item["status"] = nil }
        item.removeNulls()
        // A call without arguments that is in progress has not been written to its end.
        let hasArguments = item.string("arguments").map { !$0.isEmpty } ?? (item["arguments"] != nil)
        let isCut = status == "in_progress" && type == "function_call" && !hasArguments
        // Servers omit them for functions without parameters, and accept no call without them.
        if type == "function_call", item["arguments"] == nil { item["arguments"] = JSONText.string("{}")[...] }
        if item.string("role")?.isExactly("assistant") == true, let content = item["content"],
            let parts = JSONArrayText(content)
        {
            item["content"] = JSONArrayText.json(parts.elements.map { Self.messagePart($0.json) })[...]
        }
        self.json = item.json
        self.part =
            call.map { .call($0) } ?? Self.part(of: item, type: type, isIncomplete: isCut || status == "incomplete")
    }

    /// The call that the item is; nil for any other item.
    package var call: FinishedCall? {
        guard case .call(let call) = self.part else { return nil }
        return call
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
        case "function_call": return .call(Self.call(.function, item, payload: "arguments", isIncomplete))
        case "custom_tool_call": return .call(Self.call(.custom, item, payload: "input", isIncomplete))
        case "function_call_output", "custom_tool_call_output":
            return item.string("call_id").map { .output(callID: $0) } ?? .other
        default: return .other
        }
    }

    private static func call(
        _ kind: FinishedCall.Kind, _ item: JSONObjectText, payload: String, _ isIncomplete: Bool
    ) -> FinishedCall {
        FinishedCall(
            kind, callID: item.string("call_id") ?? "", name: item.string("name") ?? "",
            namespace: item.string("namespace") ?? "",
            payload: item.string(payload) ?? item[payload].map { String(decoding: $0, as: UTF8.self) } ?? "",
            isIncomplete: isIncomplete)
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
