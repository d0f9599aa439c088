// The end of an answer that is cut short.

import StreamTransport

/// The continuation of a cut answer after its last event.
enum AnswerTail {
    /// One more event, and what it says about the next delay.
    case event([UInt8], hints: [DelayRules.Hint])
    /// A binary message.
    case binary
    case end(TransportEnd)
    /// Silence; the peer answers pings, or does not.
    case silence(isDead: Bool)
    /// Events that are not of the response, one each time, and then the connection is lost.
    case chatter(every: Duration)
    /// Comments without an end and without a pause.
    case endless

    /// The ways for a fault to look; nil for a fact that is no such fault.
    static func tail(of fact: SimulatedFact, responseID: String, _ random: inout SimulatedRandom) -> AnswerTail {
        if let code = self.closeCodes[fact] { return .end(.closed(code: code, reason: random.pick(["", "bye"]))) }
        if let failure = self.failures[fact] { return .end(.failed(failure)) }
        switch fact {
        case .endsCleanly: return .end(.complete)
        case .stallOfDeadPeer: return .silence(isDead: true)
        case .stallWithPongs: return .silence(isDead: false)
        case .binaryMessage: return .binary
        case .endlessComments: return .endless
        case .chatter: return .chatter(every: random.pick([.seconds(1), .seconds(4), .seconds(9), .seconds(100)]))
        default: return self.event(for: fact, responseID: responseID, &random)
        }
    }

    /// Faults of either transport.
    static let common: [SimulatedFact] = [
        .connectionReset, .connectionReset, .stallWithPongs, .stallOfDeadPeer, .corruptContentCoding, .errorEvent,
        .errorEventWithStatus, .errorEvent401, .errorEvent429, .errorEventUsageLimit, .responseFailed,
        .responseFailedFatally, .responseFailedThrottled, .responseIncomplete, .garbageJSON, .invalidUTF8,
        .oversizeEvent, .chatter, .errorWithoutType,
    ]
    /// The events of a connection that is alive.
    static let chatter = [
        #"{"type":"keepalive"}"#, #"{"type":"codex.rate_limits","plan_type":"plus"}"#, #"{"padding":"xxxxxxxx"}"#,
        #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":""}"#,
        #"{"type":"gateway.note","note":"still there"}"#, #"{"type":"response.metadata","headers":{}}"#,
    ]
    /// Faults that only a WebSocket has.
    static let ofWebSocket: [SimulatedFact] =
        Self.common
        + [
            .closed1000, .closed1001, .closed1002, .closed1003, .closed1005, .closed1006, .closed1006, .closed1007,
            .closed1008, .closed1009, .closed1010, .closed1011, .closed1012, .closed1013, .closed4000,
            .protocolViolation, .binaryMessage, .errorEventConnectionLimit,
        ]
    /// Faults that an event stream has.
    static let ofEventStream: [SimulatedFact] =
        Self.common + [.endsCleanly, .endsCleanly, .endsCleanly, .endlessComments]

    /// Faults of an event stream that mean the same in any API.
    static let ofOtherAPI: [SimulatedFact] = [
        .connectionReset, .connectionReset, .stallWithPongs, .stallOfDeadPeer, .corruptContentCoding, .errorEvent,
        .errorEventWithStatus, .errorEvent401, .errorEvent429, .errorEventUsageLimit, .garbageJSON, .invalidUTF8,
        .oversizeEvent, .errorWithoutType, .endsCleanly, .endsCleanly, .endsCleanly, .endlessComments,
    ]

    private static let closeCodes: [SimulatedFact: UInt16] = [
        .closed1000: 1000, .closed1001: 1001, .closed1002: 1002, .closed1003: 1003, .closed1005: 1005,
        .closed1006: 1006, .closed1007: 1007, .closed1008: 1008, .closed1009: 1009, .closed1010: 1010,
        .closed1011: 1011, .closed1012: 1012, .closed1013: 1013, .closed4000: 4000,
    ]

    private static let failures: [SimulatedFact: TransportFailure] = [
        .connectionReset: TransportFailure(phase: .stream, cause: .connectionLost),
        .protocolViolation: TransportFailure(phase: .stream, cause: .protocolViolation(closeCode: 1002)),
        .corruptContentCoding: TransportFailure(phase: .stream, cause: .corruptContentCoding),
    ]

    private static func event(
        for fact: SimulatedFact, responseID: String, _ random: inout SimulatedRandom
    ) -> AnswerTail {
        var hint = DelayRules.Hint()
        let json: String
        switch fact {
        case .errorEvent:
            json = random.pick([
                #"{"type":"error","code":"some_code","message":"m","param":null}"#,
                #"{"type":"error","error":{"type":"server_error","code":null,"message":"m"}}"#,
            ])
        case .errorWithoutType:
            json = random.pick([
                #"{"error":{"message":"m","type":"some_error"}}"#, #"{"error":"words"}"#,
                #"{"object":"error","message":"m"}"#, #"{"type":"some_error","message":"m"}"#,
            ])
        case .errorEventWithStatus:
            let status = random.pick([400, 404, 408, 500, 503])
            json = #"{"type":"error","status":\#(status),"error":{"type":"some_error","message":"m"}}"#
        case .errorEvent401:
            json =
                #"{"type":"error","status_code":401,"error":{"type":"invalid_request_error","code":"token_expired"}}"#
        case .errorEvent429:
            hint.isThrottle = true
            hint.wish = .seconds(3)
            json = #"{"type":"error","status":429,"error":{"type":"slow_down"},"headers":{"Retry-After":3}}"#
        case .errorEventUsageLimit:
            let seconds = random.pick([1, 5, 9_999])
            hint.isThrottle = true
            hint.resetsAfter = .seconds(seconds)
            json =
                #"{"type":"error","status":429,"error":{"type":"usage_limit_reached","resets_in_seconds":\#(seconds)}}"#
        case .errorEventConnectionLimit:
            json = #"{"type":"error","status":400,"error":{"code":"websocket_connection_limit_reached"}}"#
        case .responseFailed:
            json = Self.failed(responseID, code: random.pick(["server_error", "vector_store_timeout"]))
        case .responseFailedFatally:
            json = Self.failed(responseID, code: random.pick(["context_length_exceeded", "invalid_prompt"]))
        case .responseFailedThrottled:
            hint.isThrottle = true
            hint.wish = .milliseconds(1_500)
            json = Self.failed(responseID, code: "rate_limit_exceeded")
        case .responseIncomplete:
            json =
                #"{"type":"response.incomplete","response":{"id":"\#(responseID)","status":"incomplete","#
                + #""incomplete_details":{"reason":"max_output_tokens"}}}"#
        case .invalidUTF8:
            return .event(
                Array(#"{"type":"response.output_text.delta","output_index":0,"delta":""#.utf8) + [0xC3, 0x28]
                    + Array(#""}"#.utf8), hints: [])
        case .oversizeEvent:
            let text = String(repeating: "a", count: SimulatedConfiguration.smallEventLimit + 1)
            json = #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\#(text)"}"#
        default:
            json = random.pick([
                "{", "nonsense", #"{"type":"response.output_text.delta","delta":"x""#, "[]",
                #"{"type":"response.output_text.delta","delta":7}"#, #"{"type":"response.completed"}"#,
            ])
        }
        return .event(Array(json.utf8), hints: [hint])
    }

    private static func failed(_ responseID: String, code: String) -> String {
        #"{"type":"response.failed","response":{"id":"\#(responseID)","status":"failed","error":{"code":"\#(code)","#
            + #""message":"Please try again in 1.5s."}}}"#
    }
}
