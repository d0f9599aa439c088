import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing

@testable import ChappieTransport

/// `chappie login` as a process, against the server of the tests.
@Suite(.timeLimit(.minutes(10))) struct CommandLoginTests {
    private static func signIn(
        _ change: (inout ChappieTestServer.SignIn) -> Void = { _ in }
    ) -> ChappieTestServer.SignIn {
        var signIn = ChappieTestServer.SignIn()
        signIn.pendingPollCount = 0
        change(&signIn)
        return signIn
    }

    // MARK: A code

    @Test func aCodeSignsIn() async throws {
        let program = try CommandProgram(Self.signIn())
        let outcome = try await program.run(["login"] + program.client)
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.contains("\n  \(program.issuer)/codex/device\n"))
        #expect(outcome.errorOutput.contains("and enter this code:\n\n  "))
        #expect(outcome.output.hasPrefix("Signed in.\ndefault  person@example.com\n"))
        let stored = try #require(try program.storage.credential(of: "default"))
        #expect(stored.clientID == "app")
        #expect(stored.issuer == program.issuer)
        #expect(program.server.state(ofToken: stored.accessToken) == .good)
        for secret in stored.secrets { #expect(!outcome.everything.contains(secret)) }
        // No line is rewritten when the output is not a terminal.
        #expect(!outcome.everything.contains("\r") && !outcome.everything.contains("\u{1B}"))
    }

    @Test func aServerThatKeepsToTheStandardsSignsInAnAccountWithAName() async throws {
        let program = try CommandProgram(Self.signIn())
        let outcome = try await program.run(["login", "--account", "work"] + program.standardClient)
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.contains("\n  \(program.issuer)/codex/device?user_code="))
        #expect(outcome.output.contains("\nwork  person@example.com\n"))
        #expect(try program.storage.accounts() == ["work"])
    }

    @Test func allOptionsMayComeFromTheFile() async throws {
        let program = try CommandProgram(Self.signIn())
        let members = [
            "client_id": "app", "issuer": program.issuer, "account": "filed",
            "token_endpoint": program.issuer + "/oauth/token",
            "device_authorization_endpoint": program.issuer + "/oauth/device_authorization",
        ]
        let text = String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
        try program.home.write(text, to: "config.json")
        #expect(try await program.run(["login"]).status == 0)
        #expect(try program.storage.accounts() == ["filed"])
        #expect(program.server.signInLog.allSatisfy { $0.clientID == "app" })
    }

    @Test func asJSONThereIsALineForEachStep() async throws {
        let program = try CommandProgram(Self.signIn())
        let outcome = try await program.run(["login", "--json"] + program.client)
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.isEmpty)
        let lines = outcome.output.split(separator: "\n").compactMap { ChappieJSONValue(jsonText: String($0)) }
        #expect(lines.map { $0["type"]?.string } == ["deviceCode", "account"])
        #expect(lines.first?["verificationURL"]?.string == program.issuer + "/codex/device")
        #expect(lines.first?["userCode"]?.string?.isEmpty == false)
        #expect(lines.last?["email"]?.string == "person@example.com")
        let stored = try #require(try program.storage.credential(of: "default"))
        for secret in stored.secrets { #expect(!outcome.everything.contains(secret)) }
    }

    /// The person would sign in for nothing.
    @Test(arguments: [
        (#"mkdir -m 755 "$STORE""#, 77), (#": >"$STORE""#, 77), (#"mkdir -p -m 700 "$STORE/default.json""#, 77),
        (#"mkdir -p -m 700 "$STORE/default.lock""#, 77), (#"ln -s /nowhere/else "$STORE""#, 77),
    ])
    func storeThatCannotBeWrittenIsReportedBeforeTheSignIn(line: String, status: Int32) async throws {
        let program = try CommandProgram(Self.signIn())
        let store = program.home.path(of: "store")
        for browser in [[], ["--browser", "--no-open"]] {
            let outcome = try await program.run(
                script: line + #" 2>/dev/null; chmod 700 "$CHAPPIE_HOME"; exec "$0" "$@" 2>"$CHAPPIE_HOME/errors""#,
                ["login", "--store", store] + browser + program.client, environment: ["STORE": store])
            #expect(outcome.status == status, "\(outcome.everything)")
            #expect(outcome.errorOutput.contains(store), "\(outcome.errorOutput)")
        }
        #expect(program.server.signInLog.isEmpty)
    }

    @Test func missingClientIDSendsNoRequest() async throws {
        let program = try CommandProgram(Self.signIn())
        let outcome = try await program.run(["login", "--issuer", program.issuer])
        #expect(outcome.status == 64)
        for way in ["--client-id ID", "CHAPPIE_CLIENT_ID", program.home.path(of: "config.json")] {
            #expect(outcome.errorOutput.contains(way))
        }
        #expect(program.server.signInLog.isEmpty)
        let other = try await program.run(
            ["login", "--issuer", program.issuer], environment: ["CHAPPIE_CLIENT_ID": "variable"])
        #expect(other.status == 0)
        #expect(program.server.signInLog.allSatisfy { $0.clientID ?? "variable" == "variable" })
    }

    @Test(
        arguments: [
            (.refusal(statusCode: 403, body: #"{"error":{"code":"access_denied","message":"no"}}"#), 77, "auth.denied"),
            (.refusal(statusCode: 400, body: #"{"error":"expired_token"}"#), 124, "auth.expired-device-code"),
            (.garbage(byteCount: 10), 65, "auth.invalid-response"),
        ] as [(ChappieTestServer.SignIn.Answer, Int32, String)])
    func aPollThatFailsHasItsExitCode(
        answer: ChappieTestServer.SignIn.Answer, status: Int32, tag: String
    ) async throws {
        let program = try CommandProgram(Self.signIn { $0.faults = [.init(.poll, answer)] })
        let outcome = try await program.run(["login"] + program.client)
        #expect(outcome.status == status)
        #expect(outcome.errorOutput.contains("\nchappie: "))
        #expect(outcome.output.isEmpty)
        #expect(try program.storage.accounts().isEmpty)
        let line = try await program.run(["login", "--json"] + program.client)
        #expect(line.status == status)
        #expect(line.output.contains(#"{"type":"error","tag":"\#(tag)","#))
    }

    @Test(arguments: [(400, 77), (401, 77), (403, 77), (429, 75), (500, 69)] as [(Int, Int32)])
    func anExchangeThatIsRefusedHasItsExitCode(statusCode: Int, status: Int32) async throws {
        let program = try CommandProgram(
            Self.signIn { $0.faults = [.init(.exchange, .refusal(statusCode: statusCode, body: "SECRET-WORDS"))] })
        let outcome = try await program.run(["login"] + program.client)
        #expect(outcome.status == status)
        #expect(!outcome.everything.contains("SECRET-WORDS"))
    }

    @Test func aServerThatIsNotThereIsUnavailable() async throws {
        let program = try CommandProgram()
        program.server.stop()
        let outcome = try await program.run(["login"] + program.client)
        #expect(outcome.status == 69)
        #expect(outcome.errorOutput.hasPrefix("chappie: The exchange with the authorization server failed: The server"))
        // One piece of advice is enough.
        #expect(outcome.errorOutput.components(separatedBy: "Check the network").count == 2)
    }

    @Test func storageFailureIsReportedAsJSON() async throws {
        let program = try CommandProgram()
        try FileManager.default.createDirectory(atPath: program.storage.directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.storage.directory)
        let outcome = try await program.run(["login", "--json"] + program.client)
        #expect(outcome.status == 77)
        let line = try #require(outcome.output.split(separator: "\n").last)
        let error = ChappieJSONValue(jsonText: String(line))
        #expect(error?["type"]?.string == "error")
        #expect(error?["tag"]?.string == "credentials.insecure-permissions")
        #expect(error?["requiresReauthentication"] == .bool(false))
        #expect(!outcome.everything.contains(ChappieTestServer.tokenMarker))
    }

    @Test(arguments: ["INT", "TERM"])
    func signalCancelsTheLogin(signal: String) async throws {
        let program = try CommandProgram(Self.signIn { $0.pendingPollCount = nil })
        let script = """
            mkfifo "$CHAPPIE_HOME/lines"
            "$0" "$@" >"$CHAPPIE_HOME/lines" 2>"$CHAPPIE_HOME/errors" & program=$!
            exec 3<"$CHAPPIE_HOME/lines"
            read -r line <&3
            kill -\(signal) $program
            cat <&3
            wait $program
            """
        let outcome = try await program.run(script: script, ["login", "--json"] + program.client)
        #expect(outcome.status == 130)
        #expect(outcome.output.contains(#""tag":"auth.cancelled""#))
        #expect(outcome.errorOutput == "chappie: the sign-in was cancelled\n")
        #expect(try program.storage.accounts().isEmpty)
    }

    // MARK: A browser

    /// Returns a program that replaces the one that opens pages: it records its arguments, its environment and the
    /// running processes, and follows the page like a browser in which the user agrees.
    private static func opener(in program: CommandProgram) throws -> String {
        let script = """
            #!/bin/sh
            printf '%s\\n' "$@" >"${0%/*}/arguments"
            env >"${0%/*}/environment"
            ps -eww -o args= >"${0%/*}/processes"
            exec curl -sL "$1"
            """
        let path = try program.home.write(script, to: "xdg-open")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return program.home.url.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
    }

    @Test func browserSignInPassesNoSecretToProcesses() async throws {
        let program = try CommandProgram(Self.signIn())
        let environment = [
            "PATH": try Self.opener(in: program), "DISPLAY": ":0", "OPENAI_API_KEY": "canary-key-7f3a",
        ]
        let outcome = try await program.run(["login", "--browser"] + program.standardClient, environment: environment)
        #expect(outcome.status == 0)
        let seen = try String(contentsOfFile: program.home.path(of: "environment"), encoding: .utf8)
        #expect(seen.contains("DISPLAY=:0") && !seen.contains("canary"), "\(seen)")
        #expect(outcome.output.hasPrefix("Signed in.\n"))
        #expect(outcome.errorOutput.hasPrefix("Your browser opens this page"))
        let arguments = try String(contentsOfFile: program.home.path(of: "arguments"), encoding: .utf8)
        let page = try #require(URL(string: String(arguments.dropLast())))
        #expect(arguments.count { $0 == "\n" } == 1)
        #expect(outcome.errorOutput.contains(page.absoluteString))
        let items = try #require(URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems)
        #expect(!items.contains { $0.name.contains("verifier") })
        let challenge = try #require(items.first { $0.name == "code_challenge" }?.value)
        let processes = try String(contentsOfFile: program.home.path(of: "processes"), encoding: .utf8)
        #expect(processes.contains(challenge))
        let stored = try #require(try program.storage.credential(of: "default"))
        for secret in stored.secrets { #expect(!(processes + outcome.everything).contains(secret)) }
        // Whatever could be the verifier has another challenge (RFC 7636 section 4.2).
        let words = (processes + outcome.everything).split { !($0.isLetter || $0.isNumber || "-._~".contains($0)) }
        #expect(words.allSatisfy { CodeChallenge.s256(String($0)) != challenge })
    }

    @Test(arguments: [["--no-open"], []])
    func pageIsOnlyPrintedWithoutADisplayOrOption(words: [String]) async throws {
        let program = try CommandProgram(Self.signIn())
        let environment = ["PATH": try Self.opener(in: program), "DISPLAY": words.isEmpty ? "" : ":0"]
        let script = """
            mkfifo "$CHAPPIE_HOME/lines"
            "$0" "$@" >"$CHAPPIE_HOME/lines" 2>"$CHAPPIE_HOME/errors" & program=$!
            exec 3<"$CHAPPIE_HOME/lines"
            read -r line <&3
            printf '%s\\n' "$line"
            curl -sL "$(printf '%s' "$line" | sed 's/.*"authorizationURL":"\\([^"]*\\)".*/\\1/')" >/dev/null
            cat <&3
            wait $program
            """
        let outcome = try await program.run(
            script: script, ["login", "--browser", "--json"] + words + program.standardClient, environment: environment)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains(#""opened":false}"#))
        #expect(outcome.output.contains(#""email":"person@example.com""#))
        #expect(!FileManager.default.fileExists(atPath: program.home.path(of: "arguments")))
    }

    @Test(arguments: [[], ["--browser"]])
    func signInWithoutAnEndpointIsAUsageError(words: [String]) async throws {
        let program = try CommandProgram()
        let client = program.client + ["--token-endpoint", program.issuer + "/oauth/token"]
        let outcome = try await program.run(["login"] + client + words)
        #expect(outcome.status == 64)
        #expect(outcome.errorOutput.contains(words.isEmpty ? "--device-endpoint URL" : "--authorization-endpoint URL"))
        #expect(program.server.signInLog.isEmpty)
    }

    @Test func noOpenFlagRequiresTheBrowserFlag() async throws {
        let program = try CommandProgram()
        let outcome = try await program.run(["login", "--no-open"] + program.client)
        #expect(outcome.status == 64)
        #expect(outcome.errorOutput.contains("--no-open needs --browser"))
    }
}
