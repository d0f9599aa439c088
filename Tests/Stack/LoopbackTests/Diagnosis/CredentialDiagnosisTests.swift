// Examinations with a credential, and of servers on loopback that ask for one.
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import StreamTransport
import Testing

@testable import ChappieDiagnosis

@Suite(.timeLimit(.minutes(10))) struct CredentialDiagnosisTests: ExaminingSuite {
    @Test func theCredentialIsSentToAnAPIAlone() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration, key: "right")
        #expect(report.verdict == .works)
        #expect(report.result(of: .http)?.words == "status code 401")
        #expect(report.result(of: .credential)?.words == "status code 200: not refused")

        let portal = try AnsweringServer(
            AnsweringServer.response("302 Found", ["Location: http://portal.invalid/hello"]))
        let refused = try await Self.report(portal.baseURL, key: "right")
        #expect(refused.causes.map(\.name) == ["http.captive-portal"])
        #expect(refused.result(of: .credential)?.outcome == .skipped)
        #expect(refused.result(of: .webSocket)?.outcome == .skipped)
    }

    /// An account's source may have to sign in again, which is a cause of its own, or may take its time, which is none.
    @Test func aSourceOfTheCredentialThatFailsIsNamed() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let failed = try await Self.report(of: configuration) {
            $0.credential = { _ in throw ChappieClientError.missingRefreshToken }
        }
        Self.expect("credential.unavailable", .fails, in: failed)
        let late = try await withServer(configuration) { server in
            try await Self.report(server.baseURL, pace: .patient(.fast, step: .seconds(3))) {
                $0.credential = { _ in
                    try await Task.sleep(for: .seconds(600))
                    return nil
                }
            }
        }
        #expect(late.verdict == .works)
        #expect(late.result(of: .credential)?.words == "the credential was not there in time")
    }

    /// After a page that asks for it, the credential that the source has returned is that of the later steps too.
    @Test func theSourceOfTheCredentialIsAskedOnce() async throws {
        let server = try AnsweringServer { head in
            guard head.lowercased().contains("\r\nauthorization: bearer right\r\n") else {
                return AnsweringServer.response("401 No", ["Content-Type: text/html"], body: "<html>no</html>")
            }
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "400 Bad Request"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let asked = LockedValue<[ChappieTransportConfiguration.CredentialRequest]>([])
        let report = try await Self.report(server.baseURL) {
            $0.credential = { request in
                asked.withLock { $0.append(request) }
                return ChappieCredential(bearerToken: "right")
            }
        }
        #expect(report.result(of: .http)?.words == "status code 401 to a request without a credential")
        #expect(report.result(of: .credential)?.words == "status code 200: not refused")
        #expect(asked.withLock { $0 } == [.connecting])
    }

    /// Systems connect the unspecified address to this machine, which an examination takes for another one.
    @Test(arguments: [("404 Not Found", []), ("403 Forbidden", []), ("302 Found", ["Location: /login"])])
    func theKeyIsWithheldFromAnotherMachineWithoutTLS(status: String, fields: [String]) async throws {
        let keys = LockedValue(0)
        let server = try AnsweringServer { head in
            if head.lowercased().contains("\r\nauthorization:") { keys.withLock { $0 += 1 } }
            return AnsweringServer.response(
                status, ["Content-Type: text/html"] + fields, body: "<html>nothing here</html>")
        }
        let baseURL = "http://0.0.0.0:\(server.port)/v1"
        let report = try await Self.report(baseURL, key: "key")
        Self.expect("http.credential-withheld", .degraded, in: report)
        #expect(report.causes.count == 1 && report.advice.isEmpty)
        #expect(report.result(of: .credential)?.outcome == .skipped)
        #expect(report.result(of: .webSocket)?.outcome == .skipped)
        #expect(keys.withLock { $0 } == 0)
        // Without a key there is nothing else to examine, and on this machine the key is sent.
        #expect(try await Self.report(baseURL).verdict == .fails)
        #expect(try await Self.report(server.baseURL, key: "key").verdict == .fails)
        #expect(keys.withLock { $0 } > 0)
    }

    /// As a line of a file has it; what the server asks for is then never sent.
    @Test(arguments: ["\r", "\n", "\r\n"]) func aKeyWithALineBreakIsNamed(end: String) async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration, key: "right" + end)
        Self.expect("credential.unusable", .fails, in: report)
        #expect(report.causes.first?.evidence == ["the key has a line break at its end"])
        #expect(report.result(of: .webSocket)?.outcome == .skipped)
    }

    /// The API asks for the key first, and has nothing at the path.
    @Test func aPathThatIsMissingBehindTheKeyIsNamed() async throws {
        let server = try AnsweringServer { head in
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            return AnsweringServer.response(
                hasKey ? "404 Not Found" : "401 Unauthorized", ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("http.wrong-address", .fails, in: report)
        #expect(report.result(of: .http)?.words == "status code 401, and 404 for the responses")
    }

    @Test(arguments: ["403 Forbidden", "401 Unauthorized"])
    func aKeyThatMayNotListModelsIsAccepted(status: String) async throws {
        let server = try Self.server { hasKey, isList in
            hasKey ? isList ? status : "400 Bad Request" : "401 Unauthorized"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(
            report.result(of: .credential)?.words == "status code \(status.prefix(3)) for the list of models alone")
    }

    /// An API that judges the request before the key tells nothing about the key there.
    @Test func responsesThatIgnoreTheKeyDoNotAcceptIt() async throws {
        let server = try Self.server { hasKey, isList in isList ? "401 Unauthorized" : "400 Bad Request" }
        Self.expect("credential.refused", .fails, in: try await Self.report(server.baseURL, key: "key"))
    }

    /// Paths that exist for those with a key alone.
    @Test func responsesThatAreHiddenWithoutTheKeyAreFound() async throws {
        let server = try Self.server { hasKey, isList in isList ? nil : hasKey ? "400 Bad Request" : "404 Not Found" }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .credential)?.words == "status code 400: not refused")
    }

    @Test func anErrorWithoutTheKeyIsNoFaultWithIt() async throws {
        let server = try Self.server { hasKey, isList in
            hasKey ? isList ? "200 OK" : "400 Bad Request" : "500 Internal Server Error"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        #expect(report.result(of: .http)?.words == "status code 500 to a request without a credential")
        #expect(!report.causes.contains { $0.name == "http.server-error" })
        Self.expect("http.server-error", .fails, in: try await Self.report(server.baseURL))
    }

    @Test func aCredentialThatIsRefusedIsNamed() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        Self.expect("credential.refused", .fails, in: try await Self.report(of: configuration, key: "wrong"))
    }

    @Test func aServerThatDemandsACredentialIsNoAlarm() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration)
        #expect(report.verdict == .works)
        #expect(report.sentence.contains("demands a credential"))
    }
}
