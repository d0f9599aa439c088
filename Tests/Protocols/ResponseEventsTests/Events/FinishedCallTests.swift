import Testing

@testable import ResponseEvents

@Suite struct FinishedCallTests {
    private static let call = FinishedCall(callID: "c", name: "f", payload: #"{"a":1,"b":"é"}"#)

    @Test(arguments: [
        FinishedCall(callID: "c", name: "f", payload: #" {"b": "\u00e9", "a": 1.0} "#),
        FinishedCall(callID: "c", name: "f", namespace: "", payload: #"{"a":1,"b":"é"}"#),
    ])
    func spellingOfArgumentsDoesNotCount(other: FinishedCall) {
        #expect(other == Self.call)
        #expect(other.content == Self.call.content)
        #expect(other.hashValue == Self.call.hashValue)
    }

    @Test(arguments: [
        FinishedCall(callID: "c", name: "g", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(callID: "c", name: "f", namespace: "f", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(callID: "c", name: "", namespace: "f", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(.custom, callID: "c", name: "f", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(callID: "c", name: "f", payload: "{\"a\":1,\"b\":\"e\u{301}\"}"),
        FinishedCall(callID: "c", name: "f", payload: #"{"a":1,"b":"é"}x"#),
        FinishedCall(callID: "c", name: "f", payload: "{}"),
        FinishedCall(callID: "c", name: "", payload: "f"),
    ])
    func anotherToolOrOtherArgumentsAreAnotherContent(other: FinishedCall) {
        #expect(other != Self.call)
        #expect(other.content != Self.call.content)
    }

    @Test(arguments: [
        FinishedCall(callID: "d", name: "f", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(name: "f", payload: #"{"a":1,"b":"é"}"#),
        FinishedCall(callID: "c", name: "f", payload: #"{"a":1,"b":"é"}"#, isIncomplete: true),
    ])
    func anotherIdentifierOrStatusIsAnotherCallWithTheSameContent(other: FinishedCall) {
        #expect(other != Self.call)
        #expect(other.content == Self.call.content)
    }

    @Test func textIsComparedByItsBytes() {
        let composed = FinishedCall(callID: "\u{E9}", name: "\u{E9}", payload: "{}")
        #expect(composed != FinishedCall(callID: "e\u{301}", name: "\u{E9}", payload: "{}"))
        #expect(composed.content != FinishedCall(callID: "\u{E9}", name: "e\u{301}", payload: "{}").content)
    }

    /// What ends one member cannot begin the next one.
    @Test func membersCannotBeMistakenForEachOther() {
        let texts = ["", "a", "\"", "a\"\"b", "\\", "\\\"", "\u{0}"]
        let calls = texts.flatMap { name in
            texts.flatMap { namespace in
                texts.map { FinishedCall(.custom, name: name, namespace: namespace, payload: $0) }
            }
        }
        #expect(Set(calls.map(\.content)).count == calls.count)
    }

    @Test(arguments: ["", " \n", "{}", "{ }"])
    func emptyArgumentsAreAnEmptyObject(payload: String) {
        let call = FinishedCall(name: "f", payload: payload)
        #expect(call.payload == "{}")
        #expect(call == FinishedCall(name: "f", payload: "{}"))
    }

    @Test(arguments: [#" {"a": 1}"#, "null", "[]", "7", "not JSON"])
    func otherArgumentsStayAsTheModelWroteThem(payload: String) {
        #expect(FinishedCall(name: "f", payload: payload).payload == payload)
    }

    @Test func inputOfACustomToolIsAnyText() {
        #expect(FinishedCall(.custom, name: "t", payload: " ").payload == " ")
        #expect(FinishedCall(.custom, name: "t", payload: "") != FinishedCall(.custom, name: "t", payload: "{}"))
        #expect(FinishedCall(.custom, name: "t", payload: "1.0") != FinishedCall(.custom, name: "t", payload: "1"))
    }
}
