// What recovery costs: how soon text comes when a WebSocket does not, how soon a dead peer and a cancellation are
// noticed, how much of an event's decoding its verification costs, and what a loop of tool calls uploads. Everything on
// loopback.
import ChappieTestServer
import ChappieTransport
import Foundation

/// Measures everything, prints a table, and fails when a figure is past its bound.
@main struct RecoveryFigures {
    static func main() async throws {
        let runs = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 40
        Self.print(Figure.heading)
        var areAllHeld = true
        func report(_ figure: Figure) {
            Self.print(figure.line)
            if !figure.isHeld { areAllHeld = false }
        }
        let roundTrip = try await FirstText.roundTrip(runs: runs)
        report(roundTrip)
        for figure in try await FirstText.refusedUpgrades(runs: runs, roundTrip: roundTrip.median) { report(figure) }
        for figure in try await FirstText.blackHoles(runs: runs, roundTrip: roundTrip.median) { report(figure) }
        report(try await DeadPeer.found(runs: max(5, runs / 4)))
        report(try await Cancellation.closed(runs: runs * 5))
        report(VerificationCost.measured())
        for figure in try await ToolLoop.uploaded() { report(figure) }
        if !areAllHeld { exit(1) }
    }

    /// At once, also into a pipe.
    private static func print(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
