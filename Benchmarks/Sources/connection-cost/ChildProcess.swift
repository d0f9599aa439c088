// Another program, with a pipe on each side.
import Foundation

/// A program that runs until its input ends.
///
/// It is started by `posix_spawn` directly: Foundation closes all other descriptors too, which valgrind does not allow.
/// Its owner is the task that holds it.
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
        self.identifier = try Self.start(program, arguments, &actions)
        self.input = input.fileHandleForWriting
        self.output = output.fileHandleForReading
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    /// Runs a program to its end; returns whether its status is 0.
    ///
    /// It stays in this process's group, unlike a child of Foundation: a signal to the group ends both.
    static func succeeds(_ program: URL, _ arguments: [String]) throws -> Bool {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        return self.end(of: try self.start(program, arguments, &actions)) == 0
    }

    private static func start(
        _ program: URL, _ arguments: [String], _ actions: inout posix_spawn_file_actions_t
    ) throws -> pid_t {
        var strings = ([program.path] + arguments).map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        var identifier: pid_t = 0
        let status = posix_spawn(&identifier, program.path, &actions, nil, &strings, environ)
        guard status == 0 else { throw WrongResultError("\(program.path) cannot be started: \(status)") }
        return identifier
    }

    @discardableResult
    private static func end(of identifier: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return status
    }

    var inputDescriptor: CInt { self.input.fileDescriptor }

    /// Writes one byte to its input.
    func nudge() throws { try self.input.write(contentsOf: Data([0])) }

    /// The text that it has written; waits until there is some.
    func availableText() -> String { String(decoding: self.output.availableData, as: UTF8.self) }

    deinit {
        try? self.input.close()
        Self.end(of: self.identifier)
    }
}
