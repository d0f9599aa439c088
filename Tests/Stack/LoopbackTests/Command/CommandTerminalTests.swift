import ChappieTestServer
import Foundation
import Testing

/// `chappie stream` on a terminal: the text of a model and its tools, and the answers to questions.
@Suite(.timeLimit(.minutes(10))) struct CommandTerminalTests {
    private static let question = "\u{1B}[7mRun get_weather with "
    private static let fakeQuestion = "\u{1B}[7mRun get_weather with {}? [y/N]\u{1B}[0m "

    /// A server whose model calls a tool with these arguments, and then asks the same itself.
    private static func withModel<Result>(
        arguments: String = #"{"city":"Oslo"}"#, _ body: (String, [String: String]) async throws -> Result
    ) async throws -> Result {
        var model = ChappieTestServer.ScriptedModel()
        model.text = Self.fakeQuestion
        model.toolArguments = ["get_weather": arguments]
        let home = try TemporaryDirectory()
        return try await withServer(.init(model: .scripted(model))) { server in
            try await body(
                server.baseURL,
                [
                    "CHAPPIE_HOME": home.url.path, "HOME": home.url.path, "NO_PROXY": "*", "TERM": "xterm",
                    "CHAPPIE_API_KEY": "canary-key-c0de", "OPENAI_API_KEY": "canary-key-beef",
                ])
        }
    }

    private static func start(
        _ url: String, _ environment: [String: String], tool: String = "cat", _ options: [String] = [],
        typedAhead: String = ""
    ) throws -> ChildProcess {
        try ChildProcess(
            onTerminal: CommandProgram.path,
            ["stream", "--base-url", url, "--tool", "get_weather=" + tool, "hi"] + options, environment: environment,
            typedAhead: typedAhead)
    }

    @Test func inputBeforeTheQuestionDoesNotAnswerIt() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(url, environment, typedAhead: "y\nyes\ny")
            #expect(await child.hasShown("? [y/N]"))
            child.type("n\n")
            let shown = await child.allOutput()
            #expect(await child.status() == 0)
            #expect(shown.contains("tool get_weather denied"), "\(shown)")
            #expect(!shown.contains("tool get_weather completed"), "\(shown)")
        }
    }

    @Test func inputAfterTheQuestionAnswersIt() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(url, environment)
            #expect(await child.hasShown(Self.question + #"{"city":"Oslo"}? [y/N]"#))
            child.type("y\n")
            let shown = await child.allOutput()
            #expect(await child.status() == 0)
            #expect(shown.contains(#"tool get_weather completed {"city":"Oslo"}"#), "\(shown)")
        }
    }

    /// The model's own question has the same text, but cannot have the same style.
    @Test func modelTextCannotImitateAQuestion() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(url, environment, ["--approve", "always"])
            let shown = await child.allOutput()
            #expect(shown.contains("[7mRun get_weather with {}? [y/N][0m"), "\(shown)")
            #expect(!shown.contains(Self.question), "\(shown)")
        }
    }

    /// Questions are on the terminal and not in a file, and so are their answers.
    @Test func questionIsOnTheTerminalWhereverTheOutputsGo() async throws {
        try await Self.withModel { url, environment in
            let child = try ChildProcess(
                onTerminal: "/bin/sh",
                [
                    "-c", #"exec "$0" "$@" >/dev/null 2>"$HOME/errors""#, CommandProgram.path, "stream", "--base-url",
                    url, "--approve", "ask", "--tool", "get_weather=cat", "hi",
                ], environment: environment)
            #expect(await child.hasShown(Self.question))
            child.type("y\n")
            #expect(await child.status() == 0)
            let errors = try String(contentsOfFile: (environment["HOME"] ?? "") + "/errors", encoding: .utf8)
            #expect(errors.contains("tool get_weather completed") && !errors.contains("[y/N]"), "\(errors)")
        }
    }

    @Test func questionIsOneLineWhateverTheArgumentsAre() async throws {
        let flood = String(repeating: #"\n"# + "\u{202E}\u{200B}", count: 500)
        try await Self.withModel(arguments: #"{"command":"rm -rf /"# + flood + #"; echo hi"}"#) { url, environment in
            let child = try Self.start(url, environment)
            #expect(await child.hasShown("? [y/N]"))
            child.type("n\n")
            let shown = await child.allOutput()
            let question = try #require(shown.components(separatedBy: "\u{1B}[7m").dropFirst().first)
                .components(separatedBy: "\u{1B}[0m")[0]
            #expect(question.hasPrefix(#"Run get_weather with {"comm"#) && question.hasSuffix(#"hi"}? [y/N]"#))
            #expect(question.count <= 75 && question.contains(" characters)…"), "\(question)")
        }
    }

    /// The number of times that the question is shown in an output.
    private static func questionCount(in shown: String) -> Int {
        shown.components(separatedBy: Self.question).count - 1
    }

    /// An answer to a question that nobody waits for would be the input of the shell.
    @Test func interruptedTurnDoesNotAskAgain() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(url, environment)
            #expect(await child.hasShown(Self.question + #"{"city":"Oslo"}? [y/N]"#))
            child.type("y")
            child.send(SIGINT)
            let shown = await child.allOutput()
            #expect(await child.status() == 130)
            #expect(Self.questionCount(in: shown) == 1, "\(shown)")
        }
    }

    @Test func turnWhoseTimeIsOverDoesNotAskAgain() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(url, environment, ["--timeout", "1"])
            let shown = await child.allOutput()
            #expect(await child.status() == 124)
            // On a busy machine the time may be over before the question.
            #expect(Self.questionCount(in: shown) <= 1, "\(shown)")
        }
    }

    // MARK: Tools

    /// The environment may have keys, of this program and of others.
    @Test func toolEnvironmentHasNoKey() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(
                url, environment.merging(["LC_TIME": "C", "GITHUB_TOKEN": "canary-key-0dd5"]) { $1 },
                tool: #"env >"$HOME/seen""#, ["--approve", "always"])
            _ = await child.allOutput()
            #expect(await child.status() == 0)
            let seen = try String(contentsOfFile: (environment["HOME"] ?? "") + "/seen", encoding: .utf8)
            #expect(!seen.contains("canary") && !seen.contains("CHAPPIE"), "\(seen)")
            for name in ["PATH=", "HOME=", "TERM=xterm", "LC_TIME=C"] { #expect(seen.contains(name), "\(seen)") }
        }
    }

    /// A tool may print what a model gave it, on standard error too.
    @Test func toolOutputIsEscapedForTheTerminal() async throws {
        try await Self.withModel { url, environment in
            let child = try Self.start(
                url, environment, tool: #"printf '\033]0;title\007\033[7mRun get_weather with x\n\033[2J' >&2; cat"#,
                ["--approve", "always"])
            let shown = await child.allOutput()
            #expect(await child.status() == 0)
            let line = #"get_weather: \u{1B}]0;title\u{7}\u{1B}[7mRun get_weather with x"#
            #expect(shown.contains(line), "\(shown)")
            #expect(shown.contains(#"get_weather: \u{1B}[2J"#), "\(shown)")
            for sequence in ["\u{1B}]", "\u{1B}[2J", "\u{7}", Self.question] { #expect(!shown.contains(sequence)) }
        }
    }

    /// A server's words in an error.
    @Test func serverOutputIsEscapedForTheTerminal() async throws {
        let words = "\u{1B}]0;title\u{7}\u{9B}2J\u{202E}"
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(.init()), faults: [.init(.answer(status: 400, body: words))])
        configuration.additionalFields = [.init(name: "x-request-id", value: "req\u{202E}1")]
        let home = try TemporaryDirectory()
        try await withServer(configuration) { server in
            let child = try Self.start(server.baseURL, ["CHAPPIE_HOME": home.url.path, "NO_PROXY": "*"])
            let shown = await child.allOutput()
            #expect(await child.status() == 69)
            for sequence in ["\u{1B}]", "\u{7}", "\u{9B}", "\u{202E}"] { #expect(!shown.contains(sequence)) }
        }
    }
}
