import Testing

@testable import ChappieTestServer

private typealias Family = ChappieTestServer.ScenarioFamily

/// Files of scenarios, and the defaults that their rows share.
@Suite struct ScenarioFamilyTests {
    @Test func rowsOverrideDefaultsMemberByMember() throws {
        let file = """
            {"title":"t","description":"d",
             "defaults":{"server":{"faults":[],"eventsPerSecond":5},"client":{"httpRetries":1}},
             "scenarios":[
               {"name":"a","summary":"s"},
               {"name":"b","summary":"s","server":{"eventsPerSecond":6},"client":null},
               {"name":"c","summary":"s","server":{"faults":[{"action":{"wrongAcceptKey":{}}}],"eventsPerSecond":null}}
             ]}
            """
        let family = try Family(Array(file.utf8))
        #expect(family.title == "t" && family.description == "d")
        #expect(family.scenarios.map(\.name) == ["a", "b", "c"])
        #expect(family.scenarios.map(\.server.eventsPerSecond) == [5, 6, nil])
        #expect(family.scenarios.map(\.client?.httpRetries) == [1, nil, 1])
        #expect(family.scenarios.map(\.faults.count) == [0, 0, 1])
    }

    @Test func defaultsMayBeOmitted() throws {
        let file = #"{"title":"t","description":"d","scenarios":[{"name":"a","summary":"s","server":{"faults":[]}}]}"#
        #expect(try Family(Array(file.utf8)).scenarios.map(\.name) == ["a"])
    }

    @Test(arguments: [
        "", "[]", #"{"title":"t","description":"d"}"#, #"{"title":"t","scenarios":[]}"#,
        #"{"description":"d","scenarios":[]}"#, #"{"title":"t","description":"d","scenarios":{}}"#,
    ])
    func filesOfAnotherFormAreRejected(file: String) {
        #expect {
            try Family(Array(file.utf8))
        } throws: { error in
            if case Family.ReadError.notAFamily = error { true } else { false }
        }
    }

    @Test func wrongScenarioIsReportedByItsIndex() {
        let file = """
            {"title":"t","description":"d","defaults":{"server":{"faults":[]}},
             "scenarios":[{"name":"a","summary":"s"},{"name":"b"}]}
            """
        #expect {
            try Family(Array(file.utf8))
        } throws: { error in
            if case Family.ReadError.wrongScenario(1, _) = error { true } else { false }
        }
    }

    /// The examples of RFC 7396, appendix A.
    @Test(arguments: [
        [#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#],
        [#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#],
        [#"{"a":"b"}"#, #"{"a":null}"#, "{}"],
        [#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#],
        [#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#],
        [#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#],
        [#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#],
        [#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#],
        [#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#],
        [#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#],
        [#"{"a":"foo"}"#, "null", "null"],
        [#"{"a":"foo"}"#, #""bar""#, #""bar""#],
        [#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#],
        ["[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#],
        ["{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#],
    ])
    func mergePatchesAreThoseOfTheStandard(example: [String]) throws {
        let values = try example.map { try #require(JSONValue(Array($0.utf8))) }
        #expect(values[0].merging(values[1]) == values[2])
    }
}
