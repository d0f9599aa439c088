// Messages that steer a response, and a server's answers.

import Testing

@testable import ResponseEvents

@Suite struct SteeringMessageTests {
    @Test func aTextIsOneMessageOfTheUser() {
        let input = SteeringMessage.input("say \"more\"\n")
        #expect(
            String(decoding: input, as: UTF8.self)
                == #"[{"type":"message","role":"user","content":[{"type":"input_text","text":"say \"more\"\n"}]}]"#)
        #expect(
            String(decoding: SteeringMessage.json(previousResponseID: "r\"1", input: input), as: UTF8.self)
                == #"{"type":"response.steer","previous_response_id":"r\"1","input":"#
                + String(decoding: input, as: UTF8.self) + "}")
    }

    @Test func anInputIsAListOfObjects() {
        #expect(
            SteeringMessage.items(of: Array(#"[ {"a":1} , {"b":[2]} ]"#.utf8))
                == [#"{"a":1}"#, #"{"b":[2]}"#].map { Array($0.utf8) })
        for input in ["", "[]", "{}", "null", "1", "[1]", "[{},1]", "[[]]", "[null]", "[{}", "[{}],[{}]", "[{}]x"] {
            #expect(SteeringMessage.items(of: Array(input.utf8)) == nil)
        }
    }

    @Test(arguments: [
        ("response.steer.accepted", "{}", SteeringMessage.Answer.accepted(id: nil)),
        ("response.steer.pending", "{}", .pending(id: nil)),
        ("response.steer.accepted", #"{"steer":{"id":"s\u0031"}}"#, .accepted(id: "s1")),
        ("response.steer.pending", #"{"steer":{"previous_response_id":"r","id":"s"}}"#, .pending(id: "s")),
        // An empty identifier is none.
        ("response.steer.accepted", #"{"steer":{"id":""}}"#, .accepted(id: nil)),
        ("response.steer.accepted", #"{"steer":{"id":null}}"#, .accepted(id: nil)),
        ("response.steer.accepted", #"{"steer":"s"}"#, .accepted(id: nil)),
        (
            "response.steer.failed",
            #"{"type":"response.steer.failed","steer":{"id":"s","input":"x"},"error":{"code":"response_not_active"}}"#,
            .failed(id: "s", code: "response_not_active")
        ),
        // Only words of the protocol are passed on.
        ("response.steer.failed", #"{"error":{"code":"my secret"}}"#, .failed(id: nil, code: nil)),
        ("response.steer.failed", #"{"error":{"code":7}}"#, .failed(id: nil, code: nil)),
        ("response.steer.failed", "{}", .failed(id: nil, code: nil)),
        ("response.steer.failed", "{", .failed(id: nil, code: nil)),
        ("response.steer", "{}", nil), ("response.steer.accepted2", "{}", nil), ("", "{}", nil),
    ])
    func answerIsReadFromTypeAndErrorCode(type: String, json: String, answer: SteeringMessage.Answer?) {
        let bytes = Array(json.utf8)
        #expect(bytes.withUnsafeBytes { SteeringMessage.answer(type: type, json: $0) } == answer)
    }
}
