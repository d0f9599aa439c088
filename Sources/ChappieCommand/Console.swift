// Where a command writes: data to standard output, everything else to standard error.
import Chappie

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The two outputs of the process, and how text looks on them.
struct Console: Sendable {
    /// What kind of reader each output has.
    struct Terminals: Sendable, Equatable {
        /// Indicates whether a person reads standard output.
        var output: Bool
        /// Indicates whether a person reads standard error.
        var errorOutput: Bool
    }

    /// Data.
    private(set) var output: DescriptorWriter
    /// Progress, hints and errors.
    private(set) var errorOutput: DescriptorWriter
    /// What kind of reader each output has.
    let terminals: Terminals
    /// How many columns each output has.
    private let environment: [String: String]
    /// When to colour.
    var color = ColorChoice.auto

    /// The process's own.
    init(environment: [String: String]) {
        self.output = DescriptorWriter(descriptor: STDOUT_FILENO)
        self.errorOutput = DescriptorWriter(descriptor: STDERR_FILENO)
        self.terminals = Terminals(output: self.output.isTerminal, errorOutput: self.errorOutput.isTerminal)
        self.environment = environment
    }

    /// The same, whose writes end when nobody makes room for them and the closure says why not to wait any longer.
    func waiting(until giveUp: @escaping @Sendable () -> DescriptorError?) -> Self {
        var console = self
        console.output.giveUp = giveUp
        console.errorOutput.giveUp = giveUp
        return console
    }

    /// How text looks on standard output.
    var outputStyle: TerminalStyle {
        TerminalStyle(
            isColored: self.color.isColored(onTerminal: self.terminals.output, environment: self.environment))
    }

    /// How text looks on standard error.
    var errorStyle: TerminalStyle {
        TerminalStyle(
            isColored: self.color.isColored(onTerminal: self.terminals.errorOutput, environment: self.environment))
    }

    /// Indicates whether characters beyond ASCII can be shown: the locale of the environment says so.
    var isUTF8: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { self.environment[$0] }
        guard let locale = names.first(where: { !$0.isEmpty })?.lowercased() else { return false }
        return locale.contains("utf-8") || locale.contains("utf8")
    }

    /// Writes data.
    func write(_ text: String) throws(DescriptorError) { try self.output.write(text) }

    /// Writes a line to standard error; there is nobody left to tell when that fails.
    func note(_ line: String) { try? self.errorOutput.write(line + "\n") }

    /// Writes what went wrong to standard error, on one line.
    func complain(_ message: String) { self.note(self.errorStyle.red("chappie:") + " " + message.onOneLine()) }

    /// Says why a command cannot go on, and gives the exit code for it.
    func report(_ error: any Error, command: String) -> ExitCode {
        switch error {
        case let error as UsageError:
            self.complain(error.message)
            self.note("Try 'chappie \(command) --help'.")
        // `chappie … | head` is no error: whoever reads has had enough.
        case DescriptorError.closed: return .success
        case let error as DescriptorError: self.complain("input or output failed: \(error.message)")
        case let error as SignedOutError: self.complain(error.message)
        case let error as ChappieCredentialStorageError: self.complain(error.safeDescription)
        case is CancellationError: self.complain("interrupted")
        case let error as ChappieClientError:
            self.complain(error.safeDescription)
            if let message = error.serverMessage { self.note("  the server says: \(message.onOneLine())") }
        case let error as ChappieAuthError: self.complain(error.safeDescription)
        default: self.complain("an unexpected error; please report it")
        }
        return ExitCode(error)
    }
}
