import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Every scenario that comes with the test server, against the engine.
@Suite(.timeLimit(.minutes(1))) struct ScenarioTests {
    /// Scenarios whose expectation the engine does not meet yet.
    static let waiting: Set<String> = []

    @Test(arguments: ChappieTestServer.builtInScenarios.map(\.name))
    func theExpectationHolds(of name: String) async throws {
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let expectation = try #require(scenario.expectation)
        let run = try await ScenarioRun(scenario)
        withKnownIssue("waits for the engine", isIntermittent: true) {
            ScenarioCheck(run: run, expectation: expectation).check()
        } when: {
            Self.waiting.contains(name)
        }
    }

    @Test func theListOfWaitingScenariosNamesScenarios() {
        #expect(Self.waiting.isSubset(of: ChappieTestServer.builtInScenarios.map(\.name)))
    }
}
