// Many streams at once over real sockets, for as long as one likes, with consumers that stop and start reading.
//
// The main task owns everything here.
import Foundation

/// The command `soak`.
@main
struct SoakCommand {
    static func main() async {
        do {
            let options = try SoakOptions(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp { return Console.line(SoakOptions.usage) }
            // A peer that is gone is an error of the call, and no signal.
            signal(SIGPIPE, SIG_IGN)
            exit(try await Self.run(options) ? 0 : 1)
        } catch let problem as SoakOptions.Problem {
            Console.line("\(problem)\n\(SoakOptions.usage)")
            exit(2)
        } catch {
            Console.line("soak: \(error)")
            exit(1)
        }
    }

    /// Soaks; whether everything was as it should be.
    private static func run(_ options: SoakOptions) async throws -> Bool {
        // A short run first makes what is made once, before resources are counted.
        try await Self.warmUp(options)
        let before = try await ProcessUse.atRest(notAbove: nil)
        let record = SoakRecord(others: options.kind.others)
        let violations: [String]
        do {
            let streams = try options.kind.init()
            violations = try await SoakRunner(options, streams: streams, record: record).run() + streams.violations
        }
        let after = try await ProcessUse.atRest(notAbove: before)
        Console.line("\(record.counts)")
        Console.line("at the beginning: \(before); at the end: \(after)")
        let final =
            violations + record.counts.omissions(seconds: options.seconds) + after.violations(since: before)
        for violation in final { Console.line("VIOLATION: \(violation)") }
        let count = record.violations.count + final.count
        Console.line("soak: \(count == 0 ? "nothing was lost, stuck or kept" : "\(count) violations")")
        return count == 0
    }

    private static func warmUp(_ options: SoakOptions) async throws {
        let streams = try options.kind.init()
        let record = SoakRecord(others: [])
        await streams.warmUp(seed: options.seed, record)
        if let violation = record.violations.first { throw SoakOptions.Problem(description: violation) }
    }
}

/// Output that is there at once, also in a pipe.
enum Console {
    static func line(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
