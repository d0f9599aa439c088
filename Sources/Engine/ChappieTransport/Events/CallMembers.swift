import ResponseEvents

/// The content of one statement about a tool call; a member is empty where the statement leaves it out, or where it is
/// `null`.
///
/// A value without an owner.
struct CallMembers {
    /// The kind of the called tool.
    let kind: FinishedCall.Kind
    /// The identifier that the call's output refers to.
    var callID = ""
    /// The name of the function or tool.
    var name = ""
    /// The namespace of the function or tool.
    var namespace = ""
    /// A function's arguments, or a custom tool's input.
    var payload = ""
    /// Indicates whether the model was cut off within the call.
    var isIncomplete = false
    /// Indicates whether the model is still writing the call.
    var isInProgress = false

    /// Indicates whether there are arguments or input; an empty object is none.
    var hasArguments: Bool { !["", "{}"].contains(self.payload) }

    private static var texts: [WritableKeyPath<Self, String>] { [\.callID, \.name, \.namespace, \.payload] }

    /// Returns the statement with the members that it leaves out, as far as other statements have them.
    func completed(by known: CallMembers?) -> CallMembers {
        guard let known else { return self }
        var whole = self
        for text in Self.texts where whole[keyPath: text].isEmpty { whole[keyPath: text] = known[keyPath: text] }
        return whole
    }

    /// Returns whether other statements have a member that this one leaves out.
    func isCompleted(by known: CallMembers) -> Bool {
        Self.texts.contains { self[keyPath: $0].isEmpty && !known[keyPath: $0].isEmpty }
    }

    /// Returns whether two statements agree about the tool's name, in what both say.
    func namesAgree(with other: CallMembers) -> Bool {
        self.name.agrees(with: other.name) && self.namespace.agrees(with: other.namespace)
    }

    /// Returns an item's JSON with the members that it leaves out, and with the whole of arguments that stop early.
    func completing(_ json: [UInt8]) -> [UInt8] {
        guard var item = try? JSONObjectText(json) else { return json }
        for (member, value) in [("call_id", self.callID), ("name", self.name), ("namespace", self.namespace)] {
            guard !value.isEmpty, item.string(member)?.isEmpty ?? true else { continue }
            item[member] = JSONText.string(value)[...]
        }
        let member = self.kind == .custom ? "input" : "arguments"
        if !self.payload.isEmpty, !item.says(member, otherThanTheBeginningOf: self.payload) {
            item[member] = JSONText.string(self.payload)[...]
        }
        return item.json
    }

    /// The call, when no more statements follow.
    var call: FinishedCall {
        FinishedCall(
            self.kind, callID: self.callID, name: self.name, namespace: self.namespace, payload: self.payload,
            isIncomplete: self.isIncomplete || self.isInProgress && self.payload.isEmpty)
    }
}

extension CallMembers {
    /// Creates the statement of an item.
    init(_ item: ItemSummary) {
        self.init(
            kind: item.callKind, callID: item.callID ?? "", name: item.name ?? "", namespace: item.namespace ?? "",
            payload: item.payload ?? "", isIncomplete: item.status == "incomplete",
            isInProgress: item.status == "in_progress")
    }

    /// Creates the statement that has all of a call.
    init(_ call: FinishedCall) {
        self.init(
            kind: call.kind, callID: call.callID, name: call.name, namespace: call.namespace, payload: call.payload,
            isIncomplete: call.isIncomplete)
    }
}

extension String {
    /// Returns whether two statements agree: one of them says nothing, or both say the same.
    fileprivate func agrees(with other: String) -> Bool { self.isEmpty || other.isEmpty || self.isExactly(other) }
}

extension JSONObjectText {
    /// Returns whether a member has a value that is not the beginning of a text.
    fileprivate func says(_ member: String, otherThanTheBeginningOf whole: String) -> Bool {
        guard let text = self.string(member) else {
            return self[member].map { !$0.elementsEqual("null".utf8) } ?? false
        }
        return !whole.utf8.starts(with: text.utf8)
    }
}

extension ItemSummary {
    /// The kind of tool that a call names.
    var callKind: FinishedCall.Kind { self.kind == .functionCall ? .function : .custom }
}
