// Names of the wire that an answer is made of.

/// The messages of servers between the events of a response.
enum Noise: CaseIterable, Sendable {
    case keepalive, rateLimits, metadata, timing, unknown, withoutType
    case deltaOfOtherLane, createdOnOtherLane, completedOnOtherLane, failedOnOtherLane, callOnOtherLane

    /// The event.
    var json: StaticString {
        switch self {
        case .keepalive: "{\"type\":\"keepalive\"}"
        case .rateLimits:
            """
            {"type":"codex.rate_limits","plan_type":"plus","rate_limits":{"primary":{"used_percent":41,\
            "window_minutes":300,"reset_at":1795256523}}}
            """
        case .metadata: "{\"type\":\"response.metadata\",\"headers\":{\"openai-model\":\"m\"}}"
        case .timing: "{\"type\":\"responsesapi.websocket_timing\",\"timing\":{}}"
        case .unknown: "{\"type\":\"response.new_idea.delta\",\"delta\":\"not text\",\"output_index\":0}"
        case .withoutType: "{\"padding\":\"xxxxxxxx\"}"
        case .deltaOfOtherLane:
            """
            {"type":"response.output_text.delta","stream_id":"b","sequence_number":1,"output_index":0,\
            "content_index":0,"delta":"lane"}
            """
        case .createdOnOtherLane:
            "{\"type\":\"response.created\",\"stream_id\":\"b\",\"sequence_number\":0,\"response\":{\"id\":\"lane\"}}"
        case .completedOnOtherLane:
            "{\"type\":\"response.completed\",\"stream_id\":\"b\",\"response\":{\"id\":\"lane\"}}"
        case .failedOnOtherLane:
            "{\"type\":\"error\",\"stream_id\":\"b\",\"status\":500,\"error\":{\"code\":\"x\"}}"
        case .callOnOtherLane:
            """
            {"type":"response.output_item.done","stream_id":"b","output_index":0,"item":{"type":"function_call",\
            "id":"lane","call_id":"call_0","name":"shell","arguments":"{}"}}
            """
        }
    }

    /// The fact as which it is counted.
    var fact: SimulatedFact? {
        switch self {
        case .keepalive: .keepalive
        case .rateLimits: .rateLimitEvent
        case .unknown: .unknownEvent
        case .withoutType: .eventWithoutType
        case .deltaOfOtherLane, .createdOnOtherLane, .completedOnOtherLane, .failedOnOtherLane, .callOnOtherLane:
            .otherLane
        case .metadata, .timing: nil
        }
    }
}

extension SimulatedResponse.Atom.Content {
    /// The type of a delta.
    var deltaType: StaticString {
        switch self {
        case .text: "response.output_text.delta"
        case .refusal: "response.refusal.delta"
        case .summary: "response.reasoning_summary_text.delta"
        case .reasoning: "response.reasoning_text.delta"
        case .call: "response.function_call_arguments.delta"
        }
    }

    /// The type of the event that ends a part.
    var doneType: StaticString {
        switch self {
        case .text: "response.output_text.done"
        case .refusal: "response.refusal.done"
        case .summary: "response.reasoning_summary_text.done"
        case .reasoning: "response.reasoning_text.done"
        case .call: "response.function_call_arguments.done"
        }
    }

    /// The type of the event that closes a part with its text.
    var partDoneType: StaticString {
        switch self {
        case .summary: "response.reasoning_summary_part.done"
        case .text, .refusal, .reasoning, .call: "response.content_part.done"
        }
    }

    /// The type of a part.
    var textType: StaticString {
        switch self {
        case .text, .call: "output_text"
        case .refusal: "refusal"
        case .summary: "summary_text"
        case .reasoning: "reasoning_text"
        }
    }

    /// Indicates whether it is a refusal.
    var isRefusal: Bool {
        if case .refusal = self { true } else { false }
    }

    /// The type of the event that begins a part.
    var partType: StaticString {
        switch self {
        case .summary: "response.reasoning_summary_part.added"
        case .text, .refusal, .reasoning, .call: "response.content_part.added"
        }
    }

    /// The type of the item, as a JSON string.
    var itemType: StaticString {
        switch self {
        case .text, .refusal: "\"message\""
        case .summary, .reasoning: "\"reasoning\""
        case .call(let call): call.isCustom ? "\"custom_tool_call\"" : "\"function_call\""
        }
    }
}
