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
    private static func stream(_ baseURL: String, descriptors: Int, over wire: Wire) async throws -> (CInt, String) {
        let arguments =
            ["stream", "--base-url", baseURL, "--model", "m", "--max-reconnects", "0", "hi"]
            + (wire == .httpSSE ? ["--http-only"] : [])
        return try await Self.run("chappie", arguments, after: "ulimit -n \(descriptors)")
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
                #expect(said.contains("Raise the limit (ulimit -n)"))
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

    /// A program that has no room for its threads is loaded, and says so, or works; libdispatch waited for ever for the
    /// thread that the system refused it.
    @Test(
        arguments: Array(stride(from: 104, through: 260, by: 12)),
        ["stream --demo hi", "serve --list-scenarios", "sse"])
    func missingAddressSpaceIsReported(megabytes: Int, words: String) async throws {
        let (code, said) = try await Self.run(
            "chappie", words.split(separator: " ").map(String.init), after: "ulimit -v \(megabytes << 10)")
        if code == 69, words != "sse" {
            #expect(said.contains("The process has no memory left for its threads."), "\(said)")
            #expect(said.contains("memory.exhausted"), "\(said)")
        } else {
            #expect(code == 0, "\(said)")
        }
    }

    @Test func serverWithoutDescriptorsIsReported() async throws {
        for words in [["serve"], ["serve", "--probe"], ["serve", "--fault", "refuse"]] {
            for count in 4...7 {
                let (code, said) = try await Self.run("chappie", words, after: "ulimit -n \(count)")
                #expect(code == 69)
                #expect(said.contains("descriptors.exhausted"), "\(said)")
            }
        }
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
