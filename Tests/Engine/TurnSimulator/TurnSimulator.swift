// `turn-simulator`: millions of turns against a server that rolls dice.

import Foundation
import PromiseRecord
import TurnSimulation

/// The command: reads the arguments, runs the turns, says what came of them.
@main
enum TurnSimulator {
    /// A run that meets fewer turns than this one may miss a fault by chance.
    private static let turnCountThatMeetsEverything = 100_000

    static func main() async {
        guard let run = SimulationRun(arguments: Array(CommandLine.arguments.dropFirst())) else {
            print(
                "usage: turn-simulator [--turns N] [--seed S] [--jobs J] [--trace] "
                    + "[--without FAULT]... [--keep-going] [--quiet] [--record FILE] [--record-every N]")
            exit(2)
        }
        CrashReport.install()
        let isQuiet = CommandLine.arguments.contains("--quiet")
        let start = ContinuousClock.now
        let result = await run.run()
        self.printSummary(of: result, after: ContinuousClock.now - start, isQuiet: isQuiet)
        for finding in result.findings {
            print("seed \(finding.seed) breaks the promise: \(finding.violation)")
            print("replay: \(CrashReport.command(seed: finding.seed))")
        }
        let missing = result.coverage.missing(run.options)
        if result.coverage.turnCount >= self.turnCountThatMeetsEverything, result.findings.isEmpty, !missing.isEmpty {
            print("never met: \(missing.joined(separator: ", "))")
            exit(1)
        }
        exit(result.findings.isEmpty ? 0 : 1)
    }

    private static func printSummary(of result: SimulationRun.Result, after duration: Duration, isQuiet: Bool) {
        let (whole, attoseconds) = duration.components
        let seconds = Double(whole) + Double(attoseconds) / 1e18
        let coverage = result.coverage
        if !isQuiet { print(coverage.table) }
        print(
            "\(coverage.turnCount) turns, \(coverage.stepCount) steps in \(String(format: "%.1f", seconds)) s: "
                + "\(Int(Double(coverage.turnCount) / seconds)) turns/s, "
                + "\(Int(Double(coverage.stepCount) / seconds)) steps/s")
    }
}

extension SimulationRun {
    /// Reads arguments; nil when they cannot be read.
    fileprivate init?(arguments: [String]) {
        self.init(turnCount: 100_000, seed: 1)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--turns":
                guard let count = rest.popFirst().flatMap({ Int($0) }) else { return nil }
                self.turnCount = count
            case "--seed":
                guard let seed = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
                self.seed = seed
            case "--jobs":
                guard let count = rest.popFirst().flatMap({ Int($0) }), count > 0 else { return nil }
                self.jobCount = count
            case "--trace":
                self.options.isTracing = true
                self.report = { print($0.joined(separator: "\n")) }
            case "--without":
                guard let name = rest.popFirst(), SimulationOptions.isFault(name) else { return nil }
                self.options.withoutFaults.insert(name)
            case "--record":
                guard let file = rest.popFirst().flatMap({ PromiseRecordFile(path: $0) }) else { return nil }
                self.records = file
            case "--record-every":
                guard let stride = rest.popFirst().flatMap({ Int($0) }), stride > 0 else { return nil }
                self.recordStride = stride
            case "--keep-going": self.keepsGoing = true
            case "--quiet": break
            default: return nil
            }
        }
    }
}

/// Says which seed was running when the engine trapped.
enum CrashReport {
    /// Catches the signals of a trap.
    static func install() {
        for signalNumber in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE] {
            signal(signalNumber) { number in
                let seed = SimulationScheduler.current?.seed ?? 0
                let text = "signal \(number) in seed \(seed)\nreplay: \(CrashReport.command(seed: seed))\n"
                _ = text.withCString { write(2, $0, strlen($0)) }
                _exit(1)
            }
        }
    }

    /// The command that runs one series again.
    static func command(seed: UInt64) -> String {
        let arguments = CommandLine.arguments
        let without = zip(arguments, arguments.dropFirst()).filter { $0.0 == "--without" }
        return (["turn-simulator --seed \(seed) --turns 1 --trace"] + without.map { "--without \($0.1)" })
            .joined(separator: " ")
    }
}
