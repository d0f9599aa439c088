import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing

/// An account's usage, asked for over a socket.
@Suite(.timeLimit(.minutes(10))) struct UsageTests {
    private static func client(
        _ server: ChappieTestServer, path: String = "/backend-api/codex", token: String = "token"
    ) throws -> ChappieClient {
        let url = try #require(URL(string: server.baseURL))
        return Chappie.client(
            configuration: .loopback(server) { configuration in
                configuration.endpoint.baseURL = url.deletingLastPathComponent().appending(path: path)
                configuration.credential = { _ in ChappieCredential(bearerToken: token, accountID: "acc_1") }
            })
    }

    private static func server(_ faults: [ChappieTestServer.SignIn.Fault] = []) throws -> ChappieTestServer {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn.faults = faults
        return try ChappieTestServer(configuration: configuration)
    }

    private static func refusing(_ answer: ChappieTestServer.SignIn.Answer) async throws -> (any Error)? {
        let server = try Self.server([.init(.usage, answer)])
        let client = try Self.client(server)
        do {
            _ = try await client.usage()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["/backend-api/codex", "/v1"])
    func usagePathFollowsTheBaseURL(path: String) async throws {
        let server = try Self.server()
        let usage = try await Self.client(server, path: path).usage()
        #expect(usage.planType == "plus")
        #expect(usage.limit?.isAllowed == true)
        #expect(usage.limit?.isReached == false)
        #expect(usage.limit?.primary?.usedPercent == 42)
        #expect(usage.limit?.primary?.windowMinutes == 300)
        #expect(usage.limit?.secondary?.windowMinutes == 10_080)
        #expect(usage.credits?.isAvailable == false)
        #expect(usage.additionalLimits.isEmpty)
        #expect(server.signInLog(of: .usage).count == 1)
    }

    @Test func invalidUsageDocumentIsAnInvalidResponse() async throws {
        let error = try await Self.refusing(.garbage(byteCount: 100))
        #expect(error as? ChappieClientError == .invalidResponse)
        let half = try await Self.refusing(.refusal(statusCode: 200, body: #"{"rate_limit":[]}"#))
        #expect(half as? ChappieClientError == .invalidResponse)
    }

    @Test func refusedUsageRequestIsAnHTTPError() async throws {
        let error = try await Self.refusing(.refusal(statusCode: 404, body: "no"))
        #expect(error as? ChappieClientError == .httpError(404, "no"))
    }

    @Test func anAnswerThatBreaksIsAFailureBelowHTTP() async throws {
        guard case .transport? = try await Self.refusing(.truncated) as? ChappieClientError else {
            Issue.record("no failure of the transport")
            return
        }
    }
}
