import ResponseEvents

/// The content of one statement about a tool call; a member is nil where the statement leaves it out, or where it is
/// `null` or empty.
///
/// A value without an owner.
struct CallMembers {
    /// The identifier that the call's output refers to.
    var callID: String?
    /// The name of the function or tool.
    var name: String?
    /// The namespace of the function or tool.
    var namespace: String?
    /// A function's arguments, or a custom tool's input.
    var payload: String?
    /// The kind of the called tool.
    let kind: FinishedCall.Kind
    /// Indicates whether the statement has a call whose item the model did not finish.
    var isIncomplete = false

    /// Creates a statement; an empty payload is none.
    init(
        callID: String? = nil, name: String?, namespace: String? = nil, payload: String?, kind: FinishedCall.Kind
    ) {
        self.callID = callID
        self.name = name
        self.namespace = namespace
        self.payload = payload.flatMap { $0.isEmpty ? nil : $0 }
        self.kind = kind
    }

    /// Creates the statement of an item.
    init(_ item: ItemSummary) {
        self.init(
            callID: item.callID, name: item.name, namespace: item.namespace, payload: item.payload,
            kind: item.callKind)
        self.isIncomplete = item.status == "incomplete"
    }

    /// Returns the statement with the members that it leaves out, as far as other statements have them.
    func completed(by known: CallMembers?) -> CallMembers {
        guard let known else { return self }
        var whole = self
        whole.callID = self.callID ?? known.callID
        whole.name = self.name ?? known.name
        whole.namespace = self.namespace ?? known.namespace
        whole.payload = self.payload ?? known.payload
        return whole
    }

    /// Returns whether other statements have a member that this one leaves out.
    func isCompleted(by known: CallMembers) -> Bool {
        self.callID == nil && known.callID != nil || self.name == nil && known.name != nil
            || self.namespace == nil && known.namespace != nil || self.payload == nil && known.payload != nil
    }

    /// Returns an item's JSON with the members that it leaves out, and with the whole of arguments that stop early.
    func completing(_ json: [UInt8]) -> [UInt8] {
        guard var item = try? JSONObjectText(json) else { return json }
        for (member, value) in [("call_id", self.callID), ("name", self.name), ("namespace", self.namespace)] {
            guard let value, item.string(member)?.isEmpty ?? true else { continue }
            item[member] = JSONText.string(value)[...]
        }
        let member = self.kind == .custom ? "input" : "arguments"
        if let payload = self.payload, !item.says(member, otherThanTheBeginningOf: payload) {
            item[member] = JSONText.string(payload)[...]
        }
        return item.json
    }

    /// The call, when no more statements follow.
    var call: FinishedCall {
        FinishedCall(
            self.kind, callID: self.callID ?? "", name: self.name ?? "", namespace: self.namespace ?? "",
            payload: self.payload ?? "", isIncomplete: self.isIncomplete)
    }

    /// A number that two calls share only if they call the same tool in the same way, apart from their `call_id`.
    ///
    /// It has the process's random seed: a server cannot make two calls collide.
    var digest: Int { self.call.content.hashValue }
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

extension String {
    /// Returns the text by which two calls with it as their arguments or input are compared: JSON in canonical form, or
    /// the unchanged input.
    func comparable(as kind: FinishedCall.Kind) -> String {
        kind == .function ? CanonicalJSON.arguments(self) : self
    }
}

extension ItemSummary {
    /// The kind of tool that a call names.
    var callKind: FinishedCall.Kind { self.kind == .functionCall ? .function : .custom }
}
