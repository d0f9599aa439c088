import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Every scenario that comes with the test server, against the engine.
@Suite(.timeLimit(.minutes(1))) struct ScenarioTests {
    @Test(arguments: ChappieTestServer.builtInScenarios.map(\.name))
    func theExpectationHolds(of name: String) async throws {
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let expectation = try #require(scenario.expectation)
        let run = try await ScenarioRun(scenario)
        ScenarioCheck(run: run, expectation: expectation).check()
        run.expectNoCanaries()
    }
}
