// The outputs of a command: data to standard output, all other text to standard error.
import Chappie
import PlatformC
import WebSocketClient

/// The two outputs of the process, and the style of text on them.
struct Console: Sendable {
    /// The kind of each output.
    struct Terminals: Sendable, Equatable {
        /// Indicates whether standard output is a terminal.
        var output: Bool
        /// Indicates whether standard error is a terminal.
        var errorOutput: Bool
    }

    /// The beginning of every error message.
    static let name = "chappie:"

    /// The output for data.
    private(set) var output: DescriptorWriter
    /// The output for progress, hints and errors.
    private(set) var errorOutput: DescriptorWriter
    /// The kind of each output.
    let terminals: Terminals
    /// The environment, which determines the style.
    private let environment: [String: String]
    /// The choice of colour.
    var color = ColorChoice.auto

    /// Creates the console of the process.
    init(environment: [String: String]) {
        self.output = DescriptorWriter(descriptor: STDOUT_FILENO)
        self.errorOutput = DescriptorWriter(descriptor: STDERR_FILENO)
        self.terminals = Terminals(output: self.output.isTerminal, errorOutput: self.errorOutput.isTerminal)
        self.environment = environment
    }

    /// Returns the same console, whose blocked writes end when the closure returns an error.
    func waiting(until giveUp: @escaping @Sendable () -> DescriptorError?) -> Self {
        var console = self
        console.output.giveUp = giveUp
        console.errorOutput.giveUp = giveUp
        return console
    }

    /// The style of text on standard output.
    var outputStyle: TerminalStyle {
        TerminalStyle(
            isColored: self.color.isColored(onTerminal: self.terminals.output, environment: self.environment))
    }

    /// The style of text on standard error.
    var errorStyle: TerminalStyle {
        TerminalStyle(
            isColored: self.color.isColored(onTerminal: self.terminals.errorOutput, environment: self.environment))
    }

    /// The width of lines of words on standard output, 40 to 100 columns; nil in a pipe, where lines are not divided.
    var outputWidth: Int? {
        self.terminals.output ? HelpText.width(ofColumns: self.output.columnCount ?? 80) : nil
    }

    /// The width of lines of words on standard error, 40 to 100 columns; nil in a pipe, where lines are not divided.
    var errorWidth: Int? {
        self.terminals.errorOutput ? HelpText.width(ofColumns: self.errorOutput.columnCount ?? 80) : nil
    }

    /// Indicates whether characters beyond ASCII can be shown, by the locale of the environment.
    var isUTF8: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { self.environment[$0] }
        guard let locale = names.first(where: { !$0.isEmpty })?.lowercased() else { return false }
        return locale.contains("utf-8") || locale.contains("utf8")
    }

    /// Writes data.
    func write(_ text: String) throws(DescriptorError) { try self.output.write(text) }

    /// Writes a line to standard error; a failure is ignored, because it could not be reported.
    func note(_ line: String) { try? self.errorOutput.write(line + "\n") }

    /// Writes an error message to standard error: on one line, which is divided between words on a terminal.
    func complain(_ message: String) {
        let words = HelpText.wrapped(message.onOneLine(), behind: Self.name.count + 1, width: self.errorWidth)
        self.note(self.errorStyle.red(Self.name) + " " + words)
    }

    /// Returns the line of a server's message, in a form that differs from the lines of this program.
    ///
    /// A width divides it between words; nil does not.
    static func line(ofServer message: String, width: Int?) -> String {
        "  " + HelpText.wrapped("the server says: " + message.onOneLine(), behind: 4, width: width) + "\n"
    }

    private func show(ofServer message: String) {
        try? self.errorOutput.write(Self.line(ofServer: message, width: self.errorWidth))
    }

    /// Reports the reason for which a command cannot continue, and returns its exit code.
    func report(_ error: any Error, command: String) -> ExitCode {
        switch error {
        case let error as UsageError:
            self.complain(error.message)
            self.note("Try 'chappie \(command) --help'.")
        // `chappie … | head` is not an error: the reader has ended.
        case DescriptorError.closed: return .success
        case let error as ChappieClientError:
            self.complain(error.safeDescription)
            if let message = error.serverMessage { self.show(ofServer: message) }
        case let error as WebSocketError:
            try? self.errorOutput.write(error.lines.text(style: self.errorStyle, width: self.errorWidth))
        case let error where ResourceShortage(error) != nil:
            let facts = FailureFacts(error)
            let category = facts.category.map { "category \($0.rawValue)" }
            let lines = FailureLines(
                problem: facts.safeDescription, facts: [facts.tag, category].compactMap(\.self) + ["may succeed later"])
            try? self.errorOutput.write(lines.text(style: self.errorStyle, width: self.errorWidth))
        default: self.complain(FailureFacts(error).safeDescription)
        }
        return ExitCode(error)
    }
}
