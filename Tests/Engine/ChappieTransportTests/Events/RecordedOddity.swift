// Oddities of recorded servers in miniature: a few events for each, in words of our own.
//
// Immutable values without an owner.

import Testing

/// Something that a real server does and the specification does not say.
struct RecordedOddity: Sendable, CustomTestStringConvertible {
    /// The oddity in words.
    let name: String
    /// The recorded stream that has it.
    let evidence: String
    /// The events between the announcement of the response and its end.
    var events: [String] = []
    /// The members of the last response object, behind its identifier.
    var end = #""status":"completed""#
    /// Events and data in the place of the last response object.
    var ending: [String]?
    var text = ""
    var reasoning = ""
    var refusal = ""
    /// The calls, each as its identifier, name and payload.
    var calls: [String] = []
    /// The types of the items that the server runs by itself, as they are announced.
    var serverItems: [String] = []
    /// The status, and the code or reason, of a response that is not complete.
    var failure: String?

    var testDescription: String { "\(self.name) (\(self.evidence))" }

    /// All events.
    var lines: [String] {
        let first = #"{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}"#
        let last = #"{"type":"response.completed","response":{"id":"r",\#(self.end)}}"#
        return [first] + self.events + (self.ending ?? [last])
    }
}

extension RecordedOddity {
    private static func event(_ type: String, at index: Int, _ members: String) -> String {
        #"{"type":"response.\#(type)","output_index":\#(index),\#(members)}"#
    }

