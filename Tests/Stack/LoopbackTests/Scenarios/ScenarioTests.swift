import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Every scenario that comes with the test server, against the engine.
///
/// A few at a time, because most of a scenario's time is spent waiting.
@Suite(.timeLimit(.minutes(10))) struct ScenarioTests {
    /// The number of concurrent scenarios.
    private static let width = 8

    @Test func everyExpectationHolds() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, scenario) in ChappieTestServer.builtInScenarios.enumerated() {
                if index >= Self.width { try await group.next() }
                group.addTask {
                    let expectation = try #require(scenario.expectation)
                    let run = try await ScenarioRun(scenario)
                    ScenarioCheck(run: run, expectation: expectation).check()
                    run.expectNoCanaries()
                }
            }
            try await group.waitForAll()
        }
    }
}
