import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The output of `chappie`, also with readers that are slow, do not read, or stop early.
@Suite(.timeLimit(.minutes(10))) struct CommandOutputTests {
    /// A server whose answer begins with more text than any pipe holds.
    private static func withLargeAnswer<Result>(
        _ body: (ChappieTestServer, TemporaryDirectory) async throws -> Result
    ) async throws -> Result {
        let faults = [ChappieTestServer.Fault(action: .largeDelta(byteCount: 1 << 20))]
        return try await withServer(.init(model: .scripted(.init()), faults: faults)) {
            try await body($0, TemporaryDirectory())
        }
    }

    private static func environment(_ home: TemporaryDirectory) -> [String: String] {
        ["CHAPPIE_HOME": home.url.path, "NO_PROXY": "*", "CHAPPIE_API_KEY": "", "OPENAI_API_KEY": ""]
    }

    private static func report(_ path: String) throws -> ChappieStreamReport {
        try JSONDecoder().decode(ChappieStreamReport.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test func helpCommandAndHelpOptionPrintTheSameText() async throws {
        let forms = [["help", "stream"], ["stream", "--help"]]
        var texts: [String] = []
        for words in forms {
            let (output, status) = try await ChildProcess.run(CommandProgram.path, words, input: "", environment: [:])
            #expect(status == 0)
            texts.append(String(decoding: output, as: UTF8.self))
        }
        #expect(texts[0].hasPrefix("Usage: chappie stream "))
        #expect(texts[0] == texts[1])
    }

    /// A signal ends it in order, with its report, although its blocked output is not read.
    @Test(arguments: [[], ["--json"]], [SIGINT, SIGTERM])
    func interruptEndsABlockedOutput(_ options: [String], signal: CInt) async throws {
        try await Self.withLargeAnswer { server, home in
            let path = home.path(of: "report.json")
            let child = try ChildProcess(
                CommandProgram.path, ["stream", "--base-url", server.baseURL, "--report", path, "hi"] + options,
                environment: Self.environment(home))
            #expect(await child.hasOutput())
            child.send(signal)
            #expect(await child.status() == 130)
            #expect(try Self.report(path).attempts.count == 1)
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.closeCode) == [1001])
        }
    }

    /// The server answers the close frame late, behind other bytes: a socket that still has them at the exit is reset.
    @Test(arguments: [true, false])
    func interruptedProgramWaitsAShortTimeForTheServersCloseFrame(answers: Bool) async throws {
        let (server, home) = (try RawServer(), try TemporaryDirectory())
        let child = try ChildProcess(
            CommandProgram.path, ["stream", "--base-url", "http://127.0.0.1:\(server.port)/v1", "hi"],
            environment: Self.environment(home))
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        #expect(await peer.readMessage()?.opcode == 1)
        let stopwatch = Stopwatch()
        child.send(SIGINT)
        #expect(await peer.readCloseCode() == 1001)
        try await RawServer.fence()
        if answers {
            peer.write(RawPeer.frame(2, .counting(60_000)))
            peer.writeFrame(opcode: 8, [0x03, 0xE9])
            peer.endWriting()
        }
        #expect(await peer.receive() == .end)
        #expect(await child.status() == 130)
        let time = await stopwatch.stop()
        #expect(time.ownTime < .seconds(1))
        if !answers { #expect(time.elapsed > .milliseconds(300)) }
    }

    /// A user who quits the program wants it to end, without a list of registers.
    @Test func quitSignalEndsTheProgramAtOnce() async throws {
        try await Self.withLargeAnswer { server, home in
            let child = try ChildProcess(
                CommandProgram.path, ["stream", "--base-url", server.baseURL, "hi"],
                environment: Self.environment(home))
            #expect(await child.hasOutput())
            child.send(SIGQUIT)
            #expect(await child.status() == 128 + SIGQUIT)
        }
    }

    @Test func timeLimitEndsABlockedOutput() async throws {
        try await Self.withLargeAnswer { server, home in
            let path = home.path(of: "report.json")
            let child = try ChildProcess(
                CommandProgram.path,
                ["stream", "--base-url", server.baseURL, "--report", path, "--timeout", "0.5", "hi"],
                environment: Self.environment(home))
            #expect(await child.status() == 124)
            #expect(try Self.report(path).attempts.count == 1)
        }
    }

    /// A reader that closes the output early is not an error.
    @Test(arguments: [[], ["--json"]])
    func closedOutputIsNotAnError(_ options: [String]) async throws {
        try await Self.withLargeAnswer { server, home in
            let report = home.path(of: "report.json")
            let status = home.path(of: "status")
            let result = try await ChildProcess.run(
                "/bin/sh",
                [
                    "-c", #"{ "$0" "$@"; echo $? >"$STATUS"; } | head -c 1000"#, CommandProgram.path, "stream",
                    "--base-url", server.baseURL, "--report", report, "hi",
                ] + options,
                input: "", environment: Self.environment(home).merging(["STATUS": status]) { $1 })
            #expect(result.output.count == 1_000)
            #expect(try String(contentsOfFile: status, encoding: .utf8) == "0\n")
            #expect(try Self.report(report).attempts.count == 1)
        }
    }

    /// A program that reads the lines needs no standard error to tell why no stream has begun.
    @Test(
        arguments: [
            (["hi"], "auth.missing-credential", 77), (["--no-such", "hi"], "usage", 64), ([], "usage", 64),
            (["hi", "--request", "/nowhere/request.json"], "usage", 64),
            (["--demo", "hi", "--report", "/"], "usage", 64),
        ] as [([String], String, Int32)])
    func streamThatCannotBeginHasAnErrorLine(_ words: [String], tag: String, status: Int32) async throws {
        let program = try CommandProgram()
        let outcome = try await program.run(["stream", "--json"] + words)
        #expect(outcome.status == status)
        #expect(outcome.output.hasPrefix(#"{"type":"error","tag":"\#(tag)","#), "\(outcome.output)")
        #expect(outcome.output.split(separator: "\n").count == 1)
        // The text for people is as it is without the option.
        let text = try await program.run(["stream"] + words)
        #expect(text.status == status && text.output.isEmpty)
        #expect(text.errorOutput == outcome.errorOutput)
    }

    /// Opened files do not get the numbers of the standard ones, to which output is written.
    @Test(arguments: ["<&- >&- 2>&-", "<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&-"])
    func closedStandardFilesAreNotReplacedByOthers(_ closing: String) async throws {
        let program = try CommandProgram()
        let path = program.home.path(of: "report.json")
        _ = try await program.run(
            script: #"exec "$0" "$@" "# + closing,
            ["stream", "--base-url", program.server.baseURL, "--json", "--raw", "all", "--report", path, "hi"])
        let written = try Self.report(path)
        #expect(written.attempts.map(\.outcome) == ["completed"])
        #expect(program.server.log.count == 1)
    }
}
