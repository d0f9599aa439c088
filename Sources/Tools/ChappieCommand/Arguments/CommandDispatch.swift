// Selects the command, and handles what all commands share: help, colour, and the reporting of errors.
import ChappieTestServer

/// Finds and runs commands.
struct CommandDispatch: Sendable {
    /// Every command's syntax, in the order of the help.
    static let commands = [
        StreamCommand.syntax, RelayCommand.syntax, ServeCommand.syntax, SSECommand.syntax, EventsCommand.syntax,
        WebSocketCommand.syntax,
        DemoCommand.syntax, LoginCommand.syntax, LogoutCommand.syntax, WhoamiCommand.syntax, UsageCommand.syntax,
        DoctorCommand.syntax, CompletionCommand.syntax, ManualCommand.syntax,
    ]

    /// The process's environment.
    let environment: [String: String]
    /// The console for the output.
    let console: Console

    /// A command that needs asynchronous functions, and its arguments.
    struct Run: Sendable {
        fileprivate let name: String
        /// The words behind the name.
        fileprivate let words: [String]
        fileprivate let arguments: ParsedArguments
        fileprivate let console: Console
    }

    /// The beginning of a command.
    enum Beginning: Sendable {
        /// It has run to its end.
        case ended(ExitCode)
        /// It goes on by `finish(_:)`.
        case asynchronous(Run)
    }

    /// Begins the command that the words name.
    func begin(_ words: [String]) -> Beginning {
        switch words.first {
        case "--version": return .ended(self.print(PackageVersion.text()))
        case "help" where words.count > 1 && !["--help", "-h"].contains(words[1]):
            return self.begin(words[1], ["--help"])
        case "--help", "-h", "help": return .ended(self.print(self.help.text(for: Self.commands)))
        case nil:
            let help = HelpText(columnCount: self.console.errorOutput.columnCount)
            try? self.console.errorOutput.write(help.text(for: Self.commands))
            return .ended(.usage)
        case .some(let name): return self.begin(name, Array(words.dropFirst()))
        }
    }

    private var help: HelpText { HelpText(columnCount: self.console.output.columnCount) }

    private func print(_ text: String) -> ExitCode {
        do throws(DescriptorError) {
            try self.console.write(text)
            return .success
        } catch {
            return self.console.report(error, command: "")
        }
    }

    private func begin(_ name: String, _ words: [String]) -> Beginning {
        guard let syntax = Self.commands.first(where: { $0.name == name }) else {
            return .ended(self.unknownCommand(name))
        }
        do {
            let arguments = try ArgumentParser(syntax).parse(words)
            guard !arguments.has("help") else { return .ended(self.print(self.help.text(for: syntax))) }
            var console = self.console
            console.color = try arguments.choice("color") ?? .auto
            if let status = try self.runAtOnce(name, arguments, console) { return .ended(status) }
            if let shortage = ResourceShortage.current() { throw shortage }
            return .asynchronous(Run(name: name, words: words, arguments: arguments, console: console))
        } catch {
            return .ended(self.report(error, of: name, words))
        }
    }

    /// Runs a command that has begun to its end.
    func finish(_ run: Run) async -> ExitCode {
        do {
            return try await self.run(run.name, run.arguments, run.console)
        } catch {
            return self.report(error, of: run.name, run.words)
        }
    }

    private func report(_ error: any Error, of name: String, _ words: [String]) -> ExitCode {
        // The lines of a stream end with the error, also of one that has not begun.
        if name == StreamCommand.syntax.name, let line = StreamJSONPrinter.line(of: error, words: words) {
            try? self.console.write(line)
        }
        return self.console.report(error, command: name)
    }

    /// Runs a command without asynchronous functions; returns nil for those that have some.
    private func runAtOnce(
        _ name: String, _ arguments: ParsedArguments, _ console: Console
    ) throws -> ExitCode? {
        switch name {
        case SSECommand.syntax.name: try SSECommand(console: console).run(arguments)
        case WhoamiCommand.syntax.name:
            try WhoamiCommand(console: console, environment: self.environment).run(arguments)
        case CompletionCommand.syntax.name: try CompletionCommand(console: console).run(arguments)
        case ManualCommand.syntax.name: try ManualCommand(console: console).run()
        default: nil
        }
    }

    private func run(_ name: String, _ arguments: ParsedArguments, _ console: Console) async throws -> ExitCode {
        switch name {
        case StreamCommand.syntax.name:
            try await StreamCommand(console: console, environment: self.environment).run(arguments)
        case EventsCommand.syntax.name: try await EventsCommand(console: console).run(arguments)
        case RelayCommand.syntax.name:
            try await RelayCommand(console: console, environment: self.environment).run(arguments)
        case ServeCommand.syntax.name: try await ServeCommand(console: console).run(arguments)
        case WebSocketCommand.syntax.name: try await WebSocketCommand(console: console).run(arguments)
        case LoginCommand.syntax.name:
            try await LoginCommand(console: console, environment: self.environment).run(arguments)
        case LogoutCommand.syntax.name:
            try await LogoutCommand(console: console, environment: self.environment).run(arguments)
        case UsageCommand.syntax.name:
            try await UsageCommand(console: console, environment: self.environment).run(arguments)
        case DoctorCommand.syntax.name:
            try await DoctorCommand(console: console, environment: self.environment).run(arguments)
        default: try await DemoCommand(console: console).run()
        }
    }

    private func unknownCommand(_ name: String) -> ExitCode {
        self.console.complain(Self.words(forUnknown: name))
        self.console.note("Try 'chappie --help'.")
        return .usage
    }

    /// Returns the words about a first argument that is neither a command nor an option.
    static func words(forUnknown name: String) -> String {
        let isOption = name.hasPrefix("-")
        let names = isOption ? ["--help", "--version"] : Self.commands.map(\.name)
        // One letter is near to no name.
        let initial = name.count == 2 ? names.first { $0.hasPrefix("-\(name.lowercased())") } : nil
        let nearest = initial ?? EditDistance.nearest(to: name, among: names)
        return "unknown \(isOption ? "option" : "command") \(name)" + (nearest.map { "; did you mean \($0)?" } ?? "")
    }
}
