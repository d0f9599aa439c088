import Testing

@testable import Chappie

/// Arguments that a function accepts, and those that it refuses.
@Suite struct ToolArgumentsTests {
    private static let schema: ChappieJSONValue = [
        "type": "object", "required": ["zone"],
        "properties": [
            "zone": ["type": "string"], "hours": ["type": "integer"], "factor": ["type": "number"],
            "names": ["type": ["array", "null"]], "format": ["enum": ["short", "long"]],
        ],
    ]

    private static func fault(_ text: String, _ schema: ChappieJSONValue = .anyObject) -> String? {
        ToolArguments(text, schema: schema).fault
    }

    @Test(arguments: [
        "{}", " {\"a\":1}\r\n\t", "", "  ", #"{"a":[{},[],{"b":[1,-0.5e+3,true,false,null,"\u00e9\\\""]}]}"#,
        #"{"a":"\ud800"}"#, #"{"a":1e999}"#, #"{"a":1,"a":2}"#,
        #"{"a":"# + String(repeating: "[", count: 600) + String(repeating: "]", count: 600) + "}",
    ])
    func objectsAndEmptyArgumentsAreAccepted(text: String) {
        #expect(Self.fault(text) == nil)
    }

    @Test(arguments: [
        (#"{"zone":"UTC"}{"zone":"UTC"}"#, "The object ends before offset 14, and more follows."),
        ("{} x", "The object ends before offset 3, and more follows."),
        (#"{"zone":"UTC""#, "They end at offset 13, inside the object."),
        (#"{"zone":"UT"#, "They end at offset 11, inside the object."),
        (#"{"é": UTC}"#, "At offset 7 is what JSON does not allow there."),
        (#"{"a":[1,]}"#, "At offset 8 is what JSON does not allow there."),
        (#"{"a":1,}"#, "At offset 7 is what JSON does not allow there."),
        (#"{"a" 1}"#, "At offset 5 is what JSON does not allow there."),
        (#"{"a":[1}"#, "At offset 7 is what JSON does not allow there."),
        (#"{"a":01}"#, "At offset 6 is what JSON does not allow there."),
        (#"{"a":"\x"}"#, "At offset 7 is what JSON does not allow there."),
        ("{\"a\":\"\n\"}", "At offset 6 is what JSON does not allow there."),
        ("{'a':1}", "At offset 1 is what JSON does not allow there."),
        ("\u{FEFF}{}", "At offset 0 is what JSON does not allow there."),
        (" [1]", "At offset 1 begins another JSON value."), (#""{}""#, "At offset 0 begins another JSON value."),
        ("null", "At offset 0 begins another JSON value."),
    ])
    func malformedArgumentsAreRefusedWithAnOffset(text: String, sentence: String) {
        #expect(Self.fault(text) == "The tool was not run: its arguments are not one JSON object. \(sentence)")
    }

    @Test(
        arguments: [
            (#"{"zone":"UTC","hours":3,"factor":0.5,"names":["a"],"format":3,"more":{}}"#, nil),
            (#"{"zone":"UTC","hours":3.0,"names":null}"#, nil),
            // An optional member that is not given.
            (#"{"zone":"UTC","hours":null}"#, nil),
            ("{}", #""zone" is missing"#), ("", #""zone" is missing"#),
            (#"{"zone":null}"#, #""zone" has to be string, and is null"#),
            (
                #"{"zone":1,"hours":3.5}"#,
                #""hours" has to be integer, and is number; "zone" has to be string, and is number"#
            ),
            (#"{"zone":"UTC","zone":true}"#, #""zone" has to be string, and is boolean"#),
            (#"{"zone":"UTC","names":"a"}"#, #""names" has to be array or null, and is string"#),
            (#"{"zone":"UTC","factor":"0.5"}"#, #""factor" has to be number, and is string"#),
        ] as [(String, String?)])
    func requiredMembersAndTypesOfTheOutermostPropertiesCount(text: String, faults: String?) {
        #expect(
            Self.fault(text, Self.schema)
                == faults.map { "The tool was not run: its arguments do not fit its schema: \($0)." })
    }

    /// An invalid schema, or one with unchecked keywords, prevents no call.
    @Test(
        arguments: [
            true, ["required": true, "properties": [1]], ["required": [1]], ["properties": ["a": true]],
            ["properties": ["a": ["type": "text"]]], ["properties": ["a": ["type": []]]],
            ["properties": ["a": ["$ref": "#/definitions/a"]]], ["additionalProperties": false],
            ["required": ["a"], "properties": ["a": ["type": "string", "nullable": true]]],
        ] as [ChappieJSONValue])
    func invalidOrUncheckedSchemaAcceptsTheArguments(schema: ChappieJSONValue) {
        #expect(Self.fault(#"{"a":null}"#, schema) == nil)
    }

    @Test func faultNamesAtMostEightMissingMembers() throws {
        let names = (1...9).map { ChappieJSONValue.string("m\($0)") }
        let fault = try #require(Self.fault("{}", ["required": .array(names)]))
        #expect(fault.contains("m8") && !fault.contains("m9"))
    }
}
