// The demonstration's checks: they hold for the expected results only.
import Testing

@testable import ChappieCommand
@testable import ChappieTransport

private func observation(
    _ text: String, attempts: [ChappieTransportKind] = [], error: (any Error)? = nil
) -> DemoObservation {
    var report = ChappieStreamReport()
    report.attempts = attempts.enumerated().map { .init(number: $0.offset + 1, transport: $0.element) }
    var observation = DemoObservation(report: report)
    observation.textDeltas = [text]
    observation.uncutText = "the whole text"
    observation.error = error
    observation.completedCount = error == nil ? 1 : 0
    return observation
}

private func failedClaims(_ scene: DemoScene, _ turns: [DemoObservation]) -> Int {
    scene.checks(of: turns).filter { !$0.holds }.count
}

@Suite struct DemoSceneTests {
    @Test(arguments: DemoScene.allCases) func sceneWithoutObservationsFails(_ scene: DemoScene) {
        #expect(failedClaims(scene, []) == 1)
        #expect(failedClaims(scene, [DemoObservation(report: ChappieStreamReport())]) >= 2)
    }

    @Test func aTextThatDiffersFailsAScene() {
        let whole = failedClaims(.webSocketTurn, [observation("the whole text", attempts: [.webSocket])])
        let short = failedClaims(.webSocketTurn, [observation("the whole tex", attempts: [.webSocket])])
        // The server's log is empty here, so that one claim is never true.
        #expect(whole == 1)
        #expect(short == 2)
    }

    @Test func divergenceSceneRequiresTheDeliveredText() {
        let right = ChappieClientError.streamingTransportReplayDiverged("the whole")
        let wrong = ChappieClientError.streamingTransportReplayDiverged("the who")
        #expect(failedClaims(.divergence, [observation("the whole", error: right)]) == 0)
        #expect(failedClaims(.divergence, [observation("the whole", error: wrong)]) == 1)
        #expect(failedClaims(.divergence, [observation("another", error: right)]) == 2)
        #expect(failedClaims(.divergence, [observation("the whole", error: ChappieClientError.invalidResponse)]) == 2)
    }

    @Test(arguments: [nil, 120, 80, 60, 40, 10]) func linesAreAsWideAsTheTerminal(columnCount: Int?) {
        let width = min(100, max(40, columnCount ?? 100))
        let printer = DemoPrinter(style: TerminalStyle(isColored: false), columnCount: columnCount)
        for scene in DemoScene.allCases {
            let checks = [
                DemoScene.Check("What is claimed at some length about a scene, and what came out of it.", true)
            ]
            let lines = printer.text(scene, [], checks).split(separator: "\n").map(String.init)
            #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
            #expect(lines[0].hasPrefix("\(scene.rawValue)  \(scene.title.prefix(10))"))
            #expect(lines.contains { $0.hasPrefix("   ✓ What is claimed") })
            let whole = "\(scene.rawValue) \(scene.title) wire \(scene.wire) ✓ \(checks[0].claim)"
            #expect(lines.flatMap { $0.split(separator: " ") }.joined(separator: " ") == whole)
        }
    }

    @Test func theSummaryCountsTheScenes() {
        let printer = DemoPrinter(style: TerminalStyle(isColored: false))
        #expect(printer.summary(sceneCount: 4, failedCount: 0) == "All 4 came out as promised.\n")
        #expect(printer.summary(sceneCount: 4, failedCount: 1) == "1 of 4 did not come out as promised.\n")
    }
}
