import Foundation
import Testing

@testable import ChappieTestServer

/// The scenario files are complete and readable, and have only known members.
@Suite struct ScenarioFileTests {
    typealias Scenario = ChappieTestServer.Scenario

    /// Reads the files in the folder.
    private static func files() throws -> [[UInt8]] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../Sources/Tools/ChappieTestServer/Scenarios").standardized
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
            .map { [UInt8](try Data(contentsOf: folder.appending(path: $0))) }
    }

    @Test func everyFileIsListed() throws {
        let files = try Self.files()
        #expect(files.count > 10)
        #expect(ChappieTestServer.scenarioFiles.count == files.count)
        // A Boolean, because a failure would print every byte of the files.
        let isEveryFileListed = Set(ChappieTestServer.scenarioFiles) == Set(files)
        #expect(isEveryFileListed)
    }

    @Test func everyNameIsGivenOnce() {
        let scenarios = ChappieTestServer.builtInScenarios
        #expect(scenarios.count > 200)
        #expect(Set(scenarios.map(\.name)).count == scenarios.count)
        #expect(ChappieTestServer.builtInScenario(named: "hs-426")?.faults.count == 1)
        #expect(ChappieTestServer.builtInScenario(named: "nothing") == nil)
    }

    @Test func everyScenarioHasAnExpectationForEachTurn() {
        for scenario in ChappieTestServer.builtInScenarios {
            let count = scenario.expectation?.turns.count
            #expect(count == (scenario.turns?.count ?? 1), "\(scenario.name)")
        }
    }

    @Test func summariesAreSentences() {
        for family in ChappieTestServer.builtInScenarioFamilies {
            for sentence in [family.description] + family.scenarios.map(\.summary) {
                #expect(sentence.first?.isUppercase == true && sentence.hasSuffix("."), "\(sentence)")
            }
            for scenario in family.scenarios {
                let verb = scenario.summary.prefix { $0 != " " }
                #expect(verb.hasSuffix("s"), "\(scenario.name) does not begin with what the server does")
            }
        }
    }

    @Test func everyMemberOfAScenarioFileIsKnown() throws {
        let members: Set = ["title", "description", "defaults", "scenarios"]
        let least = try #require(
            JSONValue(Array(#"{"name":"n","summary":"s","server":{"faults":[]},"expectation":{"turns":[]}}"#.utf8)))
        for bytes in try Self.files() {
            let file = try #require(JSONValue(bytes))
            guard case .object(let ownMembers) = file else {
                Issue.record("not an object")
                continue
            }
            #expect(members.isSuperset(of: ownMembers.map(\.name)))
            let rows = try #require(ChappieTestServer.ScenarioFamily.rows(of: file))
            #expect(!rows.isEmpty)
            // A default counts even where every row replaces it.
            for row in rows + (file["defaults"].map { [least.merging($0)] } ?? []) {
                let scenario = try Scenario(jsonText: row.text)
                let understood = try #require(JSONValue(Array(scenario.jsonText.utf8)))
                #expect(row.missing(from: understood) == [], "\(scenario.name)")
            }
            // A null that removes nothing is a member's misspelt name.
            guard case .array(let ownRows)? = file["scenarios"] else { continue }
            for row in ownRows {
                #expect(row.nulls(without: file["defaults"] ?? .object([])) == [], "\(row["name"]?.string ?? "")")
            }
        }
    }

    @Test func scenariosSurviveTheirJSONForm() throws {
        for scenario in ChappieTestServer.builtInScenarios {
            #expect(try Scenario(jsonText: scenario.jsonText) == scenario)
        }
    }

    @Test func membersWithDefaultsMayBeOmitted() throws {
        let scenario = try Scenario(
            jsonText: """
                {"name":"n","summary":"s","server":{"model":{"seed":4},
                 "faults":[{"lastAttempt":2,"transport":"http","action":{"cut":{"afterByte":7}}},
                           {"action":{"wrongAcceptKey":{}}}]}}
                """)
        #expect(scenario.server.model == ChappieTestServer.ScriptedModel(seed: 4))
        #expect(scenario.faults.map { $0.applies(toAttempt: 2, transport: .http) } == [true, true])
        #expect(scenario.faults.map { $0.applies(toAttempt: 3, transport: .http) } == [false, true])
        #expect(scenario.faults.map { $0.applies(toAttempt: 2, transport: .webSocket) } == [false, true])
        #expect(throws: (any Error).self) { try Scenario(jsonText: "{}") }
    }

    @Test(arguments: [
        "null", "true", "-7", "18446744073709551615", "2.5", "\"a\\n\\u0000é\"", "[1,[],{}]",
        "{\"a\":{\"b\":[null,false]}}",
    ])
    func anyJSONStandsInAFile(text: String) throws {
        let json = try JSONDecoder().decode(Scenario.JSONText.self, from: Data(text.utf8))
        #expect(json.text == Scenario.JSONText(text)?.text)
        let encoded = try JSONEncoder().encode(json)
        #expect(JSONValue([UInt8](encoded))?.sorted == JSONValue(Array(text.utf8))?.sorted)
    }

    @Test func textThatIsNotJSONIsRejected() {
        #expect(Scenario.JSONText("{") == nil)
    }

    @Test func theServersPartBecomesAConfiguration() throws {
        let scenario = try Scenario(
            jsonText: """
                {"name":"n","summary":"s","server":{"faults":[],"responses":[[{"type":"a"}]],"certificate":"expired",
                 "acceptsDeflate":true,"contentCoding":"gzip","bytesPerWrite":3,"lineEnding":"cr","acceptedTokens":["t"],
                 "keepaliveInterval":1,"commentInterval":2,"pingInterval":3,"connectionLifetime":4,
                 "maximumMessageByteCount":5,"limitEvents":"always","resumeLifetime":6,"responseLifetime":7,
                 "eventsPerSecond":8}}
                """)
        let configuration = ChappieTestServer.Configuration(scenario: scenario)
        guard case .recordings(let recordings) = configuration.model else {
            Issue.record("not recordings")
            return
        }
        #expect(recordings == [["{\"type\":\"a\"}"]])
        #expect(configuration.tls?.certificate == .expired)
        #expect(configuration.messageCompression == .deflate(.init()))
        #expect(configuration.contentCoding == .gzip && configuration.lineEnding == .carriageReturn)
        guard case .bytes(3) = configuration.writeMode else {
            Issue.record("not sliced")
            return
        }
        #expect(configuration.acceptedTokens == ["t"])
        #expect(configuration.keepaliveInterval == .seconds(1) && configuration.commentInterval == .seconds(2))
        #expect(configuration.pingInterval == .seconds(3) && configuration.connectionLifetime == .seconds(4))
        #expect(configuration.maximumMessageByteCount == 5 && configuration.limitEvents == .always)
        #expect(configuration.resumeLifetime == .seconds(6) && configuration.responseLifetime == .seconds(7))
        #expect(configuration.eventsPerSecond == 8)
    }
}

extension JSONValue {
    /// The paths of nulls that remove nothing from other defaults.
    fileprivate func nulls(without defaults: JSONValue?, at path: String = "") -> [String] {
        guard case .object(let members) = self else { return [] }
        return members.flatMap { member -> [String] in
            let place = path + "." + member.name
            if member.value == .null { return defaults?[member.name] == nil ? [place] : [] }
            return member.value.nulls(without: defaults?[member.name], at: place)
        }
    }

    /// The paths of members that this value has and another one lacks.
    fileprivate func missing(from other: JSONValue?, at path: String = "") -> [String] {
        switch self {
        case .object(let members):
            members.flatMap { member -> [String] in
                let place = path + "." + member.name
                guard let value = other?[member.name] else { return member.value == .null ? [] : [place] }
                return member.value.missing(from: value, at: place)
            }
        case .array(let elements):
            zip(elements, elements.indices).flatMap { element, index in
                let others = other?.elements ?? []
                return index < others.count
                    ? element.missing(from: others[index], at: path + "[\(index)]") : [path + "[\(index)]"]
            }
        case .null, .bool, .number, .string: self.sorted == other?.sorted ? [] : [path]
        }
    }
}
