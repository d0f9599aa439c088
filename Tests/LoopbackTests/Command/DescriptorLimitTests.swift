import ChappieTestServer
import Foundation
import Testing

/// A process with few file descriptors: a program of its own, because the limit applies to the whole process.
@Suite(.timeLimit(.minutes(10))) struct DescriptorLimitTests {
    /// Runs a program of this package, after a line for the shell; its exit code and what it said on standard error.
    private static func run(_ name: String, _ arguments: [String], after line: String) async throws -> (CInt, String) {
        let process = Process()
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent(name)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "\(line); exec \"$0\" \"$@\"", program.path] + arguments
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = output
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                do {
                    try process.run()
                    let said = try output.fileHandleForReading.readToEnd() ?? Data()
                    process.waitUntilExit()
                    continuation.resume(returning: (process.terminationStatus, String(decoding: said, as: UTF8.self)))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Runs `chappie stream` with a limit of `descriptors` open descriptors.
    ///
    /// libdispatch opens `/proc/self/task` now and then to see how busy its threads are, and ends a process that has no
    /// descriptor left for that (`_dispatch_workq_monitor_pools`). Unlike Swift it gives no reason: such a run is made
    /// again.
    private static func stream(_ baseURL: String, descriptors: Int, over wire: Wire) async throws -> (CInt, String) {
        let arguments =
            ["stream", "--base-url", baseURL, "--model", "m", "--max-reconnects", "0", "hi"]
            + (wire == .httpSSE ? ["--http-only"] : [])
        var outcome: (code: CInt, said: String)
        var runs = 0
        repeat {
            outcome = try await Self.run("chappie", arguments, after: "ulimit -n \(descriptors)")
            runs += 1
        } while outcome.code == SIGILL && !outcome.said.contains("Fatal error") && runs < 5
        return outcome
    }

    /// With a growing limit the service, the look-up or the socket lacks a descriptor, until it works.
    @Test(arguments: Wire.allCases, ["127.0.0.1", "localhost"])
    func descriptorExhaustionIsReported(over wire: Wire, host: String) async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let baseURL = server.baseURL.replacingOccurrences(of: "127.0.0.1", with: host)
            var failures = 0
            for count in 4...64 {
                let (code, said) = try await Self.stream(baseURL, descriptors: count, over: wire)
                if code == 0 { break }
                failures += 1
                #expect(code == 69)
                #expect(said.contains("The process has no file descriptor left of \(count) (ulimit -n)"), "\(said)")
                #expect(said.contains("Raise the limit (ulimit -n), or open fewer connections at once."))
                #expect(said.contains("descriptors.exhausted"))
            }
            // How many are enough depends on those that the process was given.
            #expect((1...28).contains(failures))
        }
    }

    /// Such commands need no descriptor beside those of the standard files.
    @Test(arguments: [["sse"], ["--version"], ["stream", "--help"], ["completion", "bash"]], [4, 6, 7])
    func commandWithoutAsynchronousFunctionsRunsWithFewDescriptors(words: [String], count: Int) async throws {
        let (code, said) = try await Self.run("chappie", words, after: "ulimit -n \(count)")
        #expect(code == 0 && said.isEmpty, "\(said)")
    }

    /// The program is loaded with about 100 MiB; libdispatch waited for ever for the thread that the system refused it.
    @Test(arguments: [104, 112, 120, 128, 140, 150])
    func missingAddressSpaceIsReported(megabytes: Int) async throws {
        let (code, said) = try await Self.run(
            "chappie", ["stream", "--demo", "hi"], after: "ulimit -v \(megabytes << 10)")
        #expect(code == 69)
        #expect(said.contains("The process has no memory left for its threads."), "\(said)")
        let (codeOfParser, words) = try await Self.run("chappie", ["sse"], after: "ulimit -v \(megabytes << 10)")
        #expect(codeOfParser == 0, "\(words)")
    }

    @Test func embeddedServerWithoutDescriptorsIsReported() async throws {
        for count in 4...10 {
            let (code, said) = try await Self.run("chappie", ["stream", "--demo", "hi"], after: "ulimit -n \(count)")
            #expect(code == 69)
            #expect(said.contains("The process has no file descriptor left of \(count) (ulimit -n)"), "\(said)")
        }
    }

    @Test func aLimitThatIsRaisedLaterIsUsed() async throws {
        let (code, said) = try await Self.run("connection-churn", ["limit"], after: ":")
        #expect(code == 0, "\(said)")
    }
}
