import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing

/// The data that other programs of the machine can see of one that holds tokens, and of one that crashes.
@Suite(.timeLimit(.minutes(10))) struct CommandCanaryTests {
    private static let marker = ChappieTestServer.tokenMarker

    /// Runs the command until the unanswering endpoint was called; returns its arguments, its environment, its output.
    private static func seen(
        _ words: [String], of program: CommandProgram, silentAt endpoint: ChappieTestServer.SignIn.Endpoint
    ) async throws -> CommandProgram.Outcome {
        let script = """
            mkfifo "$CHAPPIE_HOME/gate"
            "$0" "$@" >"$CHAPPIE_HOME/output" 2>"$CHAPPIE_HOME/errors" & program=$!
            read -r line <"$CHAPPIE_HOME/gate"
            cat "/proc/$program/cmdline" "/proc/$program/environ"
            kill -TERM $program
            wait $program
            cat "$CHAPPIE_HOME/output"
            """
        async let outcome = program.run(script: script, words)
        await program.server.reached(.signInRequests(endpoint, 1))
        try program.home.open("gate")
        return try await outcome
    }

    @Test(
        arguments: [
            (["login"], .exchange), (["usage"], .refresh), (["stream", "hi"], .refresh), (["logout"], .revoke),
        ] as [([String], ChappieTestServer.SignIn.Endpoint)])
    func argumentsEnvironmentAndOutputContainNoSecret(
        words: [String], endpoint: ChappieTestServer.SignIn.Endpoint
    ) async throws {
        var signIn = ChappieTestServer.SignIn()
        signIn.pendingPollCount = 0
        signIn.guardsRequests = true
        signIn.faults = [.init(endpoint, .silence)]
        let program = try CommandProgram(signIn)
        if endpoint != .exchange { _ = try program.signIn(lifetime: -1) }
        let more =
            switch endpoint {
            case .exchange: program.client
            case .revoke: [String]()
            default: ["--account", "default", "--base-url", program.chatGPT]
            }
        let outcome = try await Self.seen(words + more, of: program, silentAt: endpoint)
        #expect(outcome.output.contains(words[0]) && outcome.output.contains("CHAPPIE_HOME="))
        #expect(!outcome.everything.contains(Self.marker))
    }

    /// A crash that is explained as far as the system can: the failure, the registers, what they point at.
    @Test(arguments: [("trap", "stopped on purpose"), ("throw", "auth.token-exchange.401")])
    func theTextOfACrashHoldsNoToken(command: String, words: String) async throws {
        let directory = try TemporaryDirectory()
        let storage = ChappieFileCredentialStorage(directory: directory.path(of: "credentials"))
        // The server's text must not be visible either.
        let body = #"{"error":{"code":"refresh_token_reused","message":"\#(Self.marker)"}}"#
        let change = { (configuration: inout ChappieTestServer.Configuration) in
            configuration.signIn.faults = [.init(.refresh, .refusal(statusCode: 401, body: body))]
        }
        try await RefreshFixture.run(change, storage: storage) { fixture in
            let arguments = [command, "--directory", storage.directory, "--issuer", fixture.server.origin]
            let (output, status) = try await ChildProcess.run(
                "/bin/sh", ["-c", #"exec "$0" "$@" 2>&1"#, CommandProgram.path(of: "credential-probe")] + arguments,
                input: "",
                environment: ["SWIFT_BACKTRACE": "enable=yes,interactive=no,color=no,symbolicate=off,output-to=stdout"])
            let text = String(decoding: output, as: UTF8.self)
            #expect(status > 128, "\(text)")
            #expect(text.contains(words) && text.contains("crashed"), "\(text)")
            try fixture.secrets().expectNone(in: text, isDeep: false)
            #expect(fixture.refreshCount == 1)
        }
    }
}

extension TemporaryDirectory {
    /// Releases the callers that wait at a pipe.
    fileprivate func open(_ name: String) throws {
        let pipe = try FileHandle(forWritingTo: self.url.appendingPathComponent(name))
        try pipe.write(contentsOf: Data("\n".utf8))
        try pipe.close()
    }
}
