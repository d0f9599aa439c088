// A few thousand turns, and checks that a seed repeats them and that every fault occurs.

import Testing

@testable import TurnSimulation

@Suite struct TurnSimulationTests {
    @Test func thousandsOfTurnsKeepThePromise() async {
        let result = await SimulationRun(turnCount: 3_000, seed: 1).run()
        #expect(result.findings.isEmpty, "\(result.findings.map { "seed \($0.seed): \($0.violation)" })")
        #expect(result.coverage.turnCount >= 3_000)
        for fact in Self.recovery + Self.lies { #expect(result.coverage.count(of: fact) > 0, "\(fact)") }
    }

    /// The facts of recovery that thousands of turns must meet.
    private static let recovery: [SimulatedFact] = [
        .completedAfterReplay, .diverged, .hedgeLost, .hedgeWon, .upgradeParked, .recoverySentAgain, .recoveryResumed,
        .recoveryVerified, .carriedItems, .livenessCheckPassed, .livenessCheckFailed, .probe,
    ]

    /// The behaviour of few servers, or of none that is sound.
    private static let lies: [SimulatedFact] = [
        .textOnlyInClosing, .callOnlyInCompleted, .contradictingClosing, .otherAgent, .sharedIndices, .repeatedEvents,
        .lateEventsInside, .gapBesideUnnumbered, .chatter, .errorWithoutType, .outputTooLarge, .contradictoryEvents,
    ]

    @Test(arguments: [3, 1_234] as [UInt64])
    func aSeedRepeatsItsTurns(seed: UInt64) async {
        var traces: [[String]] = []
        for _ in 0..<2 {
            var run = SimulationRun(turnCount: 1, seed: seed)
            run.options.isTracing = true
            let lines = TraceBox()
            run.report = { lines.append($0) }
            _ = await run.run()
            traces.append(lines.all)
        }
        #expect(traces[0] == traces[1])
        #expect(!traces[0].isEmpty)
    }

    @Test func twoJobsSimulateAllTurns() async {
        var run = SimulationRun(turnCount: 200, seed: 7)
        run.jobCount = 2
        #expect(await run.run().coverage.turnCount >= 200)
    }
}
