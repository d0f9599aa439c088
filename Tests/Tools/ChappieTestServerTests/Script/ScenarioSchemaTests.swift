// The form of scenario files: faults of a text, and the schema beside the types.
import Foundation
import Testing

@testable import ChappieTestServer

@Suite struct ScenarioSchemaTests {
    private static func faults(_ text: String) -> [String] {
        do {
            _ = try ChappieTestServer.Scenario(jsonText: text)
            return []
        } catch {
            return (error as? FormError)?.faults ?? ["\(error)"]
        }
    }

    private static func faults(ofFault fault: String) -> [String] {
        Self.faults(#"{"name":"a","summary":"b","server":{"faults":[\#(fault)]}}"#)
    }

    /// A fault with a misspelt range would apply to every attempt.
    @Test func unknownMembersAreErrorsWithASuggestion() {
        let cut = #""action":{"cutBeforeTerminal":{}}"#
        #expect(Self.faults(ofFault: "{\(cut)}").isEmpty)
        #expect(
            Self.faults(ofFault: #"{"firstAttemt":3,\#(cut)}"#) == [
                "server.faults[0].firstAttemt is unknown; did you mean firstAttempt?"
            ])
        #expect(
            Self.faults(ofFault: #"{"xyz":3,\#(cut)}"#) == [
                "server.faults[0].xyz is unknown (known: firstAttempt, lastAttempt, transport, response, action)"
            ])
        #expect(
            Self.faults(ofFault: #"{"action":{"cutAfterEvnt":{"event":1}}}"#) == [
                "server.faults[0].action.cutAfterEvnt is unknown; did you mean cutAfterEvent?"
            ])
        #expect(
            Self.faults(ofFault: #"{"action":{"cutAfterEvent":{"event":1,"width":"end"}}}"#) == [
                "server.faults[0].action.cutAfterEvent.width is unknown; did you mean with?"
            ])
    }

    @Test func allFaultsOfATextAreReported() {
        let text = #"""
            {"name":1,"servr":{},"server":{"faults":[{"transport":"htpp","action":{"stall":{"afterByte":"1"}}},{}],
             "eventsPerSecond":"x","droppedConnections":1.5,"acceptedTokens":["a",1],"responses":[[{"any":1}],3]},
             "expectation":{"turns":[{"delivers":"whole"}]}}
            """#
        #expect(
            Self.faults(text) == [
                "name is not a string", "servr is unknown; did you mean server?",
                #"server.faults[0].transport needs one of webSocket, http, not "htpp"; did you mean http?"#,
                "server.faults[0].action.stall.afterByte is not a whole number",
                "server.faults[1].action is missing", "server.eventsPerSecond is not a number",
                "server.droppedConnections is not a whole number", "server.acceptedTokens[1] is not a string",
                "server.responses[1] is not an array", "expectation.turns[0].ends is missing", "summary is missing",
            ])
    }

    @Test(arguments: [
        ("[]", "the text is not an object"), ("{}", "name is missing"),
        (#"{"name":"a","summary":"b","server":null}"#, "server is missing"),
        (
            #"{"name":"a","summary":"b","server":{"faults":[{"action":{}}]}}"#,
            "server.faults[0].action needs exactly one member"
        ),
    ])
    func textWithoutItsPartsIsFaulty(text: String, fault: String) {
        #expect(Self.faults(text).first == fault)
    }

    /// A duration past the range of its type ended the process.
    @Test func numbersOutOfTheirRangeAreFaults() {
        let text = #"""
            {"name":"a","summary":"b","server":{"faults":[{"firstAttempt":0,"action":{"answer":{"status":99}}},
             {"action":{"pause":{"afterEvent":-1,"seconds":-1}}}],"eventsPerSecond":0,"connectionLifetime":1e30},
             "proxy":{"faults":[{"action":{"cut":{"atByte":-1}}},{"action":{"corrupt":{"atByte":1,"mask":256}}}]}}
            """#
        #expect(
            Self.faults(text) == [
                "server.faults[0].firstAttempt must be at least 1",
                "server.faults[0].action.answer.status must be from 100 to 999",
                "server.faults[1].action.pause.afterEvent must be at least 0",
                "server.faults[1].action.pause.seconds must be from 0 to 31536000",
                "server.eventsPerSecond must be at least 0.001",
                "server.connectionLifetime must be from 0 to 31536000",
                "proxy.faults[0].action.cut.atByte must be at least 0",
                "proxy.faults[1].action.corrupt.mask must be from 1 to 255",
            ])
        #expect(
            Self.faults(ofFault: #"{"firstAttempt":1e300,"action":{"cutBeforeTerminal":{}}}"#) == [
                "server.faults[0].firstAttempt is not a whole number"
            ])
    }

    @Test func suggestionsEndTheirSentences() {
        let faults = [
            FormFault("a", .unknown, "is unknown; did you mean b?"), FormFault("c", .missing), FormFault("d", .missing),
        ]
        #expect(
            FormError(faults)?.description
                == "a is unknown; did you mean b? c is missing. d is missing")
    }

    @Test func nullIsAMemberThatIsLeftOut() {
        #expect(Self.faults(#"{"name":"a","summary":"b","client":null,"server":{"faults":[],"model":null}}"#).isEmpty)
    }

    @Test func textThatIsNotJSONIsADecodingError() {
        #expect(throws: DecodingError.self) { try ChappieTestServer.Scenario(jsonText: "{") }
    }

    @Test func partOfAProxyAloneIsChecked() throws {
        typealias Scenario = ChappieTestServer.Scenario
        try Scenario.checkForm(of: #"{"proxy":{"faults":[{"action":{"cut":{"atByte":1}}}]}}"#, isWhole: false)
        let text = #"{"proxi":1,"proxy":{"faults":[{"action":{"cutt":{"atByte":1}}},{"actoin":1}]}}"#
        let error = #expect(throws: FormError.self) { try Scenario.checkForm(of: text, isWhole: false) }
        #expect(
            error?.faults == [
                "proxi is unknown; did you mean proxy?", "proxy.faults[0].action.cutt is unknown; did you mean cut?",
                "proxy.faults[1].actoin is unknown; did you mean action?", "proxy.faults[1].action is missing",
            ])
    }

    /// Rules between two members are none of the schema's; they are reported with the faults of the form.
    @Test func rulesOfAProxyAreReportedWithTheForm() {
        let text = #"""
            {"name":"a","summary":"b","server":{"fault":[]},"proxy":{"faults":[
             {"action":{"refuse":{}},"direction":"toClient","firstConnection":2,"lastConnection":1}]}}
            """#
        #expect(
            Self.faults(text) == [
                "server.fault is unknown; did you mean faults?", "server.faults is missing",
                "proxy.faults[0].lastConnection must be at least firstConnection",
                "proxy.faults[0].direction does not apply to this action",
            ])
    }

    @Test func manyFaultsAreCounted() {
        let error = FormError((1...23).map { FormFault("\($0)", .missing) })
        #expect(error?.description.hasSuffix(". 20 is missing. There are 3 more") == true)
    }

    // MARK: The schema and the types

    private static let schema = JSONValue(PackageResources.scenario_schema_json) ?? .null

    /// The names of the members in the schema; of the scenario itself without a name.
    private static func names(_ definition: String?) -> Set<String> {
        let object = definition.map { Self.schema["$defs"]?[$0] ?? .null } ?? Self.schema
        guard case .object(let members)? = object["properties"] else { return [] }
        return Set(members.map(\.name))
    }

    private static func names(of value: Any) -> Set<String> {
        Set(Mirror(reflecting: value).children.compactMap(\.label))
    }

    @Test func schemaHasTheMembersOfTheTypes() {
        typealias Scenario = ChappieTestServer.Scenario
        let scenario = Scenario(name: "a", summary: "b", faults: [])
        #expect(Self.names(nil) == Self.names(of: scenario).union(["proxy"]))
        #expect(Self.names("server") == Self.names(of: scenario.server))
        #expect(Self.names("client") == Self.names(of: Scenario.Client()))
        #expect(Self.names("turn") == Self.names(of: Scenario.Turn()))
        #expect(Self.names("expectation") == Self.names(of: Scenario.Expectation(turns: [])))
        #expect(
            Self.names("turnExpectation") == Self.names(of: Scenario.TurnExpectation(delivers: .whole, ends: "x")))
        #expect(Self.names("usageWindows") == Self.names(of: Scenario.UsageWindows(primary: 1, secondary: 1)))
        #expect(Self.names("requestExpectation") == Self.names(of: Scenario.RequestExpectation(attempt: 1)))
        #expect(Self.names("fault") == Self.names(of: ChappieTestServer.Fault(action: .pingBeforeEvents)))
        #expect(Self.names("errorEvent") == Self.names(of: ChappieTestServer.Fault.ErrorEvent(shape: .flat)))
        #expect(Self.names("model") == Self.names(of: ChappieTestServer.ScriptedModel()))
        #expect(Self.names("field") == Self.names(of: ChappieTestServer.Field(name: "a", value: "b")))
        #expect(Self.names("proxy") == Self.names(of: FaultProxy.Plan()))
        #expect(Self.names("proxyFault") == Self.names(of: FaultProxy.Fault(.refuse)))
    }

    /// An example of each action that the schema knows, with all of its members, is decoded.
    @Test(arguments: [("action", "fault"), ("proxyAction", "proxyFault")])
    func actionsOfTheSchemaAreDecoded(actions: String, fault: String) throws {
        guard case .object(let members)? = Self.schema["$defs"]?[actions]?["properties"] else {
            Issue.record("the schema has no \(actions)")
            return
        }
        for member in members {
            let action = Self.example(of: member.value)
            let text = #"{"action":{"\#(member.name)":\#(action)}}"#
            if fault == "fault" {
                _ = try JSONDecoder().decode(ChappieTestServer.Fault.self, from: Data(text.utf8))
            } else {
                _ = try FaultProxy.Plan(jsonText: #"{"faults":[\#(text)]}"#)
            }
        }
    }

    private static func example(of schema: JSONValue) -> String {
        if let name = schema["$ref"]?.string?.split(separator: "/").last {
            return Self.example(of: Self.schema["$defs"]?[String(name)] ?? .null)
        }
        if let word = schema["enum"]?.elements.first { return word.text }
        switch schema["type"]?.string {
        case "object":
            guard case .object(let members)? = schema["properties"] else { return "{}" }
            return "{" + members.map { #""\#($0.name)":\#(Self.example(of: $0.value))"# }.joined(separator: ",") + "}"
        case "array": return "[\(Self.example(of: schema["items"] ?? .null))]"
        case "string": return #""1""#
        case "boolean": return "true"
        default: return schema["minimum"]?.text ?? "1"
        }
    }
}
