import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing

/// `chappie whoami`, `usage`, `logout` and `stream` for those who are signed in.
@Suite(.timeLimit(.minutes(10))) struct CommandAccountTests {
    private static func guarded() throws -> CommandProgram {
        var signIn = ChappieTestServer.SignIn()
        signIn.guardsRequests = true
        signIn.pendingPollCount = 0
        return try CommandProgram(signIn)
    }

    // MARK: whoami

    @Test func signedInAccountIsPrintedWithoutAToken() async throws {
        let program = try CommandProgram()
        let stored = try program.signIn()
        let outcome = try await program.run(["whoami"])
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("default  person@example.com\n  account    acc_1\n  plan       plus\n"))
        let line = try await program.run(["whoami", "--json"])
        #expect(line.output.hasPrefix(#"{"type":"account","name":"default","accountID":"acc_1","#))
        for secret in stored.secrets { #expect(!(outcome.everything + line.everything).contains(secret)) }
        #expect(program.server.signInLog.isEmpty)
    }

    @Test func severalAccountsArePrintedByName() async throws {
        let program = try CommandProgram()
        for name in ["work", "home"] { _ = try program.signIn(as: name) }
        let outcome = try await program.run(["whoami", "--all", "--json"])
        #expect(outcome.output.split(separator: "\n").count == 2)
        #expect(outcome.output.contains(#""name":"home""#) && outcome.output.contains(#""name":"work""#))
        #expect(try await program.run(["whoami", "--account", "work"]).output.hasPrefix("work  "))
        #expect(try await program.run(["whoami"]).status == 77)
    }

    @Test(arguments: [["whoami"], ["whoami", "--all"], ["usage"], ["stream", "hi", "--account", "default"]])
    func missingAccountIsReported(words: [String]) async throws {
        let program = try CommandProgram()
        let outcome = try await program.run(words)
        #expect(outcome.status == 77)
        #expect(outcome.errorOutput.hasPrefix("chappie: nobody is signed in"))
        #expect(outcome.output.isEmpty)
    }

    @Test func aStoreThatOthersCanReadIsRefused() async throws {
        let program = try CommandProgram()
        _ = try program.signIn()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: program.home.path(of: "credentials/default.json"))
        for words in [["whoami"], ["usage"], ["logout"], ["stream", "hi"]] {
            let outcome = try await program.run(words)
            #expect(outcome.status == 77)
            #expect(outcome.errorOutput.contains("credentials/default.json"))
        }
    }

    // MARK: usage

    @Test func usageIsPrintedByWindow() async throws {
        let program = try Self.guarded()
        let stored = try program.signIn()
        let outcome = try await program.run(["usage", "--base-url", program.chatGPT])
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("plan  plus\n5 h  42 %  resets in 2 h 2 min ("))
        #expect(outcome.output.contains("\n7 d   5 %  resets in 4 d 12 h ("))
        let line = try await program.run(["usage", "--json", "--base-url", program.chatGPT])
        let usage = try #require(ChappieJSONValue(jsonText: line.output))
        #expect(usage["planType"] == "plus")
        #expect(usage["primary"]?["usedPercent"] == 42)
        #expect(usage["secondary"]?["windowMinutes"] == 10_080)
        for secret in stored.secrets { #expect(!(outcome.everything + line.everything).contains(secret)) }
    }

    /// The token of an account goes to no other server than those of its issuer.
    @Test(arguments: [["usage"], ["stream", "hi", "--account", "default"], ["stream", "hi"]])
    func serverIsThatOfTheIssuer(words: [String]) async throws {
        let program = try Self.guarded()
        _ = try program.signIn()
        let outcome = try await program.run(words)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.output.isEmpty)
        let count = words[0] == "usage" ? program.server.signInLog(of: .usage).count : program.server.log.count
        #expect(count == 1)
    }

    @Test func aTokenThatHasEndedIsRenewedFirst() async throws {
        let program = try Self.guarded()
        let stored = try program.signIn(lifetime: -1)
        let outcome = try await program.run(["usage", "--base-url", program.chatGPT])
        #expect(outcome.status == 0)
        #expect(program.server.signInLog(of: .refresh).count == 1)
        #expect(try program.storage.credential(of: "default")?.accessToken != stored.accessToken)
    }

    @Test func anAccountThatWasRevokedHasToSignInAgain() async throws {
        let program = try Self.guarded()
        let stored = try program.signIn()
        program.server.revokeTokens()
        let outcome = try await program.run(["usage", "--base-url", program.chatGPT])
        #expect(outcome.status == 77)
        for secret in stored.secrets { #expect(!outcome.everything.contains(secret)) }
        #expect(try await program.run(["whoami"]).output.contains("sign in again: chappie login --account default"))
    }

    @Test(
        arguments: [
            (.garbage(byteCount: 9), 65), (.refusal(statusCode: 500, body: "no"), 69),
            (.refusal(statusCode: 429, body: "no"), 75), (.dropped, 69),
        ] as [(ChappieTestServer.SignIn.Answer, Int32)])
    func usageThatFailsHasItsExitCode(answer: ChappieTestServer.SignIn.Answer, status: Int32) async throws {
        var signIn = ChappieTestServer.SignIn()
        signIn.faults = [.init(.usage, answer)]
        let program = try CommandProgram(signIn)
        _ = try program.signIn()
        let outcome = try await program.run(["usage", "--base-url", program.chatGPT])
        #expect(outcome.status == status)
        #expect(outcome.errorOutput.hasPrefix("chappie: "))
    }

    // MARK: logout

    @Test func signOutRemovesAndRevokes() async throws {
        let program = try CommandProgram()
        let stored = try program.signIn()
        let outcome = try await program.run(["logout"])
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput == "Signed out: default.\n")
        #expect(program.server.state(ofToken: try #require(stored.refreshToken)) == .revoked)
        #expect(try program.storage.accounts().isEmpty)
        let again = try await program.run(["logout"])
        #expect(again.status == 0)
        #expect(again.errorOutput == "Nobody was signed in as default.\n")
    }

    @Test(arguments: [
        (ChappieTestServer.SignIn.Answer.dropped, "The server did not answer the revocation."),
        (.refusal(statusCode: 503, body: "no"), "The server refused the revocation (status code 503)."),
    ])
    func signOutSaysWhenTheServerHasNotRevoked(_ answer: ChappieTestServer.SignIn.Answer, _ words: String) async throws
    {
        var signIn = ChappieTestServer.SignIn()
        signIn.faults = [.init(.revoke, answer)]
        let program = try CommandProgram(signIn)
        _ = try program.signIn()
        let outcome = try await program.run(["logout"])
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.hasPrefix("Signed out: default. \(words) "), "\(outcome.errorOutput)")
        #expect(try program.storage.accounts().isEmpty)
    }

    /// The refresh fails, and the time of the turn is over before its last attempt.
    @Test func failingRefreshIsNamedByItsCause() async throws {
        var signIn = ChappieTestServer.SignIn()
        signIn.guardsRequests = true
        signIn.faults = [.init(.refresh, .refusal(statusCode: 503, body: "no"))]
        let program = try CommandProgram(signIn)
        _ = try program.signIn(lifetime: -1)
        let outcome = try await program.run(["stream", "hi", "--account", "default", "--timeout", "2"])
        #expect(outcome.errorOutput.contains("auth.token-exchange.503"), "\(outcome.errorOutput)")
        #expect(outcome.status == 69)
    }

    @Test(arguments: [["stream", "hi", "--account", "default"], ["usage"]])
    func cutTokenAnswerIsInvalidAtOnce(words: [String]) async throws {
        var signIn = ChappieTestServer.SignIn()
        signIn.guardsRequests = true
        signIn.faults = [.init(.refresh, .truncated)]
        let program = try CommandProgram(signIn)
        _ = try program.signIn(lifetime: -1)
        let outcome = try await program.run(words)
        #expect(outcome.status == 65, "\(outcome.errorOutput)")
        #expect(program.server.signInLog(of: .refresh).count == 1)
    }

    /// Settings that only the options of `login` contained are known to the other commands.
    @Test func aServerThatOnlyTheOptionsNamedRefreshesAndRevokes() async throws {
        let program = try Self.guarded()
        let words = program.standardClient.map { $0 == program.issuer ? program.issuer + "/tenant" : $0 }
        #expect(try await program.run(["login"] + words).status == 0)
        program.server.expireAccessTokens()
        #expect(try await program.run(["usage", "--base-url", program.chatGPT]).status == 0)
        let refreshed = try #require(try program.storage.credential(of: "default")?.refreshToken)
        #expect(try await program.run(["logout"]).status == 0)
        #expect(program.server.state(ofToken: refreshed) == .revoked)
        let log = program.server.signInLog.filter { [.refresh, .revoke].contains($0.endpoint) }
        #expect(log.map(\.endpoint) == [.refresh, .revoke])
        #expect(log.allSatisfy { $0.coding == .form })
    }

    @Test func allAccountsCanBeSignedOut() async throws {
        let program = try CommandProgram()
        for name in ["work", "home"] { _ = try program.signIn(as: name) }
        #expect(try await program.run(["logout", "--all"]).errorOutput == "Signed out: home.\nSigned out: work.\n")
        #expect(try program.storage.accounts().isEmpty)
        #expect(program.server.signInLog(of: .revoke).count == 2)
    }

    @Test func unreachableServerDoesNotPreventSignOut() async throws {
        let program = try CommandProgram()
        _ = try program.signIn()
        program.server.stop()
        #expect(try await program.run(["logout"]).status == 0)
        #expect(try program.storage.accounts().isEmpty)
    }

    // MARK: stream

    @Test func aTurnSpeaksForAnAccount() async throws {
        let program = try Self.guarded()
        _ = try program.signIn(as: "work")
        let outcome = try await program.run(["stream", "hi", "--account", "work", "--base-url", program.chatGPT])
        #expect(outcome.status == 0)
        #expect(!outcome.output.isEmpty)
        let record = try #require(program.server.log.first)
        #expect(record.value(of: "chatgpt-account-id") == "acc_1")
        #expect(record.value(of: "originator") == "chappie")
    }

    @Test func tokenIsNotSentToAnotherServer() async throws {
        let program = try Self.guarded()
        _ = try program.signIn()
        let outcome = try await program.run(["stream", "hi", "--max-reconnects", "0", "--base-url", program.chatGPT])
        #expect(outcome.status == 77)
        #expect(program.server.log.allSatisfy { $0.value(of: "chatgpt-account-id") == nil })
    }

    @Test func streamWithoutAKeyAndAnAccountIsAnError() async throws {
        let outcome = try await CommandProgram().run(["stream", "hi"])
        #expect(outcome.status == 77)
        #expect(outcome.output.isEmpty)
        for name in ["OPENAI_API_KEY", "CHAPPIE_API_KEY", "CHAPPIE_BASE_URL", "--demo"] {
            #expect(outcome.errorOutput.contains(name))
        }
    }

    @Test func demoPrintsThatItsTextIsMadeUp() async throws {
        let outcome = try await CommandProgram().run(["stream", "hi", "--demo"])
        #expect(outcome.status == 0)
        #expect(!outcome.output.isEmpty)
        #expect(outcome.errorOutput.hasPrefix("This is the embedded server: its text is made up.\n"))
    }
}
