// Asks the user at the terminal whether a tool may run.
import Dispatch
import PlatformC
import Synchronization

/// Asks at the terminal whether tools may run, one question at a time.
///
/// Questions appear on the terminal itself and are answered there, because standard input may be the prompt, and the
/// outputs files.
final class TerminalQuestion: Sendable {
    private struct Shown {
        let terminal: DescriptorWriter
        let line: String
    }

    /// The question that waits for an answer.
    private let shown = Mutex<Shown?>(nil)
    private let queue = DispatchQueue(label: "chappie.questions")
    private let isReversible: Bool

    /// Creates a question; `environment` describes the terminal's capabilities.
    init(environment: [String: String]) { self.isReversible = environment["TERM"] != "dumb" }

    /// The answer to a question.
    enum Answer: Equatable {
        /// The user agreed.
        case yes
        /// Another answer was given, or the input ended.
        case no
        /// There is no terminal.
        case nobody
    }

    /// Asks the user whether a tool may run, and waits for a line.
    func ask(tool: String, arguments: String) async -> Answer {
        await withCheckedContinuation { continuation in
            self.queue.async { continuation.resume(returning: self.answer(tool: tool, arguments: arguments)) }
        }
    }

    private func answer(tool: String, arguments: String) -> Answer {
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return .nobody }
        defer { _ = close(descriptor) }
        let terminal = DescriptorWriter(descriptor: descriptor)
        let words = Self.words(tool: tool, arguments: arguments, columns: terminal.columnCount ?? 80)
        let line = "\n" + (self.isReversible ? TerminalStyle.reversed(words) : words) + " "
        // Input from before the question does not answer it.
        guard tcflush(descriptor, TCIFLUSH) == 0 else { return .nobody }
        self.shown.withLock { shown in
            shown = Shown(terminal: terminal, line: line)
            try? terminal.write(line)
        }
        // A terminal gives a line at a time.
        let answer = (try? DescriptorReader(descriptor: descriptor).read(upTo: 1024)) ?? []
        self.shown.withLock { $0 = nil }
        // The end of the input leaves the cursor after the question.
        if answer.last != UInt8(ascii: "\n") { try? terminal.write("\n") }
        return Self.isYes(String(decoding: answer, as: UTF8.self)) ? .yes : .no
    }

    /// Shows the unanswered question again, because other output was written after it: an answer refers to the last
    /// line.
    func showAgain() {
        // Under the lock the terminal stays open, and an answered question is not shown.
        self.shown.withLock { shown in
            if let shown { try? shown.terminal.write(shown.line) }
        }
    }

    /// Returns the question on one line, with room for its answer: the whole name, and as much of the arguments as
    /// fits.
    static func words(tool: String, arguments: String, columns: Int) -> String {
        let (beginning, end) = ("Run \(tool.escaped(columns: 64)) with ", "? [y/N]")
        let room = columns - beginning.count - end.count - " yes ".count
        return beginning + arguments.escaped(columns: max(room, 24)) + end
    }

    /// Returns whether a line means yes: `y` or `yes`, in any case.
    static func isYes(_ line: String) -> Bool {
        ["y", "yes"].contains(line.lowercased().filter { !$0.isWhitespace })
    }
}
