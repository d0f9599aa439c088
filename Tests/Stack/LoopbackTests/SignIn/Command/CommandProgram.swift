import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation

/// The program `chappie` as a person runs it, with a home of its own.
struct CommandProgram {
    /// The result of a run.
    struct Outcome {
        let output: String
        let errorOutput: String
        let status: Int32

        var everything: String { self.output + self.errorOutput }
    }

    let server: ChappieTestServer
    /// Its home, and the place of the files of a test.
    let home: TemporaryDirectory

    /// Creates a server, and a home directory without accounts.
    init(_ signIn: ChappieTestServer.SignIn = .init()) throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn = signIn
        self.server = try ChappieTestServer(configuration: configuration)
        self.home = try TemporaryDirectory()
    }

    var issuer: String { String(self.server.baseURL.dropLast("/v1".count)) }

    /// The address with the rules of ChatGPT's.
    var chatGPT: String { self.issuer + "/backend-api/codex" }

    var storage: ChappieFileCredentialStorage {
        ChappieFileCredentialStorage(directory: self.home.path(of: "credentials"))
    }

    /// The options of a client of a server like OpenAI's.
    var client: [String] { ["--client-id", "app", "--issuer", self.issuer] }

    /// The options of a client of a server that conforms to the standards.
    var standardClient: [String] {
        self.client + [
            "--token-endpoint", self.issuer + "/oauth/token", "--device-endpoint",
            self.issuer + "/oauth/device_authorization", "--authorization-endpoint", self.issuer + "/oauth/authorize",
            "--revocation-endpoint", self.issuer + "/oauth/revoke",
        ]
    }

    static var path: String { Self.path(of: "chappie") }

    /// A program that is built beside the tests.
    static func path(of name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    /// Runs it to its end.
    func run(_ words: [String], environment: [String: String] = [:]) async throws -> Outcome {
        try await self.run(script: #"exec "$0" "$@" 2>"$CHAPPIE_HOME/errors""#, words, environment: environment)
    }

    /// Runs a script of the shell that runs it: its path is `$0`, and its words are `$@`.
    func run(
        script: String, _ words: [String], environment: [String: String] = [:]
    ) async throws -> Outcome {
        var variables = ["CHAPPIE_HOME": self.home.url.path, "NO_PROXY": "*"]
        for name in ["CHAPPIE_CLIENT_ID", "CHAPPIE_API_KEY", "OPENAI_API_KEY", "CHAPPIE_BASE_URL", "DISPLAY"] {
            variables[name] = ""
        }
        let result = try await ChildProcess.run(
            "/bin/sh", ["-c", script, Self.path] + words, input: "",
            environment: variables.merging(environment) { $1 })
        let errors = try? String(contentsOfFile: self.home.path(of: "errors"), encoding: .utf8)
        return Outcome(
            output: String(decoding: result.output, as: UTF8.self), errorOutput: errors ?? "", status: result.status)
    }

    /// Signs a user in.
    func signIn(as account: String = "default", lifetime: Int? = nil) throws -> ChappieStoredCredential {
        let tokens = self.server.issueTokens(lifetime: lifetime, clientID: "app")
        let stored = ChappieStoredCredential(
            accessToken: tokens.accessToken, refreshToken: tokens.refreshToken, idToken: tokens.idToken,
            accountID: "acc_1", clientID: "app", issuer: self.issuer,
            expiresAt: Date().addingTimeInterval(Double(tokens.expiresIn)), refreshedAt: Date())
        try self.storage.store(stored, of: account)
        return stored
    }
}

extension ChappieStoredCredential {
    /// The values that must not appear anywhere.
    var secrets: [String] { [self.accessToken, self.refreshToken, self.idToken].compactMap(\.self) }
}
