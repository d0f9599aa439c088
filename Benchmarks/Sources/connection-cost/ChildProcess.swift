// Another program, with a pipe on each side.
import Foundation

/// A program that runs until its input ends.
///
/// It is started by `posix_spawn` alone: Foundation's way closes descriptors of its own accord, which valgrind does not
/// allow. It belongs to whoever holds it.
final class ChildProcess {
    private let identifier: pid_t
    private let input: FileHandle
    private let output: FileHandle

    /// Starts a program with its arguments.
    init(_ program: URL, _ arguments: [String]) throws {
        let (input, output) = (Pipe(), Pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.fileHandleForReading.fileDescriptor, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, STDOUT_FILENO)
        // The child would keep its own input open.
        for descriptor in [input.fileHandleForWriting, output.fileHandleForReading].map(\.fileDescriptor) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        var strings = ([program.path] + arguments).map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        var identifier: pid_t = 0
        let status = posix_spawn(&identifier, program.path, &actions, nil, &strings, environ)
        guard status == 0 else { throw WrongResultError("\(program.path) cannot be started: \(status)") }
        self.identifier = identifier
        self.input = input.fileHandleForWriting
        self.output = output.fileHandleForReading
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    /// What it has written, once it has.
    func availableText() -> String { String(decoding: self.output.availableData, as: UTF8.self) }

    deinit {
        try? self.input.close()
        var status: CInt = 0
        waitpid(self.identifier, &status, 0)
    }
}
