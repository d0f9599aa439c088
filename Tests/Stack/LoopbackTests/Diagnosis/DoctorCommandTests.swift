import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing

/// `chappie doctor` as a process: what it prints, its exit code, and what it does not print.
@Suite(.timeLimit(.minutes(10))) struct DoctorCommandTests {
    private static let secrets = ["sk-canary-key", "canary-word", "canary-user"]

    @Test func outputBeginsWithTheSentence() async throws {
        let program = try CommandProgram()
        let outcome = try await program.run(["doctor", program.server.baseURL])
        #expect(outcome.status == 0, "\(outcome.everything)")
        #expect(outcome.output.hasPrefix("WebSockets and HTTP work.\n"))
        #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(outcome.output.contains("\npings"))
    }

    @Test func exitCodeFollowsFromTheVerdict() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.faults = [.init(.answer(status: 426), transport: .webSocket)]
        let server = try ChappieTestServer(configuration: configuration)
        let program = try CommandProgram()
        let degraded = try await program.run(["doctor", server.baseURL])
        #expect(degraded.status == 75)
        #expect(degraded.output.contains("Set: --http-only\n"))
        let suggested = try await program.run(["doctor", server.baseURL, "--suggest"])
        #expect(suggested.output.contains("chappie stream --http-only PROMPT\n"))
        #expect(suggested.output.contains("configuration.policy = .httpSSEOnly\n"))
        server.stop()
        let failed = try await program.run(["doctor", server.baseURL])
        #expect(failed.status == 69)
        #expect(failed.output.hasPrefix("The server's machine refuses connections on this port.\n"))
    }

    @Test func theResultIsAJSONObject() async throws {
        let program = try CommandProgram()
        let outcome = try await program.run(["doctor", program.server.baseURL, "--json"])
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        #expect(object?["type"] as? String == "diagnosis")
        #expect(object?["verdict"] as? String == "works")
        #expect((object?["steps"] as? [Any])?.count == 14)
    }

    /// The certificate that is not trusted follows from the file, and is no cause of its own.
    @Test func missingTrustFileIsTheOnlyCause() async throws {
        let server = try TLSServer()
        let program = try CommandProgram()
        let outcome = try await program.run(
            ["doctor", "https://127.0.0.1:\(server.server.port)/v1", "--json"],
            environment: ["SSL_CERT_FILE": "/nonexistent/authorities.pem"])
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        let causes = object?["causes"] as? [[String: Any]]
        #expect(causes?.map { $0["name"] as? String } == ["environment.trust-anchors"])
    }

    /// The addresses are those of the environment alone; what was typed may be printed.
    @Test(arguments: [[], ["--json"], ["--suggest"]])
    func noSecretAndNoAddressOfTheEnvironmentIsPrinted(form: [String]) async throws {
        let proxy = try AnsweringServer(AnsweringServer.response("407 Proxy Authentication Required"))
        let program = try CommandProgram()
        let outcome = try await program.run(
            ["doctor", "--fast"] + form,
            environment: [
                "CHAPPIE_BASE_URL": "http://inner.example.invalid:8123/v1?key=canary-word",
                "http_proxy": "http://canary-user:canary-word@127.0.0.1:\(proxy.port)", "NO_PROXY": "",
                "CHAPPIE_API_KEY": "sk-canary-key",
            ])
        #expect(outcome.status == 69)
        for secret in Self.secrets + ["inner.example", "8123", "127.0.0.1", "\(proxy.port)"] {
            #expect(!outcome.everything.contains(secret), "\(outcome.everything)")
        }
        let full = try await program.run(
            ["doctor", "--fast", "--full"],
            environment: [
                "CHAPPIE_BASE_URL": "http://inner.example.invalid:8123/v1?key=canary-word",
                "http_proxy": "http://canary-user:canary-word@127.0.0.1:\(proxy.port)", "NO_PROXY": "",
                "CHAPPIE_API_KEY": "sk-canary-key",
            ])
        #expect(full.output.contains("http proxy at 127.0.0.1:\(proxy.port)"))
        for secret in Self.secrets { #expect(!full.everything.contains(secret), "\(full.everything)") }
    }

    /// A certificate has names of machines as well.
    @Test(arguments: [[], ["--json"], ["--suggest"], ["--full"]])
    func theNameInACertificateIsPrintedWhenAskedFor(form: [String]) async throws {
        var options = ChappieTestServer.TLSOptions()
        options.issuerName = "hidden-host.corp.example"
        let (server, other) = (try TLSServer(options), try TLSServer())
        let outcome = try await CommandProgram().run(
            ["doctor", "https://127.0.0.1:\(server.server.port)/v1"] + form,
            environment: ["SSL_CERT_FILE": other.trustPath])
        #expect(outcome.status == 69)
        #expect(outcome.everything.contains("hidden-host") == (form == ["--full"]), "\(outcome.everything)")
        withExtendedLifetime((server, other)) {}
    }

    // MARK: Accounts

    private static func guarded() throws -> CommandProgram {
        var signIn = ChappieTestServer.SignIn()
        signIn.guardsRequests = true
        return try CommandProgram(signIn)
    }

    private static func words(of step: String, in output: String) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        let steps = object?["steps"] as? [[String: Any]]
        return steps?.first { $0["step"] as? String == step }?["words"] as? String
    }

    /// A token that is good, and one that has to be refreshed first.
    @Test(arguments: [nil, -1] as [Int?]) func theCredentialOfAnAccountIsUsedAndNotPrinted(lifetime: Int?) async throws
    {
        let program = try Self.guarded()
        let stored = try program.signIn(lifetime: lifetime)
        for form in [["--json"], ["--full", "--json"], []] {
            let words = ["doctor", program.server.baseURL, "--account", "default"]
            let outcome = try await program.run(words + form, environment: ["OPENAI_API_KEY": "sk-canary-key"])
            #expect(outcome.status == 0, "\(outcome.everything)")
            if form.contains("--json") {
                #expect(try Self.words(of: "credential", in: outcome.output) == "status code 200: not refused")
            }
            let refreshed = try #require(try program.storage.credential(of: "default"))
            for secret in stored.secrets + refreshed.secrets + ["acc_1", "sk-canary-key"] {
                #expect(!outcome.everything.contains(secret))
            }
        }
        // No request has asked the model.
        #expect(program.server.log.allSatisfy { $0.bodies.allSatisfy(\.isEmpty) })
    }

    @Test func anAccountThatWasRevokedIsNoFaultOfThePath() async throws {
        let program = try Self.guarded()
        let stored = try program.signIn()
        program.server.revokeTokens()
        let outcome = try await program.run(
            ["doctor", program.server.baseURL, "--account", "default"])
        #expect(outcome.status == 69)
        #expect(outcome.output.hasPrefix("The server does not accept the credential.\n"))
        #expect(outcome.output.contains("sign in again (chappie login)"))
        for secret in stored.secrets { #expect(!outcome.everything.contains(secret)) }
    }

    @Test func theTokenOfAnAccountGoesToNoOtherServer() async throws {
        let program = try Self.guarded()
        _ = try program.signIn()
        let outcome = try await program.run(["doctor", program.server.baseURL, "--json"])
        #expect(try Self.words(of: "credential", in: outcome.output) == "there is no credential")
        #expect(program.server.signInLog(of: .refresh).isEmpty)
        let missing = try await program.run(["doctor", program.server.baseURL, "--account", "other"])
        #expect(missing.status == 77)
    }

    @Test func usageIsChecked() async throws {
        let program = try CommandProgram()
        #expect(try await program.run(["doctor", "ftp://host"]).status == 64)
        #expect(try await program.run(["doctor", "--json", "--suggest"]).status == 64)
    }
}
