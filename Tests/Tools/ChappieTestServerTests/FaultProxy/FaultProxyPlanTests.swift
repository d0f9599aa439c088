// Plans as JSON, and what is wrong with them.
import Testing

@testable import ChappieTestServer

private typealias Plan = FaultProxy.Plan

/// A plan of one fault, as JSON.
private func plan(action: String, _ rest: String = "") throws(FormError) -> FaultProxy.Plan {
    try FaultProxy.Plan(jsonText: #"{"faults":[{"action":\#(action)\#(rest)}]}"#)
}

@Suite struct FaultProxyPlanTests {
    @Test(arguments: [
        (#"{"cut":{"atByte":0}}"#, FaultProxy.Fault(.cut(atByte: 0))),
        (
            #"{"reset":{"atByte":7}},"firstConnection":1,"lastConnection":1,"direction":"toServer""#,
            .init(.cut(atByte: 7, with: .reset), connections: 1...1, direction: .toServer)
        ),
        (
            #"{"halfOpen":{"atByte":1099511627776}},"firstConnection":3"#, .init(.halfOpen(atByte: 1 << 40), from: 3)
        ),
        (#"{"stall":{"atByte":5}}"#, .init(.stall(atByte: 5))),
        (#"{"stall":{"atByte":5,"seconds":1.5}}"#, .init(.stall(atByte: 5, for: .milliseconds(1500)))),
        (#"{"slice":{"byteCount":1}}"#, .init(.slice(byteCount: 1))),
        (
            #"{"slice":{"byteCount":9,"fromByte":2}},"direction":"toServer""#,
            .init(.slice(byteCount: 9, fromByte: 2), direction: .toServer)
        ),
        (#"{"throttle":{"bytesPerSecond":0.5}}"#, .init(.throttle(bytesPerSecond: 0.5))),
        (
            #"{"throttle":{"bytesPerSecond":1000,"fromByte":4}},"direction":"toClient""#,
            .init(.throttle(bytesPerSecond: 1000, fromByte: 4))
        ),
        (
            #"{"corrupt":{"atByte":3,"mask":1}},"firstConnection":2,"lastConnection":9"#,
            .init(.corrupt(atByte: 3, mask: 1), connections: 2...9)
        ),
        (#"{"refuse":{}}"#, .init(.refuse)), (#"{"silence":{}}"#, .init(.silence)),
        (#"{"delay":{"seconds":2}}"#, .init(.delay(.seconds(2)))), (#"{"delay":{"seconds":0}}"#, .init(.delay(.zero))),
    ])
    func everyActionIsReadFromItsJSON(_ action: String, fault: FaultProxy.Fault) throws {
        #expect(try Plan(jsonText: #"{"faults":[{"action":\#(action)}]}"#) == Plan([fault]))
    }

    @Test func omittedMembersHaveTheirDefaults() throws {
        let fault = try #require(try plan(action: #"{"corrupt":{"atByte":4}}"#).faults.first)
        #expect(fault == .init(.corrupt(atByte: 4, mask: 0xFF), from: 1, direction: .toClient))
        #expect(try Plan(jsonText: #"{"faults":[]}"#).faults.isEmpty)
    }

    @Test func aScenarioFileMayHaveAPlan() throws {
        #expect(try Plan(scenarioText: #"{"name":"x","faults":[]}"#) == nil)
        #expect(
            try Plan(scenarioText: #"{"name":"x","proxy":{"faults":[{"action":{"refuse":{}}}]}}"#)
                == Plan([.init(.refuse)]))
        #expect(throws: FormError(member: "proxy.faults[0].action.cut.atByte", problem: .missing)) {
            try Plan(scenarioText: #"{"proxy":{"faults":[{"action":{"cut":{}}}]}}"#)
        }
        #expect(
            throws: FormError(
                member: "proxy.faults[0].action.cut.atByte", problem: .outOfRange(expected: "at least 0"))
        ) { try Plan(scenarioText: #"{"proxy":{"faults":[{"action":{"cut":{"atByte":-1}}}]}}"#) }
    }

    @Test(arguments: [
        (#"{"cut":{"atByte":-1}}"#, "cut.atByte"), (#"{"reset":{"atByte":-1}}"#, "reset.atByte"),
        (#"{"halfOpen":{"atByte":-1}}"#, "halfOpen.atByte"), (#"{"stall":{"atByte":-1}}"#, "stall.atByte"),
        (#"{"stall":{"atByte":1,"seconds":-0.5}}"#, "stall.seconds"),
        (#"{"stall":{"atByte":1,"seconds":1e300}}"#, "stall.seconds"),
        (#"{"slice":{"byteCount":0}}"#, "slice.byteCount"),
        (#"{"slice":{"byteCount":1,"fromByte":-1}}"#, "slice.fromByte"),
        (#"{"throttle":{"bytesPerSecond":0}}"#, "throttle.bytesPerSecond"),
        (#"{"throttle":{"bytesPerSecond":-3}}"#, "throttle.bytesPerSecond"),
        (#"{"throttle":{"bytesPerSecond":9,"fromByte":-1}}"#, "throttle.fromByte"),
        (#"{"corrupt":{"atByte":-1}}"#, "corrupt.atByte"), (#"{"corrupt":{"atByte":1,"mask":0}}"#, "corrupt.mask"),
        (#"{"delay":{"seconds":-1}}"#, "delay.seconds"), (#"{"delay":{"seconds":31536001}}"#, "delay.seconds"),
    ])
    func impossibleNumbersAreRefusedByName(_ action: String, member: String) {
        let error = #expect(throws: FormError.self) { try plan(action: action) }
        #expect(error?.member == "faults[0].action.\(member)")
        if case .outOfRange = error?.problem {} else { Issue.record("\(String(describing: error))") }
    }

    @Test(arguments: [
        (#"{"cut":{}}"#, "", "action.cut.atByte", FormFault.Problem.missing),
        (#"{"slice":{}}"#, "", "action.slice.byteCount", .missing),
        (#"{"throttle":{}}"#, "", "action.throttle.bytesPerSecond", .missing),
        (#"{"delay":{}}"#, "", "action.delay.seconds", .missing),
        (#"{"cut":{"atByte":1,"atBite":2}}"#, "", "action.cut.atBite", .unknown),
        (#"{"cut":{"atByte":1,"seconds":2}}"#, "", "action.cut.seconds", .unknown),
        (#"{"refuse":{"atByte":1}}"#, "", "action.refuse.atByte", .unknown),
        (#"{"explode":{"atByte":1}}"#, "", "action.explode", .unknown),
        (
            #"{"cut":{"atByte":1},"reset":{"atByte":1}}"#, "", "action",
            .wrongType(expected: "an object with one member")
        ),
        (#"{}"#, "", "action", .wrongType(expected: "an object with one member")),
        (#"{"cut":{"atByte":"1"}}"#, "", "action.cut.atByte", .wrongType(expected: "a whole number")),
        (#"{"cut":{"atByte":null}}"#, "", "action.cut.atByte", .missing),
        (
            #"{"corrupt":{"atByte":1,"mask":256}}"#, "", "action.corrupt.mask",
            .outOfRange(expected: "from 1 to 255")
        ),
        (#"{"cut":{"atByte":1.5}}"#, "", "action.cut.atByte", .wrongType(expected: "a whole number")),
        (#"{"cut":{"atByte":1e30}}"#, "", "action.cut.atByte", .wrongType(expected: "a whole number")),
        (
            #"{"throttle":{"bytesPerSecond":1e999}}"#, "", "action.throttle.bytesPerSecond",
            .wrongType(expected: "a number")
        ),
        (#"{"cut":null}"#, "", "action.cut", .wrongType(expected: "an object")),
        (#"{"cut":7}"#, "", "action.cut", .wrongType(expected: "an object")),
        (#"7"#, "", "action", .wrongType(expected: "an object")),
        (#"{"refuse":{}}"#, #","direction":"toServer""#, "direction", .notApplicable),
        (#"{"cut":{"atByte":1}}"#, #","direction":"up""#, "direction", .outOfRange(expected: "toServer or toClient")),
        (#"{"cut":{"atByte":1}}"#, #","firstConnection":0"#, "firstConnection", .outOfRange(expected: "at least 1")),
        (
            #"{"cut":{"atByte":1}}"#, #","firstConnection":3,"lastConnection":2"#, "lastConnection",
            .outOfRange(expected: "at least firstConnection")
        ),
        (#"{"cut":{"atByte":1}}"#, #","connections":2"#, "connections", .unknown),
    ])
    func invalidPlanNamesItsMemberAndProblem(
        _ action: String, rest: String, member: String, problem: FormFault.Problem
    ) {
        let error = #expect(throws: FormError.self) { try plan(action: action, rest) }
        #expect(error?.member == "faults[0].\(member)")
        #expect(error?.problem == problem)
        #expect(error?.faults.count == 1)
    }

    @Test func allFaultsOfAPlanAreReported() {
        let text = #"""
            {"fauts":[],"faults":[{"action":{"cut":{"atByte":1}},"firstConnection":3,"lastConnection":2},
             {"acton":1},{"action":{"cut":{"atBite":1}},"direction":"toSever"},
             {"action":{"refuse":{}},"direction":"toServer"},{"action":{"stal":{}}},
             {"action":{"slice":{"byteCount":0,"fromByte":-1}}}]}
            """#
        let faults = [
            "fauts is unknown; did you mean faults?",
            "faults[1].acton is unknown; did you mean action?", "faults[1].action is missing",
            "faults[2].action.cut.atBite is unknown; did you mean atByte?", "faults[2].action.cut.atByte is missing",
            #"faults[2].direction needs one of toServer, toClient, not "toSever"; did you mean toServer?"#,
            "faults[4].action.stal is unknown; did you mean stall?",
            "faults[5].action.slice.byteCount must be at least 1", "faults[5].action.slice.fromByte must be at least 0",
            "faults[0].lastConnection must be at least firstConnection",
            "faults[3].direction does not apply to this action",
        ]
        let error = #expect(throws: FormError.self) { try Plan(jsonText: text) }
        #expect(error?.faults == faults)
        #expect(error?.member == "fauts")
        #expect(error?.problem == .unknown)
        #expect(error?.description.hasPrefix("fauts is unknown; did you mean faults? faults[1].acton") == true)
        let ofScenario = #expect(throws: FormError.self) { try Plan(scenarioText: #"{"proxy":\#(text)}"#) }
        #expect(ofScenario?.faults == faults.map { "proxy.\($0)" })
    }

    @Test func impossiblePlanReportsAllItsNumbers() {
        let error = #expect(throws: FormError.self) {
            try Plan([.init(.corrupt(atByte: -1, mask: 0)), .init(.refuse, from: 0)]).validate()
        }
        #expect(
            error?.faults == [
                "faults[0].action.corrupt.mask must be from 1 to 255",
                "faults[0].action.corrupt.atByte must be at least 0", "faults[1].firstConnection must be at least 1",
            ])
    }

    @Test func invalidPlanIsRejectedWithItsMember() {
        #expect(throws: FormError(member: "", problem: .notJSON)) { try Plan(jsonText: "cut@4") }
        #expect(throws: FormError(member: "", problem: .notJSON)) { try Plan(jsonText: "") }
        #expect(throws: FormError(member: "faults", problem: .missing)) { try Plan(jsonText: "{}") }
        #expect(throws: FormError(member: "", problem: .wrongType(expected: "an object"))) {
            try Plan(scenarioText: "[]")
        }
        #expect(throws: FormError(member: "faults", problem: .wrongType(expected: "an array"))) {
            try Plan(jsonText: #"{"faults":{}}"#)
        }
        #expect(throws: FormError(member: "faults[0].action", problem: .missing)) {
            try Plan(jsonText: #"{"faults":[{}]}"#)
        }
    }

    @Test func errorDescriptionNamesTheMember() {
        let error = FormError(member: "faults[2].action.cut.atByte", problem: .outOfRange(expected: "at least 0"))
        #expect(error.description == "faults[2].action.cut.atByte must be at least 0")
        #expect(FormError(member: "", problem: .notJSON).description == "the text is not JSON")
    }

    @Test func aProxyDoesNotStartWithAnImpossiblePlan() {
        let plan = Plan([.init(.refuse), .init(.slice(byteCount: 0))])
        #expect(
            throws: FormError(
                member: "faults[1].action.slice.byteCount", problem: .outOfRange(expected: "at least 1"))
        ) { try FaultProxy(upstream: .init(host: "127.0.0.1", port: 9), plan: plan) }
        for rate in [Double.nan, .infinity, 0] {
            #expect(throws: FormError.self) { try Plan([.init(.throttle(bytesPerSecond: rate))]).validate() }
        }
    }

    @Test func faultsApplyToTheirConnectionsOnly() {
        let numbers = { (fault: FaultProxy.Fault) in (1...6).filter(fault.applies(toConnection:)) }
        #expect(numbers(.init(.refuse)) == [1, 2, 3, 4, 5, 6])
        #expect(numbers(.init(.refuse, from: 4)) == [4, 5, 6])
        #expect(numbers(.init(.refuse, connections: 2...3)) == [2, 3])
    }
}
