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
        let callID: String
        let terminal: DescriptorWriter
        let line: String
    }

    private struct State {
        /// The calls about which it is still to be asked, or is.
        var openCalls: Set<String> = []
        /// The question that waits for an answer.
        var shown: Shown?
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "chappie.questions")
    private let isReversible: Bool
    /// See `DescriptorWriter.giveUp`.
    private let giveUp: @Sendable () -> DescriptorError?

    /// Creates a question; `environment` describes the terminal's capabilities, and writes to it that are blocked end
    /// when the closure returns an error.
    init(environment: [String: String], giveUp: @escaping @Sendable () -> DescriptorError?) {
        self.isReversible = environment["TERM"] != "dumb"
        self.giveUp = giveUp
    }

    /// The answer to a question.
    enum Answer: Equatable {
        /// The user agreed.
        case yes
        /// Another answer was given, or the input ended.
        case no
        /// There is no terminal.
        case nobody
    }

    /// Asks the user whether a tool may run, and waits for a line; the end of the task withdraws the question.
    func ask(callID: String, tool: String, arguments: String) async -> Answer {
        self.state.withLock { _ = $0.openCalls.insert(callID) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.queue.async {
                    continuation.resume(returning: self.answer(callID, tool: tool, arguments: arguments))
                }
            }
        } onCancel: {
            self.withdraw(callID)
        }
    }

    private func answer(_ callID: String, tool: String, arguments: String) -> Answer {
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return .nobody }
        defer { _ = close(descriptor) }
        let terminal = DescriptorWriter(descriptor: descriptor, giveUp: self.giveUp)
        let words = Self.words(tool: tool, arguments: arguments, columns: terminal.columnCount ?? 80)
        let line = "\n" + (self.isReversible ? TerminalStyle.reversed(words) : words) + " "
        // Input from before the question does not answer it.
        guard tcflush(descriptor, TCIFLUSH) == 0 else { return .nobody }
        let isOpen = self.state.withLock { state in
            guard state.openCalls.contains(callID) else { return false }
            state.shown = Shown(callID: callID, terminal: terminal, line: line)
            try? terminal.write(line)
            return true
        }
        guard isOpen else { return .no }
        // A terminal gives a line at a time.
        let answer = (try? DescriptorReader(descriptor: descriptor).read(upTo: 1024)) ?? []
        let wasOpen = self.state.withLock { state in
            state.shown = nil
            return state.openCalls.remove(callID) != nil
        }
        // The end of the input leaves the cursor after the question.
        if wasOpen, answer.last != UInt8(ascii: "\n") { try? terminal.write("\n") }
        return wasOpen && Self.isYes(String(decoding: answer, as: UTF8.self)) ? .yes : .no
    }

    /// Ends the question about a call that has ended: it is not shown again, and a line that is half typed is discarded,
    /// which would otherwise be input of the shell.
    func withdraw(_ callID: String) {
        self.state.withLock { state in
            state.openCalls.remove(callID)
            guard let shown = state.shown, shown.callID == callID else { return }
            state.shown = nil
            _ = tcflush(shown.terminal.descriptor, TCIFLUSH)
            // Other output begins behind the question.
            try? shown.terminal.write("\n")
        }
    }

    /// Shows the unanswered question again, because other output was written after it: an answer refers to the last
    /// line.
    func showAgain() {
        // Under the lock the terminal stays open, and an answered question is not shown.
        self.state.withLock { state in
            if let shown = state.shown { try? shown.terminal.write(shown.line) }
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
