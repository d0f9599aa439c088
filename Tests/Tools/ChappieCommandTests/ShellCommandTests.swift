// Commands of the shell, run for tool calls.
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import ChappieCommand

@Suite(.timeLimit(.minutes(10))) struct ShellCommandTests {
    /// Runs a command as the command line does.
    init() { signal(SIGPIPE, SIG_IGN) }

    private func run(_ command: String, _ input: [UInt8] = [], limit: Int = 1 << 20) async throws
        -> ShellCommand.Outcome
    {
        try await ShellCommand.run(command, input: input, limit: limit, in: .init(environment: [:]))
    }

    @Test func commandReadsItsInputAndReturnsItsOutput() async throws {
        let outcome = try await self.run("cat; printf ' and more'", Array(#"{"city":"Oslo"}"#.utf8))
        #expect(String(decoding: outcome.output, as: UTF8.self) == #"{"city":"Oslo"} and more"#)
        #expect(outcome.ending == .exited(status: 0))
        #expect(!outcome.isCut)
    }

    @Test func exitStatusAndSignalAreReported() async throws {
        #expect(try await self.run("exit 7").ending == .exited(status: 7))
        #expect(try await self.run("kill -TERM $$").ending == .killed(signal: 15))
        #expect(try await self.run("no-such-command-here 2>/dev/null").ending == .exited(status: 127))
    }

    @Test func inputAndOutputLargerThanAPipePassThrough() async throws {
        let input = [UInt8](repeating: 0x61, count: 3_000_000)
        let outcome = try await self.run("cat", input, limit: 4_000_000)
        #expect(outcome.output == input)
    }

    @Test func commandThatIgnoresItsInputSucceeds() async throws {
        let outcome = try await self.run("exec <&-; printf done", [UInt8](repeating: 0x61, count: 1_000_000))
        #expect(outcome.output == Array("done".utf8))
    }

    @Test func endlessOutputIsCutAndItsWriterKilled() async throws {
        let outcome = try await self.run("yes", limit: 100_000)
        #expect(outcome.isCut)
        #expect(outcome.output.count == 100_000)
        #expect(outcome.ending == .killed(signal: 9))
    }

    @Test func outputOfExactlyTheLimitIsWhole() async throws {
        let outcome = try await self.run("head -c 65536 /dev/zero", limit: 65_536)
        #expect(!outcome.isCut && outcome.output.count == 65_536)
    }

    @Test func cancellingKillsTheWholeGroup() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "started").path
        try #require(mkfifo(path, 0o600) == 0)
        let task = Task { try await self.run("echo > '\(path)'; sleep 1000 | sleep 1000") }
        // Opening it waits for the command.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: _ = try? DescriptorReader.bytes(ofFile: path))
            }
        }
        task.cancel()
        // A run ends when no process holds its output any more.
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Such as a server that the tool has started: it goes on.
    @Test(arguments: ["sleep 1000 & printf $!", "setsid sleep 1000 & printf $!", "sleep 1000 2>&1 & printf $!; exit 3"])
    func backgroundProcessThatHoldsTheOutputIsLeftBehind(command: String) async throws {
        let outcome = try await self.run(command)
        let text = String(decoding: outcome.output, as: UTF8.self)
        let identifier = try #require(pid_t(text))
        #expect(outcome.ending == .exited(status: command.hasSuffix("3") ? 3 : 0))
        #expect(!outcome.isCut)
        #expect(kill(identifier, SIGKILL) == 0)
    }

    /// What it prints in the meantime is a part of the output, and a flood is cut.
    @Test func backgroundProcessThatFloodsTheOutputIsCut() async throws {
        let outcome = try await self.run("yes & exit 0", limit: 100_000)
        #expect(outcome.isCut)
        #expect(outcome.output.count == 100_000)
    }

    @Test func cancelledTaskStartsNoCommand() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await self.run("exit 0")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func theEnvironmentIsTheOneThatIsGiven() async throws {
        setenv("CHAPPIE_CANARY", "canary", 1)
        let outcome = try await ShellCommand.run(
            "/usr/bin/env", input: [], limit: 1 << 20, in: .init(environment: ["A": "1 2", "B": "x=y"]))
        let lines = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n").map(String.init)
        // The shell adds what it needs itself.
        let given = lines.filter { !$0.hasPrefix("PWD=") && !$0.hasPrefix("_=") }
        #expect(Set(given) == ["A=1 2", "B=x=y"])
    }

    @Test func theLinesOfStandardErrorArePassedOn() async throws {
        let lines = Mutex<[String]>([])
        let surroundings = ShellCommand.Surroundings(environment: [:]) { line in lines.withLock { $0.append(line) } }
        let outcome = try await ShellCommand.run(
            "printf 'one\\ntwo' >&2; printf out; printf ' and a half\\n\\nend' >&2", input: [], limit: 100,
            in: surroundings)
        #expect(outcome.output == Array("out".utf8))
        #expect(lines.withLock { $0 } == ["one", "two and a half", "", "end"])
    }

    @Test func aLineThatDoesNotEndIsPassedOnInPieces() async throws {
        let lines = Mutex<[String]>([])
        _ = try await ShellCommand.run(
            "head -c 10000 /dev/zero | tr '\\0' x >&2", input: [], limit: 100,
            in: .init(environment: [:]) { line in lines.withLock { $0.append(line) } })
        #expect(lines.withLock { $0.map(\.count) } == [4_096, 4_096, 1_808])
    }

    /// Returns the number of ends of pipes that this process holds.
    private static func pipeEndCount() throws -> Int {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
            // The folder's own descriptor is gone.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target?.hasPrefix("pipe:") == true
        }
    }

    /// In a process of its own, because other tests open pipes meanwhile.
    ///
    /// Dispatch opens and closes descriptors of other kinds at any time, such as those with which it looks at its
    /// threads.
    @Test func noPipeRemainsOpenAfterCommands() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            let surroundings = ShellCommand.Surroundings(environment: [:], errorLine: { _ in })
            let count = try Self.pipeEndCount()
            for command in ["true", "exit 1", "exec <&-; yes"] {
                for _ in 0..<10 {
                    _ = try await ShellCommand.run(command, input: [0x61], limit: 1, in: surroundings)
                }
            }
            #expect(try Self.pipeEndCount() == count)
        }
    }
}
