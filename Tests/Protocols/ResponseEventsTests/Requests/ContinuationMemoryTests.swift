// The rule by which a request sends only what is new: every condition, at and beside.

import Testing

@testable import ResponseEvents

@Suite struct ContinuationMemoryTests {
    private static let question = #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#
    private static let call = #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#
    private static let output = #"{"type":"function_call_output","call_id":"c","output":"4"}"#

    private static func body(_ input: [String]?, _ members: String = #""model":"m""#) -> ResponseRequestBody {
        let input = input.map { #","input":[\#($0.joined(separator: ","))]"# } ?? ""
        return Self.body("{\(members)\(input)}")
    }

    private static func body(_ json: String) -> ResponseRequestBody {
        guard let body = try? ResponseRequestBody(json: Array(json.utf8)) else { preconditionFailure("not an object") }
        return body
    }

    private static func memory(
        _ request: ResponseRequestBody = Self.body([question]), items: [String] = [call], id: String? = "r1",
        isWarmUp: Bool = false
    ) -> ContinuationMemory? {
        ContinuationMemory(
            request: request, outputItems: items.map { Array($0.utf8) }, responseID: id, isWarmUp: isWarmUp)
    }

    private static func rest(_ continuation: ResponseRequestBody.Continuation?) -> String? {
        continuation.map { String(decoding: $0.inputJSON, as: UTF8.self) }
    }

    // MARK: It holds

    @Test func newInputFollowsTheResponse() {
        let continuation = Self.memory()?.continuation(of: Self.body([Self.question, Self.call, Self.output]))
        #expect(continuation?.previousResponseID == "r1")
        #expect(Self.rest(continuation) == "[\(Self.output)]")
    }

    @Test func severalItemsMayBeNew() {
        let continuation = Self.memory()?.continuation(
            of: Self.body([Self.question, Self.call, Self.output, Self.question]))
        #expect(Self.rest(continuation) == "[\(Self.output),\(Self.question)]")
    }

    @Test func aResponseWithoutItemsCanBeContinued() {
        let continuation = Self.memory(items: [])?.continuation(of: Self.body([Self.question, Self.output]))
        #expect(Self.rest(continuation) == "[\(Self.output)]")
    }

    @Test func aRequestWithoutInputCanBeContinued() {
        let memory = Self.memory(Self.body(nil))
        #expect(Self.rest(memory?.continuation(of: Self.body([Self.call, Self.output]))) == "[\(Self.output)]")
        #expect(memory?.continuation(of: Self.body([Self.output, Self.call])) == nil)
    }

    @Test func aTextCountsAsTheMessageThatItIs() {
        let text = #"{"type":"message","role":"user","content":"hi"}"#
        let memory = Self.memory(Self.body(#"{"model":"m","input":"hi"}"#))
        #expect(Self.rest(memory?.continuation(of: Self.body([text, Self.call, Self.output]))) == "[\(Self.output)]")
        #expect(memory?.continuation(of: Self.body([Self.question, Self.call, Self.output])) == nil)
    }

    @Test func anItemMayStandThereAsTheServerSentIt() {
        let sent =
            #"{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"}"#
        let continuation = Self.memory()?.continuation(of: Self.body([Self.question, sent, Self.output]))
        #expect(Self.rest(continuation) == "[\(Self.output)]")
    }

    @Test(arguments: [
        #""model":"m","client_metadata":{"a":"b"}"#, #""model":"m","stream_options":{"include_obfuscation":false}"#,
        #""model":"m","generate":true"#, #""type":"response.create","model":"m""#,
        #""model":"m","previous_response_id":null"#, #""model":"m","conversation":null"#, #" "model" : "m" "#,
    ])
    func continuationIgnoresMembersOfASingleRequest(members: String) {
        // A member that is `null` counts as present, but not one of these.
        let isCompared = members.contains("conversation")
        let request = Self.body([Self.question, Self.call, Self.output], members)
        #expect((Self.memory()?.continuation(of: request) == nil) == isCompared)
    }

    // MARK: It does not hold

    @Test(arguments: [nil, ""])
    func responseWithoutAnIdentifierIsNotStored(id: String?) {
        #expect(Self.memory(id: id) == nil)
    }

    @Test(arguments: [
        #""model":"n""#, #""model":"m","instructions":"x""#, #""model":"m","tools":[]"#, #""model":"m","store":true"#,
        #""model":"m","stream":true"#, #""model":"m","reasoning":{"effort":"low"}"#, #""model":"m","include":[]"#,
        #""model":"m","service_tier":"flex""#, #""model":"m","prompt_cache_key":"k""#, #""model":"m","text":{}"#,
        #""model":"m","tool_choice":"auto""#, #""model":"m","parallel_tool_calls":true"#, #""model":"m","top_p":1"#,
        #""model":"m","stream_id":"a""#, #""other":1"#, #""model":"\u006d""#,
        #""model":"m","conversation":"c""#, #""model":"m","previous_response_id":"r1""#,
    ])
    func anotherRequestIsSentWhole(members: String) {
        let next = [Self.question, Self.call, Self.output]
        #expect(Self.memory()?.continuation(of: Self.body(next, members)) == nil)
        // And the other way round.
        #expect(Self.memory(Self.body([Self.question], members))?.continuation(of: Self.body(next)) == nil)
    }

    @Test(arguments: [#""model":"m","conversation":"c""#, #""model":"m","previous_response_id":"r0""#])
    func requestWithItsOwnPredecessorIsNotContinued(members: String) {
        #expect(Self.memory(Self.body([Self.question], members)) == nil)
        #expect(
            Self.memory()?.continuation(of: Self.body([Self.question, Self.call, Self.output], members)) == nil)
    }

    @Test func onlyInputWithTheExactPrefixIsContinued() {
        let other = Self.question.replacing("hi", with: "ho")
        let spaced = Self.question.replacing(#""role":"#, with: #""role": "#)
        let otherCall = Self.call.replacing(#""call_id":"c""#, with: #""call_id":"d""#)
        let inputs = [
            [other, Self.call, Self.output], [spaced, Self.call, Self.output], [Self.question, otherCall, Self.output],
            [Self.question, Self.output], [Self.call, Self.question, Self.output], [Self.call, Self.output],
            [Self.question, Self.question, Self.call, Self.output], [Self.output], [Self.question], [],
        ]
        for input in inputs { #expect(Self.memory()?.continuation(of: Self.body(input)) == nil) }
        #expect(Self.memory()?.continuation(of: Self.body(nil)) == nil)
        #expect(Self.memory()?.continuation(of: Self.body(#"{"model":"m","input":{"a":1}}"#)) == nil)
        #expect(Self.memory()?.continuation(of: Self.body(#"{"model":"m","input":"hi"}"#)) == nil)
    }

    @Test func anItemOfTheRequestKeepsItsIdentifier() {
        let first = #"{"type":"item_reference","id":"a"}"#
        let second = #"{"type":"item_reference","id":"b"}"#
        let named = #"{"id":"msg_1","role":"user","content":"hi"}"#
        let other = #"{"id":"msg_2","role":"user","content":"hi"}"#
        for (before, after) in [(first, second), (named, other)] {
            let memory = Self.memory(Self.body([before]))
            #expect(memory?.continuation(of: Self.body([before, Self.call, Self.output])) != nil)
            #expect(memory?.continuation(of: Self.body([after, Self.call, Self.output])) == nil)
        }
    }

    @Test func inputThatIsNotAListIsNotStored() {
        #expect(Self.memory(Self.body(#"{"model":"m","input":{"a":1}}"#)) == nil)
        #expect(Self.memory(Self.body(#"{"model":"m","input":7}"#)) == nil)
    }

    // MARK: Without new input

    @Test func requestWithoutNewInputIsSentWhole() {
        #expect(Self.memory()?.continuation(of: Self.body([Self.question, Self.call])) == nil)
        #expect(Self.memory(items: [])?.continuation(of: Self.body([Self.question])) == nil)
    }

    @Test func warmUpIsContinuedWithoutNewInput() {
        let memory = Self.memory(items: [], isWarmUp: true)
        #expect(Self.rest(memory?.continuation(of: Self.body([Self.question]))) == "[]")
        #expect(Self.rest(memory?.continuation(of: Self.body([Self.question, Self.output]))) == "[\(Self.output)]")
        #expect(memory?.continuation(of: Self.body([])) == nil)
        // The caller's own warm-up is one too.
        let own = Self.memory(Self.body([Self.question], #""model":"m","generate":false"#), items: [])
        #expect(Self.rest(own?.continuation(of: Self.body([Self.question]))) == "[]")
        let other = Self.memory(Self.body([Self.question], #""model":"m","generate":true"#), items: [])
        #expect(other?.continuation(of: Self.body([Self.question])) == nil)
    }

    // MARK: The message

    @Test func continuationMessageKeepsTheOtherMembers() throws {
        let request = Self.body([Self.question, Self.call, Self.output], #""model":"m","tools":[1]"#)
        let memory = Self.memory(Self.body([Self.question], #""model":"m","tools":[1]"#))
        let continuation = try #require(memory?.continuation(of: request))
        #expect(
            String(decoding: try request.webSocketMessage(.init(continuation: continuation)), as: UTF8.self)
                == #"{"type":"response.create","model":"m","tools":[1],"input":[\#(Self.output)],"#
                + #""previous_response_id":"r1"}"#)
    }
}
