// The output: lines, and on a terminal one line of progress below them.
//
// Shared by the workers and the monitor; one lock guards it.
import Foundation
import StreamTransport

/// Prints.
final class Console: Sendable {
    /// The one of the process.
    static let shared = Console()

    private let hasProgress = LockedValue(false)
    private let isTerminal = isatty(1) == 1

    /// Prints a line.
    func line(_ text: String) {
        self.hasProgress.withLock { hasProgress in
            self.write((hasProgress ? "\r\u{1B}[K" : "") + text + "\n")
            hasProgress = false
        }
    }

    /// Replaces the line of progress.
    func progress(_ text: String) {
        guard self.isTerminal else { return }
        self.hasProgress.withLock { hasProgress in
            self.write("\r\u{1B}[K" + text)
            hasProgress = true
        }
    }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