    private static func added(_ item: String, at index: Int = 0) -> String {
        self.event("output_item.added", at: index, #""item":\#(item)"#)
    }

    private static func done(_ item: String, at index: Int = 0) -> String {
        self.event("output_item.done", at: index, #""item":\#(item)"#)
    }

    private static func text(_ delta: String, at index: Int = 0, _ members: String = "") -> String {
        self.event("output_text.delta", at: index, #""content_index":0,"delta":"\#(delta)"\#(members)"#)
    }

    private static func message(_ text: String, _ members: String = "", id: String = "m") -> String {
        #"{"type":"message","id":"\#(id)","role":"assistant","content":[{"type":"output_text","text":"\#(text)"}]"#
            + members + "}"
    }

    private static func reasoned(_ text: String) -> String {
        #"{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"\#(text)"}]}"#
    }

    private static func call(_ id: String, _ name: String, _ arguments: String) -> String {
        #"{"type":"function_call","id":"fc_\#(id)","call_id":"\#(id)","name":"\#(name)","arguments":"\#(arguments)"}"#
    }

    /// A whole message in two deltas.
    private static func streamed(_ first: String, _ second: String, at index: Int = 0) -> [String] {
        [
            self.added(#"{"type":"message","id":"m","role":"assistant","content":[]}"#, at: index),
            self.text(first, at: index), self.text(second, at: index),
            self.event("output_text.done", at: index, #""content_index":0,"text":"\#(first + second)""#),
            self.done(self.message(first + second), at: index),
        ]
    }

    /// All of them.
    static let all = Self.ofText + Self.ofReasoning + Self.ofCalls + Self.ofServerItems + Self.ofEnds

    private static let ofText = [
        Self(
            name: "the only part of a message has another index than 0, behind reasoning",
            evidence: "bedrock-mantle-gpt-oss-20b-reasoning-text",
            events: [
                Self.added(#"{"type":"reasoning","id":"rs","summary":[]}"#),
                Self.event("reasoning_text.delta", at: 0, #""content_index":0,"delta":"Ebb first.""#),
                Self.event("reasoning_text.done", at: 0, #""content_index":0,"text":"Ebb first.""#),
                Self.done(Self.reasoned("Ebb first.")),
                Self.added(#"{"type":"message","id":"m","role":"assistant","content":[]}"#, at: 1),
                Self.event("output_text.delta", at: 1, #""content_index":1,"delta":"Low tide.""#),
                Self.event("output_text.done", at: 1, #""content_index":1,"text":"Low tide.""#),
                Self.event(
                    "content_part.done", at: 1,
                    #""content_index":1,"part":{"type":"output_text","text":"Low tide."}"#),
                Self.done(Self.message("Low tide."), at: 1),
            ],
            end: #""status":"completed","output":[\#(Self.reasoned("Ebb first.")),\#(Self.message("Low tide."))]"#,
            text: "Low tide.", reasoning: "Ebb first."),
        Self(
            name: "members that no specification has, in every place",
            evidence: "azure-openai-gpt-5-mini-encrypted-summary",
            events: [
                Self.text("Low ", at: 0, #","obfuscation":"q7","logprobs":[{"token":"Low ","top_logprobs":[]}]"#),
                Self.text("tide.", at: 0, #","obfuscation":"","copilot_usage":{"total":{"count":2}}"#),
                Self.done(Self.message("Low tide.", #","phase":"final_answer""#)),
            ],
            end:
                #""status":"completed","created_at":1.5,"moderation":null,"tool_usage":{"x":0},"content_filters":[{}],"#
                + #""output_text":"Low tide.","output":[\#(Self.message("Low tide."))]"#,
            text: "Low tide."),
        Self(
            name: "identifiers that change from event to event", evidence: "copilot-gpt-5-3-codex-summary-phase",
            events: [
                #"{"type":"response.in_progress","response":{"id":"r-2","status":"in_progress"}}"#,
                Self.added(#"{"type":"message","id":"a","content":[]}"#),
                Self.text("Ebb ", at: 0, #","item_id":"b""#), Self.text("and flow.", at: 0, #","item_id":"c""#),
                Self.event("output_text.done", at: 0, #""content_index":0,"item_id":"d","text":"Ebb and flow.""#),
                Self.done(Self.message("Ebb and flow.")),
            ],
            text: "Ebb and flow."),
        Self(
            name: "a whole text in one delta, and an empty last output", evidence: "codex-gpt-5-4-empty-document-phase",
            events: [Self.text("7"), Self.done(Self.message("7"))], end: #""status":"completed","output":[]"#, text: "7"
        ),
        Self(
            name: "missing events, whose text the closing events have",
            evidence: "openai-gpt-5-3-codex-messages-2-phase-doc-differs",
            events: [
                Self.text("Looking ", at: 0, #","sequence_number":3"#),
                Self.event(
                    "output_text.done", at: 0, #""content_index":0,"sequence_number":40,"text":"Looking it up. ""#),
                Self.done(Self.message("Looking it up. ", #","phase":"commentary""#)),
                Self.text("Six", at: 2, #","sequence_number":55"#),
                Self.done(Self.message("Six boats.", #","phase":"final_answer""#, id: "m2"), at: 2),
            ],
            text: "Looking it up. Six boats."),
        Self(
            name: "a queued response, and an event to keep the connection alive", evidence: "openai-gpt-4o-text",
            events: [
                #"{"type":"response.queued","response":{"id":"r","status":"queued"},"sequence_number":1}"#,
                #"{"type":"keepalive","sequence_number":2}"#,
            ] + Self.streamed("Two ", "piers."),
            text: "Two piers."),
        Self(
            name: "a refusal", evidence: "openai-gpt-4o-refusal",
            events: [
                Self.event("refusal.delta", at: 0, #""content_index":0,"delta":"Not ""#),
                Self.event("refusal.delta", at: 0, #""content_index":0,"delta":"that.""#),
                Self.event("refusal.done", at: 0, #""content_index":0,"refusal":"Not that.""#),
                Self.done(#"{"type":"message","id":"m","content":[{"type":"refusal","refusal":"Not that."}]}"#),
            ],
            refusal: "Not that."),
    ]

    private static let ofReasoning = [
        Self(
            name: "encrypted reasoning without any text", evidence: "openai-gpt-5-6-sol-encrypted-reasoning-phase",
            events: [
                Self.added(#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"aaaa"}"#),
                Self.done(#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"aaaabbbb"}"#),
            ] + Self.streamed("High ", "water.", at: 1),
            text: "High water."),
        Self(
            name: "summaries in several parts", evidence: "xai-grok-4-3-encrypted-summary",
            events: [
                Self.event("reasoning_summary_text.delta", at: 0, #""summary_index":0,"delta":"First.""#),
                Self.event("reasoning_summary_text.done", at: 0, #""summary_index":0,"text":"First.""#),
                Self.event("reasoning_summary_text.delta", at: 0, #""summary_index":1,"delta":" Then.""#),
                Self.done(
                    #"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"First."},"#
                        + #"{"type":"summary_text","text":" Then."}]}"#),
            ] + Self.streamed("So ", "be it.", at: 1),
            text: "So be it.", reasoning: "First. Then."),
        Self(
            name: "reasoning as text, in a part without an event of its own",
            evidence: "openrouter-gpt-oss-20b-reasoning-text",
            events: [
                Self.added(#"{"type":"reasoning","id":"rs_tmp","summary":[]}"#),
                Self.event(
                    "content_part.added", at: 0, #""content_index":0,"part":{"type":"reasoning_text","text":""}"#),
                Self.event("reasoning_text.delta", at: 0, #""content_index":0,"delta":"Count""#),
                Self.event("reasoning_text.delta", at: 0, #""content_index":0,"delta":" them.""#),
                Self.done(
                    #"{"type":"reasoning","id":"rs_tmp","summary":[],"content":[{"type":"reasoning_text","#
                        + #""text":"Count them."}]}"#),
            ] + Self.streamed("Thre", "e.", at: 1),
            text: "Three.", reasoning: "Count them."),
    ]

    private static let ofCalls = [
        Self(
            name: "arguments only at their end", evidence: "lmstudio-glm-4-7-flash-reasoning-text-tool-logprobs",
            events: [
                Self.added(Self.call("c", "tide", "")),
                Self.event("function_call_arguments.done", at: 0, #""arguments":"{\"at\":\"noon\"}""#),
                Self.done(Self.call("c", "tide", #"{\"at\":\"noon\"}"#)),
            ],
            calls: [#"c tide {"at":"noon"}"#]),
        Self(
            name: "two calls, one without arguments, and an empty last output",
            evidence: "codex-gpt-5-4-parallel-tools-2-empty-document",
            events: [
                Self.added(Self.call("c1", "pier", "")), Self.added(Self.call("c2", "boat", ""), at: 1),
                Self.event("function_call_arguments.delta", at: 0, #""delta":"{}""#),
                Self.event("function_call_arguments.done", at: 0, #""arguments":"{}""#),
                Self.done(Self.call("c1", "pier", "{}")),
                Self.event("function_call_arguments.delta", at: 1, #""delta":"{\"n\"""#),
                Self.event("function_call_arguments.delta", at: 1, #""delta":":1}""#),
                Self.done(Self.call("c2", "boat", #"{\"n\":1}"#), at: 1),
            ],
            end: #""status":"completed","output":[]"#, calls: ["c1 pier {}", #"c2 boat {"n":1}"#]),
        Self(
            name: "a custom tool, without sequence numbers", evidence: "openai-gpt-5-2-codex-custom-tool-tool",
            events: [
                Self.event("custom_tool_call_input.delta", at: 0, #""item_id":"ct","delta":"SELECT""#),
                Self.event("custom_tool_call_input.delta", at: 0, #""item_id":"ct","delta":" 1""#),
                Self.event("custom_tool_call_input.done", at: 0, #""item_id":"ct","input":"SELECT 1""#),
                Self.done(#"{"type":"custom_tool_call","id":"ct","call_id":"c","name":"sql","input":"SELECT 1"}"#),
            ],
            calls: ["c sql SELECT 1"]),
    ]

    private static let ofServerItems = [
        Self(
            name: "a search of the server, and annotations",
            evidence: "openai-o4-mini-web-search-reasoning-annotations",
            events: [
                Self.added(#"{"type":"web_search_call","id":"ws"}"#),
                Self.event("web_search_call.searching", at: 0, #""item_id":"ws""#),
                Self.done(#"{"type":"web_search_call","id":"ws","status":"completed"}"#),
                Self.text("Fog.", at: 1),
                Self.event(
                    "output_text.annotation.added", at: 1, #""content_index":0,"annotation":{"type":"url_citation"}"#),
                Self.done(Self.message("Fog."), at: 1),
            ],
            text: "Fog.", serverItems: ["web_search_call"]),
        Self(
            name: "items of the server whose ends are not sent", evidence: "openai-gpt-4-1-mcp-list-tools",
            events: [
                Self.added(#"{"type":"mcp_list_tools","id":"l1","tools":[]}"#),
                Self.added(#"{"type":"mcp_list_tools","id":"l2","tools":[]}"#, at: 1),
                Self.event("mcp_list_tools.completed", at: 1, #""item_id":"l2""#),
                Self.event("mcp_list_tools.completed", at: 0, #""item_id":"l1""#),
                Self.done(#"{"type":"mcp_list_tools","id":"l2","tools":[{"name":"n"}]}"#, at: 1),
            ] + Self.streamed("Lis", "ted.", at: 2),
            text: "Listed.", serverItems: ["mcp_list_tools", "mcp_list_tools"]),
        Self(
            name: "calls of the server whose arguments are objects, and identifiers that are null",
            evidence: "openai-gpt-5-4-tool-search-tool-search-output-tool",
            events: [
                Self.added(#"{"type":"tool_search_call","id":"t","call_id":null,"arguments":{}}"#),
                Self.done(#"{"type":"tool_search_call","id":"t","call_id":null,"arguments":{"paths":["tide"]}}"#),
                Self.added(Self.call("c", "tide", ""), at: 1), Self.done(Self.call("c", "tide", "{}"), at: 1),
            ],
            calls: ["c tide {}"], serverItems: ["tool_search_call"]),
        Self(
            name: "deltas of an item that is no text", evidence: "openai-gpt-5-1-apply-patch",
            events: [
                Self.added(#"{"type":"apply_patch_call","id":"p","call_id":"c","operation":{"diff":""}}"#),
                Self.event("apply_patch_call_operation_diff.delta", at: 0, #""item_id":"p","delta":"+a""#),
                Self.event("apply_patch_call_operation_diff.done", at: 0, #""item_id":"p","diff":"+a\n""#),
                Self.done(#"{"type":"apply_patch_call","id":"p","call_id":"c","operation":{"diff":"+a\n"}}"#),
            ],
            serverItems: ["apply_patch_call"]),
        Self(
            name: "an image in parts", evidence: "openai-gpt-5-image-generation-reasoning",
            events: [
                Self.added(#"{"type":"image_generation_call","id":"i"}"#),
                Self.event("image_generation_call.partial_image", at: 0, #""partial_image_b64":"AA==","size":"1x1""#),
                Self.done(#"{"type":"image_generation_call","id":"i","result":"AAAA"}"#),
            ] + Self.streamed("A bo", "at.", at: 1),
            text: "A boat.", serverItems: ["image_generation_call"]),
    ]

    private static let ofEnds = [
        Self(
            name: "a line that is no JSON behind the end", evidence: "openrouter-gemini-3-flash-encrypted-reasoning",
            events: Self.streamed("No ", "more."),
            ending: [#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#, "[DONE]"],
            text: "No more."),
        Self(
            name: "an incomplete response", evidence: "openai-gpt-5-nano-encrypted-reasoning-incomplete",
            events: [Self.added(#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"aa"}"#)],
            ending: [
                #"{"type":"response.incomplete","response":{"id":"r","status":"incomplete","#
                    + #""incomplete_details":{"reason":"max_output_tokens"}}}"#
            ],
            failure: "incomplete max_output_tokens"),
        Self(
            name: "an error event before the failed response, with another code",
            evidence: "openai-gpt-4o-failed-empty-document",
            ending: [
                #"{"type":"error","error":{"code":"some-code","message":"m","param":null}}"#,
                #"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"other","message":"m"}}}"#,
            ],
            failure: "failed some-code"),
    ]
}
