import ResponseEvents

/// The end of a tool call: the consumer's event, and the output for the model.
struct ToolOutput: Sendable, Equatable {
    /// The status of the call.
    let status: ChappieToolStatus
    /// The output as text.
    let text: String
    /// The output as an input item.
    let item: [UInt8]

    /// Creates the output of a result, no longer than `byteCount`.
    init(_ result: ChappieToolResult, of call: FinishedCall, byteCount: Int) {
        self.status = ChappieToolStatus(result.status)
        let value: [UInt8]
        switch result.output {
        case .text(let text):
            let words = text.isEmpty ? result.status.emptyText : text
            self.text = words.cut(toByteCount: byteCount)
            value = JSONText.string(self.text)
        case .parts(let parts):
            let parts = Self.fitting(parts, byteCount: byteCount)
            self.text = parts.compactMap(\.text).joined()
            value = JSONArrayText.json(parts.map { $0.json()[...] })
        }
        self.item = Self.item(value, of: call)
    }

    /// Creates the output of a call that did not run.
    init(status: ChappieToolStatus, text: String, of call: FinishedCall) {
        self.status = status
        self.text = text
        self.item = Self.item(JSONText.string(text), of: call)
    }

    /// Returns the output of a call whose turn ended before it had one, as an input item.
    static func aborted(of call: FinishedCall) -> [UInt8] { self.item(JSONText.string("aborted"), of: call) }

    private static func item(_ value: [UInt8], of call: FinishedCall) -> [UInt8] {
        var object = JSONObjectText()
        object.setText(call.kind == .custom ? "custom_tool_call_output" : "function_call_output", for: "type")
        object.setText(call.callID, for: "call_id")
        object["output"] = value[...]
        return object.json
    }

    /// Returns the parts that fit, with the text cut that does not, and a line in the place of each omitted part.
    private static func fitting(_ parts: [ChappieContentPart], byteCount: Int) -> [ChappieContentPart] {
        var remaining = byteCount
        return parts.map { part in
            defer { remaining = max(0, remaining - part.byteCount) }
            guard part.byteCount > remaining else { return part }
            guard let text = part.text else {
                return .text("[A part of \(part.byteCount) bytes was left out: the output is too long.]")
            }
            return .text(text.cut(toByteCount: remaining))
        }
    }
}

extension String {
    /// Returns the beginning of the text, cut between two scalars, and a line that reports that; the whole text when it
    /// fits.
    fileprivate func cut(toByteCount limit: Int) -> String {
        let count = self.utf8.count
        guard count > limit else { return self }
        var end = self.utf8.index(self.utf8.startIndex, offsetBy: limit)
        // A byte 10xxxxxx is inside a scalar (RFC 3629 section 3).
        while end > self.utf8.startIndex, self.utf8[end] & 0xC0 == 0x80 { end = self.utf8.index(before: end) }
        return "\(self[..<end])\n[The output was cut here: it has \(count) bytes.]"
    }
}

extension ChappieToolStatus {
    fileprivate init(_ status: ChappieToolResult.Status) {
        switch status {
        case .completed: self = .completed
        case .failed: self = .failed
        case .denied: self = .denied
        }
    }
}

extension ChappieToolResult.Status {
    /// The text for the model of a tool without output.
    fileprivate var emptyText: String {
        switch self {
        case .completed: ""
        case .failed: "The tool failed."
        case .denied: "The tool was not allowed to run."
        }
    }
}
