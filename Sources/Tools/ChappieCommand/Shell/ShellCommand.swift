// A shell command as a function: input in, output and exit status out.
import Dispatch
import PlatformC
import Synchronization

/// One run of a command by `/bin/sh`, in a process group of its own.
///
/// It ends with the shell, when no other process holds its standard output any more or a second later, and with the
/// task that waits for it: then every process of its group is killed.
final class ShellCommand: Sendable {
    /// The environment of a command, and the reader of its standard error.
    struct Surroundings: Sendable {
        /// Its environment.
        var environment: [String: String]
        /// Receives each line of its standard error, without the line feed; nil for this process's standard error.
        var errorLine: (@Sendable (String) -> Void)?
    }

    /// The outcome of a run.
    struct Outcome: Equatable {
        /// The ending of the shell.
        enum Ending: Equatable {
            /// With a status of its own.
            case exited(status: CInt)
            /// By a signal.
            case killed(signal: CInt)
        }

        /// The output, up to the limit.
        var output: [UInt8] = []
        /// Indicates whether it printed more than the limit, and was killed for it.
        var isCut = false
        /// The ending of the shell.
        var ending = Ending.exited(status: 0)
    }

    private enum State {
        case running(pid_t)
        /// The processes of its group were sent SIGKILL.
        case killed(pid_t)
        case ended
    }

    /// The time for which the output is read behind the end of the shell, while another process holds it.
    ///
    /// A pipe's writer that the shell has not waited for ends about with it; a program in the background, such as a
    /// server that the tool has started, would keep the call for ever.
    private static let restTime: Duration = .seconds(1)

    /// The ends of a pipe.
    private struct Pipe {
        let reading: CInt
        let writing: CInt

        init() throws(DescriptorError) {
            var ends: [CInt] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw .failed(code: errno) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (self.reading, self.writing) = (ends[0], ends[1])
        }
    }

    private let state: Mutex<State>
    private let input: CInt
    private let output: CInt
    /// The reading end of the command's standard error; nil where that is this process's.
    private let errors: CInt?
    /// A pipe whose writing end is closed when the shell has ended.
    private let end: Pipe
    private let surroundings: Surroundings

