// Writes the events of a made-up response, in the order and with the members that services use.
//
// A value owned by the session that it makes.

/// Adds the events of one response, item by item.
struct ResponseBuilder {
    /// A tool call, and the pieces in which its arguments or input are written.
    struct Call {
        /// The tool.
        var name: String
        /// The arguments, or the input.
        var pieces: [String]
        /// Indicates whether the input is any text instead of JSON.
        var isCustom = false
    }

    private var lines: [String] = []
    private var output: [String] = []
    private let responseID: String

    /// A response that has begun.
    init(id: String) {
        self.responseID = id
        self.add("response.created", #""response":\#(self.response(status: "in_progress"))"#)
        self.add("response.in_progress", #""response":\#(self.response(status: "in_progress"))"#)
    }

    private func response(status: String, output: String = "[]") -> String {
        #"{"id":"\#(self.responseID)","object":"response","status":"\#(status)","model":"m","output":\#(output)}"#
    }

    private mutating func add(_ type: String, _ members: String) {
        self.lines.append(#"{"type":"\#(type)",\#(members),"sequence_number":\#(self.lines.count)}"#)
    }

    private mutating func begin(_ item: String) {
        self.add("response.output_item.added", #""output_index":\#(self.output.count),"item":\#(item)"#)
    }

    private mutating func finish(_ item: String) {
        self.add("response.output_item.done", #""output_index":\#(self.output.count),"item":\#(item)"#)
        self.output.append(item)
    }

    /// A message whose one part is text or a refusal.
    mutating func addMessage(_ pieces: [String], isRefusal: Bool = false) {
        let id = "msg_\(self.output.count)"
        let place = #""item_id":"\#(id)","output_index":\#(self.output.count),"content_index":0"#
        let (type, member) = isRefusal ? ("refusal", "refusal") : ("output_text", "text")
        let text = JSONText.text(pieces.joined())
        let item = { (status: String, content: String) in
            #"{"id":"\#(id)","type":"message","status":"\#(status)","role":"assistant","content":\#(content)}"#
        }
        self.begin(item("in_progress", "[]"))
        self.add("response.content_part.added", #"\#(place),"part":{"type":"\#(type)","\#(member)":""}"#)
        for piece in pieces { self.add("response.\(type).delta", #"\#(place),"delta":\#(JSONText.text(piece))"#) }
        self.add("response.\(type).done", #"\#(place),"\#(member)":\#(text)"#)
        self.add("response.content_part.done", #"\#(place),"part":{"type":"\#(type)","\#(member)":\#(text)}"#)
        self.finish(item("completed", #"[{"type":"\#(type)","\#(member)":\#(text)}]"#))
    }

    /// Adds reasoning with a summary of these parts; with none it is encrypted and without text.
    mutating func addReasoning(_ parts: [[String]]) {
        let id = "rs_\(self.output.count)"
        let item = { (summary: String) in
            #"{"id":"\#(id)","type":"reasoning","summary":\#(summary),"encrypted_content":"gAAAAABo42"}"#
        }
        self.begin(item("[]"))
        var summary: [String] = []
        for (index, pieces) in parts.enumerated() {
            let place = #""item_id":"\#(id)","output_index":\#(self.output.count),"summary_index":\#(index)"#
            let text = JSONText.text(pieces.joined())
            for piece in pieces {
                self.add("response.reasoning_summary_text.delta", #"\#(place),"delta":\#(JSONText.text(piece))"#)
            }
            self.add("response.reasoning_summary_text.done", #"\#(place),"text":\#(text)"#)
            summary.append(#"{"type":"summary_text","text":\#(text)}"#)
        }
        self.finish(item("[" + summary.joined(separator: ",") + "]"))
    }

    /// A call of a function, or of a custom tool.
    mutating func addCall(_ call: Call) {
        let index = self.output.count
        let (type, member) = call.isCustom ? ("custom_tool_call", "input") : ("function_call", "arguments")
        let event = call.isCustom ? "custom_tool_call_input" : "function_call_arguments"
        let place = #""item_id":"fc_\#(index)","output_index":\#(index)"#
        let text = JSONText.text(call.pieces.joined())
        let item = { (status: String, text: String) in
            #"{"id":"fc_\#(index)","type":"\#(type)","status":"\#(status)","call_id":"call_\#(index)","#
                + #""name":"\#(call.name)","\#(member)":\#(text)}"#
        }
        self.begin(item("in_progress", #""""#))
        for piece in call.pieces { self.add("response.\(event).delta", #"\#(place),"delta":\#(JSONText.text(piece))"#) }
        self.add("response.\(event).done", #"\#(place),"\#(member)":\#(text)"#)
        self.finish(item("completed", text))
    }

    /// The events, the last one included.
    mutating func finished() -> [String] {
        let output = "[" + self.output.joined(separator: ",") + "]"
        self.add("response.completed", #""response":\#(self.response(status: "completed", output: output))"#)
        return self.lines
    }
}
