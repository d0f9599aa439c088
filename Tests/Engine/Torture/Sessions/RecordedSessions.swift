// Two recorded responses of real services, or what stands in for them.
//
// Read once at the start.
import Foundation

/// The recorded sessions.
enum RecordedSessions {
    /// A session, and whether it was recorded.
    struct Found: Sendable {
        /// The session.
        var session: Session
        /// The recording's file name; nil for a substitute.
        var file: String?
    }

    /// A custom tool call, and a message: small enough for every byte.
    private static let wanted = [
        (name: "recorded-call", file: "openai-custom-tool.1.jsonl", substitute: Self.callLines),
        (name: "recorded-text", file: "openai-shell-local-multiturn.1.jsonl", substitute: Self.textLines),
    ]

    private static let folder = SharedFolder.url("CHAPPIE_RECORDINGS", orBesideTheCheckout: "recordings")

    /// Both sessions.
    static func find() -> [Found] {
        self.wanted.map { wanted in
            let file = self.folder.appendingPathComponent(wanted.file)
            guard let text = try? String(contentsOf: file, encoding: .utf8) else {
                return Found(session: Session(name: wanted.name, lines: wanted.substitute))
            }
            let lines = text.split(separator: "\n").map(String.init)
            return Found(session: Session(name: wanted.name, lines: lines), file: wanted.file)
        }
    }

    private static let object = #"""
        "object":"response","created_at":1741257730,"error":null,"incomplete_details":null,"instructions":null,\#
        "max_output_tokens":null,"model":"m-1","parallel_tool_calls":true,"previous_response_id":null,\#
        "reasoning":{"effort":"low","summary":null},"store":true,"temperature":1,"text":{"format":{"type":"text"}},\#
        "tool_choice":"auto","tools":[{"type":"custom","name":"write_sql","description":"Write a SELECT statement.",\#
        "format":{"type":"grammar","syntax":"regex","definition":"SELECT .+"}},{"type":"function","name":"list_files",\#
        "description":"Lists the files of a folder.","parameters":{"type":"object","properties":{"path":{"type":\#
        "string","description":"The folder."},"depth":{"type":"integer"}},"required":["path","depth"]},"strict":true}],\#
        "top_p":1,"truncation":"disabled","user":null,"metadata":{}
        """#.replacing("\\#\n", with: "")

    private static func response(_ id: String, _ status: String, output: String = "[]") -> String {
        #""response":{"id":"\#(id)","status":"\#(status)","output":\#(output),\#(self.object)}"#
    }

    private static let callLines: [String] = {
        let item = { (status: String, input: String) in
            #"{"type":"custom_tool_call","id":"ct_7","call_id":"call_7","name":"write_sql","input":"\#(input)","#
                + #""status":"\#(status)"}"#
        }
        let input = "SELECT name FROM boats WHERE length > 25"
        var lines = ["created", "in_progress"].map { kind in
            #"{"type":"response.\#(kind)",\#(Self.response("resp_7", "in_progress"))}"#
        }
        lines.append(#"{"type":"response.output_item.added","output_index":0,"item":\#(item("in_progress", ""))}"#)
        for piece in ["SELECT name ", "FROM boats ", "WHERE length > 25"] {
            lines.append(
                #"{"type":"response.custom_tool_call_input.delta","item_id":"ct_7","output_index":0,"delta":"\#(piece)"}"#
            )
        }
        let done = item("completed", input)
        lines.append(#"{"type":"response.output_item.done","output_index":0,"item":\#(done)}"#)
        lines.append(#"{"type":"response.completed",\#(Self.response("resp_7", "completed", output: "[\(done)]"))}"#)
        return lines
    }()

    private static let textLines: [String] = {
        let pieces = ["The", " folder", " has", " three", " files", ".", " 🗂"]
        let text = pieces.joined()
        let place = #""item_id":"msg_8","output_index":0,"content_index":0"#
        let part = { (text: String) in #"{"type":"output_text","annotations":[],"logprobs":[],"text":"\#(text)"}"# }
        let item = { (status: String, content: String) in
            #"{"id":"msg_8","type":"message","status":"\#(status)","role":"assistant","content":[\#(content)]}"#
        }
        var events = ["created", "in_progress"].map { kind in
            ("response.\(kind)", Self.response("resp_8", "in_progress"))
        }
        events.append(("response.output_item.added", #""output_index":0,"item":\#(item("in_progress", ""))"#))
        events.append(("response.content_part.added", #"\#(place),"part":\#(part(""))"#))
        for piece in pieces {
            let members = #"\#(place),"delta":"\#(piece)","logprobs":[],"obfuscation":"x9JKlqZ2""#
            events.append(("response.output_text.delta", members))
        }
        let done = item("completed", part(text))
        events.append(("response.output_text.done", #"\#(place),"logprobs":[],"text":"\#(text)""#))
        events.append(("response.content_part.done", #"\#(place),"part":\#(part(text))"#))
        events.append(("response.output_item.done", #""output_index":0,"item":\#(done)"#))
        events.append(("response.completed", Self.response("resp_8", "completed", output: "[\(done)]")))
        return events.enumerated().map { #"{"type":"\#($1.0)","sequence_number":\#($0),\#($1.1)}"# }
    }()
}
