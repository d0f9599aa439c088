import Chappie
import Testing

@Suite struct ChappieJSONValueTests {
    @Test(arguments: [
        #"{"a":[1,-2.5,"x\"y",true,false,null,{}],"b":{"c":[]}}"#, "[]", #""ä😀\n""#, "3", "null", "1e+300",
        #"{"big":9007199254740992}"#,
    ])
    func textBecomesAValueAndTextAgain(_ text: String) throws {
        let value = try #require(ChappieJSONValue(jsonText: text))
        #expect(ChappieJSONValue(jsonText: value.jsonText) == value)
        #expect(value.jsonText == text)
    }

    @Test(arguments: [
        "", "{", "tru", #"{"a":}"#, "1 2", "\u{1}", "[1,]", #"{"a":1,}"#, #"1,"b":2"#, "}{", "01", "'a'", "NaN",
        "1e400",
        "// a\n1", "\u{FEFF}1",
    ])
    func invalidJSONHasNoValue(_ text: String) {
        #expect(ChappieJSONValue(jsonText: text) == nil)
    }

    @Test func literalsAreValues() {
        let schema: ChappieJSONValue = [
            "type": "object", "required": ["city"], "closed": true, "limit": 3, "ratio": 0.5, "default": nil,
        ]
        #expect(schema["type"]?.string == "object")
        #expect(schema["limit"]?.number == 3)
        #expect(schema["none"] == nil)
        #expect(
            schema.jsonText
                == #"{"closed":true,"default":null,"limit":3,"ratio":0.5,"required":["city"],"type":"object"}"#)
    }

    @Test func valueIsReadByItsKind() throws {
        let value = try #require(ChappieJSONValue(jsonText: #"{"a":[1,2.5,true,null,"x",{"b":9007199254740992}]}"#))
        #expect(value.object?.keys.sorted() == ["a"] && value.array == nil && value[0] == nil)
        let list = value["a"]
        #expect(list?.array?.count == 6 && list?.object == nil && list?["a"] == nil)
        #expect(list?[0]?.int == 1 && list?[1]?.int == nil && list?[1]?.number == 2.5)
        #expect(
            list?[2]?.bool == true && list?[0]?.bool == nil && list?[3]?.isNull == true && list?[0]?.isNull == false)
        #expect(list?[4]?.string == "x" && list?[4]?.int == nil && list?[5]?["b"]?.int == 9_007_199_254_740_992)
        #expect(list?[6] == nil && list?[-1] == nil)
        #expect(ChappieJSONValue.number(1e300).int == nil)
    }

    @Test func deeplyNestedJSONHasNoValue() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(ChappieJSONValue(jsonText: deep) == nil)
    }

    @Test(arguments: [(511, true), (512, false)])
    func nestingIsReadUpToItsLimit(depth: Int, isRead: Bool) {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect((ChappieJSONValue(jsonText: text) != nil) == isRead)
    }

    @Test func lastOfRepeatedMembersIsUsed() {
        #expect(ChappieJSONValue(jsonText: #"{"a":1,"\u0061":2}"#)?["a"] == 2)
    }
}
