import Dispatch
import Foundation
import StreamTransport

/// A program that runs beside the test, and the lines that it prints.
///
/// Foundation's `Process` leaks, and starts programs that cannot be told to end: with the signals blocked that a
/// queue's thread blocks.
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
    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let output = try Self.pipe()
        self.descriptor = output.reading
        defer { close(output.writing) }
        do {
            self.identifier = try Self.start(
                path, arguments, environment: environment, files: .init(output: output.writing))
        } catch {
            close(output.reading)
            throw error
        }
    }

    /// Starts it on a terminal of its own with 80 columns, with input that was typed before.
    init(
        onTerminal path: String, _ arguments: [String], environment: [String: String], typedAhead: String = ""
    ) throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw Failure(call: "open", code: errno) }
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        var (lock, number): (CInt, CInt) = (0, 0)
        guard ioctl(terminal, Self.setTerminalLock, &lock) == 0, ioctl(terminal, Self.terminalNumber, &number) == 0,
            ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0
        else {
            close(terminal)
            throw Failure(call: "ioctl", code: errno)
        }
        let name = "/dev/pts/\(number)"
        // Typed input stays there as long as the terminal is open.
        let other = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(other) }
        _ = Array(typedAhead.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
        self.descriptor = terminal
        do {
            self.identifier = try Self.start(path, arguments, environment: environment, files: .init(terminal: name))
        } catch {
            close(terminal)
            throw error
        }
    }

    /// Constants of Linux's headers (`TIOCSPTLCK`, `TIOCGPTN`, `POSIX_SPAWN_SETSID`), which Swift does not import.
    private static let setTerminalLock: UInt = 0x4004_5431
    private static let terminalNumber: UInt = 0x8004_5430
    private static let newSession: Int32 = 0x80

    /// Types on the program's terminal.
    func type(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
    }

    /// Sends it a signal.
    func send(_ signal: CInt) { kill(self.identifier, signal) }

    /// Waits until it has printed a byte.
    func hasOutput() async -> Bool { await self.read { !$0.isEmpty } }

    /// Waits until it has printed a text, in a line that is complete or not.
    func hasShown(_ words: String) async -> Bool { await self.read { $0.end(of: Array(words.utf8)) != nil } }

    /// Waits for its end, without reading its output; returns its exit status.
    func status() async -> Int32 {
        await self.queue.blocking {
            var status: CInt = 0
            waitpid(self.identifier, &status, 0)
            self.isRunning.withLock { $0 = false }
            return Self.exitStatus(status)
        }
    }

    /// Reads its output to the end, and returns all of it.
    func allOutput() async -> String {
        _ = await self.read { _ in false }
        return String(decoding: self.text.withLock { $0 }, as: UTF8.self)
    }

    /// Returns the exit status that a shell reports for a program, also of one that a signal has ended.
    private static func exitStatus(_ status: CInt) -> Int32 {
        status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }

    /// Runs a program to its end; returns its standard output, and its exit status.
    ///
    /// `input` is no longer than what a pipe holds.
    static func run(
        _ path: String, _ arguments: [String], input text: String, environment: [String: String]
    ) async throws -> (output: Data, status: Int32) {
        let (input, output) = (try Self.pipe(), try Self.pipe())
        let identifier: pid_t
        do {
            defer { for end in [input.reading, output.writing] { close(end) } }
            _ = Array(text.utf8).withUnsafeBytes { write(input.writing, $0.baseAddress, $0.count) }
            close(input.writing)
            identifier = try Self.start(
                path, arguments, environment: environment,
                files: .init(input: input.reading, output: output.writing))
        }
        return await DispatchQueue(label: "output").blocking {
            let data = FileHandle(fileDescriptor: output.reading, closeOnDealloc: true).readDataToEndOfFile()
            var status: CInt = 0
            waitpid(identifier, &status, 0)
            return (data, Self.exitStatus(status))
        }
    }

    private static func pipe() throws -> (reading: CInt, writing: CInt) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failure(call: "pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// The standard files of a program.
    private struct Files {
        var input: CInt?
        var output: CInt?
        /// The name of the terminal that is all of them.
        var terminal: String?

        /// Adds the actions of the new process.
        func add(to actions: inout posix_spawn_file_actions_t) {
            if let terminal = self.terminal {
                // The first terminal that a session opens becomes its own.
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, terminal, O_RDWR, 0)
                posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
                posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
                return
            }
            if let input = self.input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
            if let output = self.output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
    }

    private static func start(
        _ path: String, _ arguments: [String], environment: [String: String], files: Files
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        files.add(to: &actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        let sessionFlag = files.terminal == nil ? 0 : Self.newSession
        posix_spawnattr_setflags(&attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK) | sessionFlag))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var variables: [UnsafeMutablePointer<CChar>?] = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var identifier: pid_t = 0
        let code = posix_spawn(&identifier, path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw Failure(call: "posix_spawn", code: code) }
        return identifier
    }

    deinit {
        self.end()
        close(self.descriptor)
    }

    /// Reads until such a line is there; false when the program has ended without one.
    func hasLine(containing words: String) async -> Bool { await self.line(containing: words) != nil }

    /// Reads until such a line is there, whole; nil when the program has ended without one.
    func line(containing words: String) async -> String? {
        _ = await self.read { Self.line(in: $0, containing: words) != nil }
        return self.text.withLock { Self.line(in: $0, containing: words) }
    }

    private static func line(in bytes: [UInt8], containing words: String) -> String? {
        // What stands behind the last line break is no whole line yet.
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }.first { $0.contains(words) }
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
