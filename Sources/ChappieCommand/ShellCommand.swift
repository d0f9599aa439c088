// A command of the shell as a function: input in, output and ending out.
import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// One run of a command by `/bin/sh`, in a process group of its own.
///
/// Its standard error is that of this process. It ends when nobody holds its standard output any more, or with the task
/// that waits for it: then every process of its group is killed.
final class ShellCommand: Sendable {
    /// What came of a run.
    struct Outcome: Equatable {
        /// How the shell ended.
        enum Ending: Equatable {
            /// With a status of its own.
            case exited(status: CInt)
            /// By a signal.
            case killed(signal: CInt)
        }

        /// What it printed, the limit at most.
        var output: [UInt8] = []
        /// Whether it printed more than the limit, and was killed for it.
        var isCut = false
        /// How the shell ended.
        var ending = Ending.exited(status: 0)
    }

    private enum State {
        case running(pid_t)
        case ended
    }

    private let state: Mutex<State>
    private let input: CInt
    private let output: CInt

    /// Runs a command to its end, on a thread of its own, and gives back `limit` bytes of output at most.
    ///
    /// `SIGPIPE` has to be ignored. Throws `DescriptorError` when it cannot be started, and `CancellationError`.
    static func run(_ command: String, input: [UInt8], limit: Int) async throws -> Outcome {
        try Task.checkCancellation()
        let run = try ShellCommand(command)
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

    private init(_ command: String) throws(DescriptorError) {
        let input = try Self.pipe()
        let output: (reading: CInt, writing: CInt)
        do throws(DescriptorError) {
            output = try Self.pipe()
        } catch {
            for end in [input.reading, input.writing] { _ = close(end) }
            throw error
        }
        defer { for end in [input.reading, output.writing] { _ = close(end) } }
        do throws(DescriptorError) {
            let identifier = try Self.start(command, input: input.reading, output: output.writing)
            self.state = Mutex(.running(identifier))
        } catch {
            for end in [input.writing, output.reading] { _ = close(end) }
            throw error
        }
        self.input = input.writing
        self.output = output.reading
        // A command that reads nothing must not hold up the one that reads what it prints.
        _ = fcntl(self.input, F_SETFL, O_NONBLOCK)
    }

    private static func pipe() throws(DescriptorError) -> (reading: CInt, writing: CInt) {
        var ends: [CInt] = [-1, -1]
        guard systemPipe(&ends) == 0 else { throw .failed(code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func start(_ command: String, input: CInt, output: CInt) throws(DescriptorError) -> pid_t {
        var start = ProgramStart(["/bin/sh", "-c", command])
        start.input = input
        start.output = output
        return try start.run()
    }

    /// Feeds the command and reads it; blocks.
    private func toEnd(_ input: [UInt8], limit: Int) -> Outcome {
        var outcome = Outcome()
        var rest = input[...]
        var isFeeding = true
        while true {
            if isFeeding, rest.isEmpty {
                _ = close(self.input)
                isFeeding = false
            }
            let wanted = self.wait(forInput: isFeeding)
            if wanted.input, !self.feed(&rest) { rest = [] }
            guard wanted.output else { continue }
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
        return outcome
    }

    private func wait(forInput isFeeding: Bool) -> (input: Bool, output: Bool) {
        var requests = [pollfd(fd: self.output, events: Int16(POLLIN), revents: 0)]
        if isFeeding { requests.append(pollfd(fd: self.input, events: Int16(POLLOUT), revents: 0)) }
        _ = unsafe poll(&requests, nfds_t(requests.count), -1)
        return (input: isFeeding && requests[1].revents != 0, output: requests[0].revents != 0)
    }

    /// Writes what the pipe takes; false when nobody reads it.
    private func feed(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let count = unsafe rest.withUnsafeBytes { unsafe write(self.input, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        rest = rest.dropFirst(count)
        return true
    }

    /// Kills every process of the group, unless the shell has been reaped.
    private func kill() {
        self.state.withLock { state in
            if case .running(let identifier) = state { _ = systemKill(-identifier, SIGKILL) }
        }
    }

    private func reap() -> Outcome.Ending {
        guard case .running(let identifier) = self.state.withLock({ $0 }) else { return .exited(status: 0) }
        // It is waited for without the lock, so that it can be killed, and leaves its number free under it.
        var info = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return self.state.withLock { state in
            var status: CInt = 0
            unsafe waitpid(identifier, &status, 0)
            state = .ended
            // POSIX's macros, which are not imported.
            return status & 0x7F == 0 ? .exited(status: status >> 8 & 0xFF) : .killed(signal: status & 0x7F)
        }
    }
}

private func systemPipe(_ ends: inout [CInt]) -> CInt { unsafe pipe(&ends) }

private func systemKill(_ identifier: pid_t, _ signal: CInt) -> CInt { kill(identifier, signal) }
