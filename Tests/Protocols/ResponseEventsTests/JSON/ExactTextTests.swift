// Names, types and codes are compared by their bytes, in a time that is linear in what a server sends.

import Testing

@testable import ResponseEvents

/// Each of these took from minutes to hours while the walk was quadratic.
@Suite(.timeLimit(.minutes(10))) struct ExactTextTests {
    /// Marks that canonical equivalence has to sort.
    private static let marks = String(repeating: "\u{301}\u{316}", count: 200_000)

    @Test func manyNullMembersOfAnItemAreTakenOut() {
        let nulls = (0..<100_000).map { #""m\#($0)":null"# }.joined(separator: ",")
        let item = InputItem(Array(#"{"type":"x","role":"assistant",\#(nulls),"content":[{\#(nulls),"a":1}]}"#.utf8))
        #expect(
            item.map { String(decoding: $0.json, as: UTF8.self) }
                == #"{"type":"x","role":"assistant","content":[{"a":1}]}"#)
    }

    @Test func canonicallyEquivalentNamesAreTwoMembers() throws {
        let json = "{\"e\u{301}\":1,\"\u{E9}\":2}"
        let object = try JSONObjectText(Array(json.utf8))
        #expect(object.members.map { String(decoding: $0.json, as: UTF8.self) } == ["1", "2"])
        #expect(object["\u{E9}"].map { String(decoding: $0, as: UTF8.self) } == "2")
        #expect(String(decoding: object.json, as: UTF8.self) == json)
    }

    @Test func namesAndTypesOfCombiningMarksAreReadAtOnce() {
        let item = InputItem(Array(#"{"type":"a\#(Self.marks)","b\#(Self.marks)":1,"b\#(Self.marks)c":2}"#.utf8))
        #expect(item?.part == .other)
        #expect(JSONDocumentValue(text: Array(#"{"b\#(Self.marks)":1,"c":2}"#.utf8))?["c"]?.integer == 2)
    }

    @Test func codesOfCombiningMarksAreReadAtOnceAndCut() throws {
        let event = #"{"type":"error","error":{"type":"t","code":"a\#(Self.marks)","message":"m"}}"#
        try withEvent(Array(event.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("it is an error")
                return
            }
            #expect(UsageLimitError(error.facts) { $0 == "usage_limit_reached" } == nil)
            // One letter and 127 marks of two bytes each: a mark is not cut in two.
            #expect(error.facts.code?.utf8.count == 255)
            #expect(error.facts.message == "m")
        }
    }

    @Test(arguments: [255, 256, 257]) func wordIsCutTo256Bytes(count: Int) {
        #expect(String(repeating: "a", count: count).word.utf8.count == min(count, 256))
    }

    @Test func halvesOfPairsAreOrderedByTheUnitThatFollows() {
        // UTF-16: D800 0061, D800 DC00, D801 (RFC 8785 section 3.2.3).
        let names = [#""\ud801""#, #""\ud800\udc00x""#, #""\ud800a""#, #""\ud800""#]
        let object = "{" + names.map { "\($0):1" }.joined(separator: ",") + "}"
        let expected =
            "{"
            + [#""\ud800""#, #""\ud800a""#, "\"\u{10000}x\"", #""\ud801""#].map { "\($0):1" }
            .joined(separator: ",") + "}"
        #expect(CanonicalJSON.text(of: object) == expected)
    }
}
