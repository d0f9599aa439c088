// Measures what a connection costs, from the socket to the consumer, each figure beside its bar and the machine's limit.
import BenchmarkResults
import CMachine
import Foundation

/// The command.
///
/// Each figure has a process of its own, so that none finds the memory and the threads of another.
@main
struct ConnectionCost {
    /// Its thread only waits: one that the main queue's runtime has ended is something that valgrind cannot bear.
    static func main() {
        cmachine_take_signals()
        Task.detached { exit(await Self.status()) }
        while true { pause() }
    }

    /// Does what was asked for; the status of the process.
    private static func status() async -> CInt {
        do {
            return try await Self.obey(Options(CommandLine.arguments.dropFirst())) ? 0 : 1
        } catch let error as UsageError {
            Self.complain("\(error.message)\n\(Options.usage)")
            return 2
        } catch {
            Self.complain("\(error)")
            return 1
        }
    }

    private static func obey(_ options: Options) async throws -> Bool {
        if options.checksOnly {
            try await EndToEndFigures.selfCheck()
            return true
        }
        if let iterations = options.iterations {
            try await iterations.run()
            return true
        }
        if let thread = options.serviceThread {
            try Descriptors.raiseLimit()
            try await thread.run()
            return true
        }
        guard let name = options.child else { return try Self.runAll(options) }
        guard let figure = Figure.all.first(where: { $0.name == name }) else { throw UsageError("no figure \(name)") }
        return try await Self.run(figure, options)
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("connection-cost: \(text)\n".utf8))
    }

    private static func runAll(_ options: Options) throws -> Bool {
        let figures = Figure.matching(options.filter).filter { !options.leftOut.contains($0.name) }
        guard !figures.isEmpty else { throw UsageError("no figure is called like '\(options.filter)'") }
        if Cores.pair == nil {
            Line.print("There is one core only: server and client share it, and no figure is exact.")
        }
        var areAllHeld = true
        for figure in figures {
            let isHeld = try ChildProcess.succeeds(Programs.own, options.arguments(forFigure: figure.name))
            if !isHeld { areAllHeld = false }
        }
        return areAllHeld
    }

    private static func run(_ figure: Figure, _ options: Options) async throws -> Bool {
        try Descriptors.raiseLimit()
        Cores.takeClientCore()
        let (readings, rounds) = try await Self.measure(figure, options)
        if let path = options.results {
            try ResultFile(path: path).append(readings.compactMap { $0.figure(rounds: rounds) })
        }
        return readings.allSatisfy(\.isHeld)
    }

    /// How often a figure is measured that seems to miss a bar: noise goes away, and what is slow does not.
    private static let rounds = 3

    private static func measure(_ figure: Figure, _ options: Options) async throws -> (readings: [Reading], rounds: Int)
    {
        var round = 1
        while true {
            let readings = try await figure.measure(options)
            Line.print("\(figure.name): \(figure.summary)\(round > 1 ? ", measured again" : "")")
            for reading in readings { Line.print(reading.line) }
            // A part of a figure has no bars: they are held against all parts.
            let isDone = options.isPart || readings.allSatisfy(\.isHeld)
            if isDone || round == Self.rounds { return (readings, round) }
            round += 1
        }
    }
}

/// The arguments mean nothing.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

/// Something came that the server did not send, or did not come.
struct WrongResultError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
