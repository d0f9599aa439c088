// Asking the person at the terminal whether a tool may run.
import Dispatch

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Asks yes-or-no questions at the terminal, one at a time.
final class TerminalQuestion: Sendable {
    private let console: Console
    private let queue = DispatchQueue(label: "chappie.questions")

    /// Questions appear on standard error and are answered at the terminal, because standard input may be the prompt.
    init(console: Console) { self.console = console }

    /// What came of a question.
    enum Answer: Equatable {
        /// The person said yes.
        case yes
        /// Anything else was said, or the input ended.
        case no
        /// There is no terminal.
        case nobody
    }

    /// Asks the person, and waits for a line.
    func ask(_ question: String) async -> Answer {
        await withCheckedContinuation { continuation in
            self.queue.async { continuation.resume(returning: self.answer(to: question)) }
        }
    }

    private func answer(to question: String) -> Answer {
        let terminal = unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC)
        guard terminal >= 0 else { return .nobody }
        defer { _ = close(terminal) }
        try? self.console.errorOutput.write("\n" + question + " [y/N] ")
        // A terminal gives a line at a time.
        let line = (try? DescriptorReader(descriptor: terminal).read(upTo: 1024)) ?? []
        // The end of the input leaves the cursor behind the question.
        if line.last != UInt8(ascii: "\n") { try? self.console.errorOutput.write("\n") }
        return Self.isYes(String(decoding: line, as: UTF8.self)) ? .yes : .no
    }

    /// Whether a line means yes; nothing but `y` and `yes` does, in any case.
    static func isYes(_ line: String) -> Bool {
        ["y", "yes"].contains(line.lowercased().filter { !$0.isWhitespace })
    }
}
