// Measures the costs of a connection, from the socket to the consumer, each figure beside its bar.
import BenchmarkResults
import CMachine
import Dispatch
import Foundation

/// The command.
///
/// Each figure has a process of its own, so that none finds the memory and the threads of another.
@main
struct ConnectionCost {
    /// Runs the command in a task.
    ///
    /// Where instructions are counted, the main thread only waits: valgrind fails when the main queue's runtime ends
    /// that thread. Otherwise the main actor has consumers.
    static func main() {
        cmachine_take_signals()
        Task.detached { exit(await Self.status()) }
        if CommandLine.arguments.contains("--iterations") {
            while true { pause() }
        }
        dispatchMain()
    }

    /// Runs the command; returns the status of the process.
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
        switch options.command {
        case .selfCheck: try await EndToEndFigures.selfCheck()
        case .iterate(let iterations): try await iterations.run()
        case .peer(let task, let way): try await PeerTask.run(task, by: way)
        case .fill(let streamCount, let stream): try await MemoryFigures.fill(streamCount, stream)
        case .measure(figure: nil): return try Self.runAll(options)
        case .measure(let name?):
            guard let figure = Figure.all.first(where: { $0.name == name }) else {
                throw UsageError("no figure \(name)")
            }
            return try await Self.run(figure, options)
        }
        return true
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("connection-cost: \(text)\n".utf8))
    }

    private static func runAll(_ options: Options) throws -> Bool {
        let figures = Figure.matching(options.filter)
        guard !figures.isEmpty else { throw UsageError("no figure has '\(options.filter)' in its name") }
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
        Descriptors.raiseLimit()
        Cores.takeClientCore()
        Line.print("\(figure.name): \(figure.summary)")
        let readings = try await figure.measure(options.repetitions)
        for reading in readings { Line.print(reading.line) }
        if let path = options.results { try ResultFile(path: path).append(readings.map(\.figure)) }
        return readings.allSatisfy(\.isHeld)
    }
}

/// The arguments are not those of the command.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

/// A result that differs from the data that the server sent.
struct WrongResultError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
