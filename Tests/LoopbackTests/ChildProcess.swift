import Dispatch
import Foundation
import StreamTransport

/// A program that runs beside the test, and the lines that it prints.
///
/// Foundation's `Process` leaks, and starts programs that cannot be told to end: with the signals blocked that a queue's
/// thread blocks.
final class ChildProcess: Sendable {
    /// A system call failed.
    struct Failure: Error {
        let call: String
        let code: Int32
    }

    private let identifier: pid_t
    private let descriptor: CInt
    private let queue = DispatchQueue(label: "child process")
    private let text = LockedValue<[UInt8]>([])
    private let isRunning = LockedValue(true)

    /// Starts it.
    init(_ path: String, _ arguments: [String]) throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(call: "pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var identifier: pid_t = 0
        let code = posix_spawn(&identifier, path, &actions, &attributes, &words, environ)
        for word in words { free(word) }
        posix_spawnattr_destroy(&attributes)
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        self.identifier = identifier
        self.descriptor = ends[0]
        guard code == 0 else { throw Failure(call: "posix_spawn", code: code) }
    }

    deinit {
        self.end()
        close(self.descriptor)
    }

    /// Reads until such a line is there; false when the program has ended without one.
    func hasLine(containing words: String) async -> Bool {
        await self.read { String(decoding: $0, as: UTF8.self).contains(words) }
    }

    /// Ends it, and returns every line.
    func lines() async -> [String] {
        self.end()
        _ = await self.read { _ in false }
        return String(decoding: self.text.withLock { $0 }, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Ends it, and waits for that.
    private func end() {
        let wasRunning = self.isRunning.withLock { isRunning in
            defer { isRunning = false }
            return isRunning
        }
        guard wasRunning, self.identifier > 0 else { return }
        kill(self.identifier, SIGKILL)
        waitpid(self.identifier, nil, 0)
    }

    private func read(until isEnough: @escaping @Sendable ([UInt8]) -> Bool) async -> Bool {
        await self.queue.blocking {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !isEnough(self.text.withLock { $0 }) {
                let count = Glibc.read(self.descriptor, &buffer, buffer.count)
                guard count > 0 else { return false }
                self.text.withLock { $0 += buffer[..<count] }
            }
            return true
        }
    }
}
