import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// Processes that share a credential, and processes that die.
@Suite(.timeLimit(.minutes(5))) struct FiftyProcessesTests {
    private let directory: TemporaryDirectory
    private let storage: ChappieFileCredentialStorage

    init() throws {
        self.directory = try TemporaryDirectory()
        self.storage = ChappieFileCredentialStorage(directory: self.directory.path(of: "credentials"))
    }

    private static let program = CommandProgram.path(of: "credential-probe")

    /// Runs the probe to its end; the lines that it printed, and its exit status.
    private func run(_ command: String, _ arguments: [String] = []) async throws -> (lines: [String], status: Int32) {
        let (output, status) = try await ChildProcess.run(
            Self.program, [command, "--directory", self.storage.directory] + arguments, input: "", environment: [:])
        return (String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init), status)
    }

    private func arguments(_ fixture: RefreshFixture) -> [String] {
        ["--server", fixture.server.baseURL, "--issuer", fixture.server.origin]
    }

    // MARK: Fifty

    @Test func fiftyProcessesWithOneNearlyExpiredCredentialRefreshItOnce() async throws {
        try await RefreshFixture.run(lifetime: 120, storage: self.storage) { fixture in
            let gate = try self.directory.write("", to: "gate")
            let lock = open(gate, O_RDONLY | O_CLOEXEC)
            flock(lock, LOCK_EX)
            let processes = try (1...50).map { _ in
                try ChildProcess(
                    Self.program,
                    ["request", "--directory", self.storage.directory, "--gate", gate] + self.arguments(fixture))
            }
            for process in processes { #expect(await process.hasLine(containing: "ready")) }
            // All at once.
            close(lock)
            for process in processes { #expect(await process.hasLine(containing: "answered")) }
            #expect(fixture.refreshCount == 1)
            #expect(fixture.server.signInLog.allSatisfy { $0.errorCode == nil })
            #expect(fixture.statusCodes == Array(repeating: 200, count: 50))
            #expect(fixture.server.useCount(ofRefreshToken: fixture.tokens.refreshToken) == 1)
            let stored = try #require(try fixture.stored)
            #expect(fixture.server.state(ofToken: stored.accessToken) == .good)
            #expect(stored.refreshToken.map { fixture.server.state(ofToken: $0) } == .good)
        }
    }

    // MARK: Deaths

    @Test func aProcessThatDiesBetweenTheRotationAndTheFileLeavesAClearErrorAndNoLock() async throws {
        try await RefreshFixture.run(lifetime: 120, storage: self.storage) { fixture in
            // The first write is the one that finds out whether the storage works.
            let first = try await self.run("request", self.arguments(fixture) + ["--kill", "before:write:2"])
            #expect(first.status == 128 + SIGKILL && first.lines == ["ready"])
            #expect(try fixture.stored?.accessToken == fixture.tokens.accessToken)
            #expect(fixture.refreshCount == 1)
            let second = try await self.run("request", self.arguments(fixture))
            #expect(second.lines.last?.hasPrefix("failed: auth.reauthentication-required") == true, "\(second.lines)")
            let third = try await self.run("request", self.arguments(fixture))
            #expect(third.lines == second.lines)
            // The second request was refused, and no third one is sent.
            #expect(fixture.server.signInLog(of: .refresh).map(\.errorCode) == [nil, "refresh_token_reused"])
            #expect(try await self.storage.withLock(of: "default", timeout: .zero) { true })
        }
    }

    @Test func theLockOfAProcessThatIsKilledIsFree() async throws {
        var process: ChildProcess? = try ChildProcess(Self.program, ["hold", "--directory", self.storage.directory])
        #expect(await process?.hasLine(containing: "holding") == true)
        await #expect(throws: ChappieCredentialStorageError.self) {
            try await self.storage.withLock(of: "default", timeout: .zero) {}
        }
        _ = await process?.lines()
        process = nil
        #expect(try await self.storage.withLock(of: "default", timeout: .zero) { true })
    }

    /// The tokens that a probe stores.
    private func accessToken(_ text: String) -> String { String(repeating: text, count: 4_000) }

    @Test func aProcessThatDiesAtAnyCallLeavesTheOldFileOrTheNewOne() async throws {
        let names = try await self.run("store", ["--text", "old", "--print-calls"]).lines.filter {
            $0.hasPrefix("call ")
        }
        let calls = try await self.run("store", ["--text", "old", "--print-calls"]).lines.filter {
            $0.hasPrefix("call ")
        }
        // With the directory and without it.
        #expect(names.contains("call mkdir") && !calls.contains("call mkdir"))
        let renamed = try #require(calls.firstIndex(of: "call rename"))
        for number in 1...calls.count {
            for moment in ["before", "after"] {
                let before = try await self.run("store", ["--text", "old"])
                #expect(before.lines == ["stored"])
                let (lines, status) = try await self.run("store", ["--text", "new", "--kill", "\(moment):\(number)"])
                #expect(status == 128 + SIGKILL && lines.isEmpty)
                let isNew = number - 1 > renamed || (number - 1 == renamed && moment == "after")
                let kept = try self.storage.credential(of: "default")?.accessToken
                #expect(
                    kept == self.accessToken(isNew ? "new" : "old"), "\(moment) \(number), \(calls[number - 1])")
                #expect(try await self.storage.withLock(of: "default", timeout: .zero) { true })
            }
        }
        #expect(try await self.run("store", ["--text", "last"]).lines == ["stored"])
        let left = try FileManager.default.contentsOfDirectory(atPath: self.storage.directory).sorted()
        #expect(left == ["default.json", "default.lock"])
    }

    @Test func aProcessThatDiesBeforeThereIsAFileLeavesNoneOrAWholeOne() async throws {
        let calls = try await self.run("store", ["--print-calls"]).lines.count { $0.hasPrefix("call ") }
        for number in 1...calls {
            try FileManager.default.removeItem(atPath: self.storage.directory)
            let (_, status) = try await self.run("store", ["--kill", "after:\(number)"])
            #expect(status == 128 + SIGKILL)
            let kept = try self.storage.credential(of: "default")?.accessToken
            #expect(kept == nil || kept == self.accessToken("new"))
            #expect(try await self.run("store").lines == ["stored"])
            #expect(try self.storage.credential(of: "default")?.accessToken == self.accessToken("new"))
        }
    }

    /// A file may be no longer than 4 KiB until the first write was short.
    @Test func shortWriteIsContinued() async throws {
        #expect(try await self.run("store", ["--text", "old"]).lines == ["stored"])
        let (lines, status) = try await self.run(
            "store", ["--text", "new", "--file-size", "4096", "--room-for-the-rest", "--print-calls"])
        #expect(status == 0 && lines.last == "stored")
        #expect(lines.count { $0 == "call write" } == 2)
        #expect(try self.storage.credential(of: "default")?.accessToken == self.accessToken("new"))
    }

    /// A file may be no longer than 4 KiB: the first write is short, and the next one fails.
    @Test func aFileThatFindsNoRoomLeavesTheOldOne() async throws {
        #expect(try await self.run("store", ["--text", "old"]).lines == ["stored"])
        let (lines, status) = try await self.run("store", ["--text", "new", "--file-size", "4096"])
        #expect(status == 0)
        #expect(lines.first?.hasPrefix("failed: credentials.system: write failed for ") == true, "\(lines)")
        #expect(try self.storage.credential(of: "default")?.accessToken == self.accessToken("old"))
        let left = try FileManager.default.contentsOfDirectory(atPath: self.storage.directory).sorted()
        #expect(left == ["default.json", "default.lock"])
    }
}