    /// Runs a command to its end, on a thread of its own, and returns `limit` bytes of output at most.
    ///
    /// `SIGPIPE` has to be ignored. Throws `DescriptorError` when it cannot be started, and `CancellationError`.
    static func run(
        _ command: String, input: [UInt8], limit: Int, in surroundings: Surroundings
    ) async throws -> Outcome {
        try Task.checkCancellation()
        let run = try ShellCommand(command, in: surroundings)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: run.toEnd(input, limit: limit)) }
            }
        } onCancel: {
            run.kill()
        }
        try Task.checkCancellation()
        return outcome
    }

    private init(_ command: String, in surroundings: Surroundings) throws(DescriptorError) {
        var pipes: [Pipe] = []
        do throws(DescriptorError) {
            for _ in 0..<(surroundings.errorLine == nil ? 3 : 4) { pipes.append(try Pipe()) }
            var start = ProgramStart(["/bin/sh", "-c", command], environment: surroundings.environment)
            start.input = pipes[0].reading
            start.output = pipes[1].writing
            start.errorOutput = pipes.count > 3 ? pipes[3].writing : nil
            self.state = Mutex(.running(try start.run()))
        } catch {
            for pipe in pipes { for end in [pipe.reading, pipe.writing] { _ = close(end) } }
            throw error
        }
        for end in [pipes[0].reading, pipes[1].writing] + pipes.dropFirst(3).map(\.writing) { _ = close(end) }
        self.input = pipes[0].writing
        self.output = pipes[1].reading
        self.end = pipes[2]
        self.errors = pipes.count > 3 ? pipes[3].reading : nil
        self.surroundings = surroundings
        // A command that does not read its input, or writes no errors, must not block the reading of its output.
        for end in [self.input, self.errors].compactMap(\.self) { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    /// Feeds the command and reads it; blocks.
    private func toEnd(_ input: [UInt8], limit: Int) -> Outcome {
        var outcome = Outcome()
        var unsent = input[...]
        var isFeeding = true
        var errors = ErrorLines(descriptor: self.errors, pass: self.surroundings.errorLine ?? { _ in })
        var rest = Rest.unlimited
        DispatchQueue.global().async { self.waitForShell() }
        while true {
            if isFeeding, unsent.isEmpty {
                _ = close(self.input)
                isFeeding = false
            }
            let isReady = self.wait(forInput: isFeeding, orErrors: errors.descriptor, rest)
            if isReady.end, rest == .unlimited { rest = self.restOfOutput() }
            if isReady.errors { errors.read() }
            if isReady.input, !self.feed(&unsent) { unsent = [] }
            guard isReady.output else {
                if rest.hasPassed { break }
                continue
            }
            let piece = (try? DescriptorReader(descriptor: self.output).read(upTo: 1 << 16)) ?? []
            if piece.isEmpty { break }
            let room = limit - outcome.output.count
            outcome.output += piece.prefix(room)
            guard piece.count > room, !outcome.isCut else { continue }
            outcome.isCut = true
            self.kill()
        }
        if isFeeding { _ = close(self.input) }
        _ = close(self.output)
        outcome.ending = self.reap()
        // The errors that it wrote before it ended are still there, no more than a pipe holds.
        errors.read()
        errors.end()
        if let errors = self.errors { _ = close(errors) }
        return outcome
    }

    private struct Readiness {
        let input: Bool
        let output: Bool
        let errors: Bool
        let end: Bool
    }

    /// The time for which the output is read.
    private enum Rest: Equatable {
        case unlimited
        case until(ContinuousClock.Instant)

        var hasPassed: Bool { self.milliseconds == 0 }

        /// The remaining time for `poll`, rounded up.
        var milliseconds: CInt {
            switch self {
            case .unlimited: -1
            case .until(let end): CInt(max(0, ((end - .now) / .milliseconds(1)).rounded(.up)))
            }
        }
    }

    /// Returns the time for which the output is read behind the end of the shell: none where the output does not matter.
    private func restOfOutput() -> Rest {
        if case .killed = self.state.withLock({ $0 }) { return .until(.now) }
        return .until(.now + Self.restTime)
    }

    /// Waits until the shell has ended, whose number stays taken until it is reaped; blocks.
    private func waitForShell() {
        var info = unsafe siginfo_t()
        if let identifier = self.identifier {
            while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        }
        _ = close(self.end.writing)
    }

    private func wait(forInput isFeeding: Bool, orErrors errors: CInt?, _ rest: Rest) -> Readiness {
        // A negative descriptor is ignored (POSIX, poll).
        var requests = [
            pollfd(fd: self.output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isFeeding ? self.input : -1, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: errors ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: rest == .unlimited ? self.end.reading : -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe poll(&requests, nfds_t(requests.count), rest.milliseconds)
        let isReady = requests.map { $0.revents != 0 }
        return Readiness(input: isReady[1], output: isReady[0], errors: isReady[2], end: isReady[3])
    }

    /// Writes as many bytes as the pipe takes; returns false when the reader has closed it.
    private func feed(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let count = unsafe rest.withUnsafeBytes { unsafe write(self.input, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        rest = rest.dropFirst(count)
        return true
    }

    /// Kills every process of the group, unless the shell has been reaped.
    private func kill() {
        self.state.withLock { state in
            guard case .running(let identifier) = state else { return }
            _ = PlatformC.kill(-identifier, SIGKILL)
            state = .killed(identifier)
        }
    }

    /// The number of the shell; nil when it has been reaped.
    private var identifier: pid_t? {
        switch self.state.withLock({ $0 }) {
        case .running(let identifier), .killed(let identifier): identifier
        case .ended: nil
        }
    }

    private func reap() -> Outcome.Ending {
        // The wait is outside the lock, so that the process can be killed, and its number is released under the lock.
        _ = try? DescriptorReader(descriptor: self.end.reading).read(upTo: 1)
        _ = close(self.end.reading)
        guard let identifier = self.identifier else { return .exited(status: 0) }
        return self.state.withLock { state in
            var status: CInt = 0
            unsafe waitpid(identifier, &status, 0)
            state = .ended
            // POSIX's macros, which are not imported.
            return status & 0x7F == 0 ? .exited(status: status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
        }
    }
}

/// A command's standard error, line by line.
private struct ErrorLines {
    /// The longest line; a longer one is passed on as several lines.
    private static let lineByteCount = 4_096

    /// The reading end, which does not block; nil when there is none, or at the end of the stream.
    private(set) var descriptor: CInt?
    private let pass: @Sendable (String) -> Void
    private var rest: [UInt8] = []

    init(descriptor: CInt?, pass: @escaping @Sendable (String) -> Void) {
        self.descriptor = descriptor
        self.pass = pass
    }

    /// Passes on the available lines.
    mutating func read() {
        guard let descriptor = self.descriptor else { return }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe PlatformC.read(descriptor, &buffer, buffer.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { self.descriptor = nil }
        for byte in buffer.prefix(max(0, count)) {
            if byte != UInt8(ascii: "\n") { self.rest.append(byte) }
            if byte == UInt8(ascii: "\n") || self.rest.count == Self.lineByteCount { self.passRest() }
        }
    }

    /// Passes on the last line, which no line feed ends.
    mutating func end() {
        if !self.rest.isEmpty { self.passRest() }
    }

    private mutating func passRest() {
        self.pass(String(decoding: self.rest, as: UTF8.self))
        self.rest.removeAll(keepingCapacity: true)
    }
}
