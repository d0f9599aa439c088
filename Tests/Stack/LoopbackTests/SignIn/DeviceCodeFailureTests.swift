import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// Failures of a sign-in with a device code, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct DeviceCodeFailureTests {
    private typealias Fault = ChappieTestServer.SignIn.Fault

    // MARK: Time and people

    @Test(arguments: Flow.Way.allCases)
    func aCodeThatTheServerCallsExpiredIsExpired(way: Flow.Way) async throws {
        let flow = try Flow(way) { $0.deviceCodeLifetime = 0 }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .expiredDeviceCode)
        #expect(error?.requiresReauthentication == false)
        #expect(flow.count(.poll) == 1)
    }

    @Test(arguments: Flow.Way.allCases)
    func pollingTimeoutEndsTheSignIn(way: Flow.Way) async throws {
        let flow = try Flow(way) {
            $0.pendingPollCount = nil
        } client: {
            $0.deviceCodeTimeout = .seconds(17)
        }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .pollingTimeout)
        #expect(error?.requiresReauthentication == false)
        #expect(flow.clock.sleeps == [.seconds(5), .seconds(5), .seconds(5), .seconds(2)])
        #expect(flow.count(.poll) == 4)
        #expect(flow.storage.stored == nil)
    }

    @Test(arguments: Flow.Way.allCases)
    func denialIsReported(way: Flow.Way) async throws {
        let flow = try Flow(way) { $0.pendingPollCount = nil }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        #expect(flow.server.deny(userCode: signIn.userCode))
        let error = await #expect(throws: ChappieAuthError.self) { try await signIn.complete() }
        #expect(error == .authorizationDenied("Somebody has said no."))
        #expect(error?.requiresReauthentication == false)
        #expect(flow.storage.stored == nil)
    }

    // MARK: The network

    @Test(arguments: Flow.Way.allCases)
    func aServerThatIsNotThereIsAFailureOfTheNetwork(way: Flow.Way) async throws {
        let flow = try Flow(way)
        flow.server.stop()
        guard case .networkFailure(let words)? = await flow.deviceCodeError()?.asAuthError else {
            Issue.record("no failure of the network")
            return
        }
        #expect(!words.isEmpty)
    }

    @Test(arguments: Flow.Way.allCases)
    func aServerThatGoesAwayForGoodIsAFailureOfTheNetwork(way: Flow.Way) async throws {
        let flow = try Flow(way)
        let signIn = try await flow.session.startDeviceCodeSignIn()
        flow.server.stop()
        let error = await #expect(throws: ChappieAuthError.self) { try await signIn.complete() }
        guard case .networkFailure = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(error?.requiresReauthentication == false)
        // Less and less often, to the end of the time.
        #expect(Array(flow.clock.sleeps.prefix(5)) == [10, 20, 40, 60, 60].map { Duration.seconds($0) })
        #expect(flow.clock.sleeps.reduce(.zero, +) == .seconds(900))
    }

    @Test(
        arguments: [
            (.dropped, "auth.network"), (.truncated, "auth.invalid-response"), (.doneAndDropped, "auth.network"),
        ] as [(ChappieTestServer.SignIn.Answer, String)])
    func anExchangeWhoseAnswerIsLostIsNotRepeated(_ loss: ChappieTestServer.SignIn.Answer, tag: String) async throws {
        let flow = try Flow { $0.faults = [Fault(.exchange, loss)] }
        #expect(await flow.deviceCodeError()?.asAuthError?.tag == tag)
        // A code is good for one use: it is not tried again.
        #expect(flow.count(.exchange) == 1)
        #expect(flow.storage.stored == nil)
    }

    // MARK: Refusals

    @Test(arguments: [(400, true), (401, true), (403, true), (500, false)])
    func refusedExchangeReportsItsStatus(statusCode: Int, needsSignIn: Bool) async throws {
        let flow = try Flow {
            $0.faults = [Fault(.exchange, .refusal(statusCode: statusCode, body: #"{"error":"invalid_grant"}"#))]
        }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .tokenExchangeFailed(statusCode: statusCode, body: #"{"error":"invalid_grant"}"#))
        #expect(error?.requiresReauthentication == needsSignIn)
        #expect(flow.storage.stored == nil)
    }

    @Test(arguments: [(400, true), (401, true), (403, true)])
    func refusedStandardPollReportsItsError(statusCode: Int, needsSignIn: Bool) async throws {
        let flow = try Flow(.standard) {
            $0.faults = [Fault(.poll, .refusal(statusCode: statusCode, body: #"{"error":"invalid_grant"}"#))]
        }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .tokenExchangeFailed(statusCode: statusCode, body: #"{"error":"invalid_grant"}"#))
        #expect(flow.count(.poll) == 1)
        #expect(error?.requiresReauthentication == needsSignIn)
    }

    @Test func aClientThatTheServerDoesNotKnowIsRefused() async throws {
        let flow = try Flow(client: { $0.clientID = "another" })
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error?.tag == "auth.unknown")
        #expect(error?.localizedDescription.contains("status code 401, invalid_client") == true)
    }

    @Test func missingDeviceLoginIsReported() async throws {
        let flow = try Flow { $0.faults = [Fault(.deviceCode, .refusal(statusCode: 404, body: ""))] }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .unknown("Device login is not enabled for this account or workspace."))
        let other = try Flow(.standard, client: { $0.server.deviceGrant = nil })
        #expect(await other.deviceCodeError()?.asAuthError?.tag == "auth.unknown")
        #expect(other.server.signInLog.isEmpty)
    }

    // MARK: Answers without sense

    @Test(arguments: [0, 100, 1 << 20, 4 << 20], [ChappieTestServer.SignIn.Endpoint.deviceCode, .poll, .exchange])
    func invalidBodyIsReported(
        byteCount: Int, at endpoint: ChappieTestServer.SignIn.Endpoint
    ) async throws {
        for way in Flow.Way.allCases where way == .authorizationCode || endpoint != .exchange {
            let flow = try Flow(way) { $0.faults = [Fault(endpoint, .garbage(byteCount: byteCount))] }
            let error = await flow.deviceCodeError()?.asAuthError
            #expect(error == .invalidResponse)
            #expect(error?.requiresReauthentication == false)
            #expect(flow.storage.stored == nil)
        }
    }

    @Test(arguments: [
        (ChappieTestServer.SignIn.Endpoint.deviceCode, "user_code"), (.deviceCode, "device_auth_id"),
        (.poll, "authorization_code"), (.poll, "code_verifier"), (.exchange, "access_token"), (.exchange, "id_token"),
    ])
    func incompleteAnswerIsInvalid(
        endpoint: ChappieTestServer.SignIn.Endpoint, member: String
    ) async throws {
        let requests = endpoint == .poll ? 2...2 : 1...1
        let flow = try Flow { $0.faults = [Fault(endpoint, .without(member: member), requests: requests)] }
        #expect(await flow.deviceCodeError()?.asAuthError == .invalidResponse)
        #expect(flow.storage.stored == nil)
    }

    @Test(arguments: Flow.Way.allCases)
    func tokensWithoutARefreshTokenAreNotKept(way: Flow.Way) async throws {
        let endpoint: ChappieTestServer.SignIn.Endpoint = way == .standard ? .poll : .exchange
        let flow = try Flow(way) {
            $0.pendingPollCount = 0
            $0.faults = [Fault(endpoint, .without(member: "refresh_token"))]
        }
        let error = await flow.deviceCodeError()?.asAuthError
        #expect(error == .missingRefreshToken)
        #expect(error?.requiresReauthentication == true)
        #expect(flow.storage.stored == nil)
    }

    @Test func storageErrorIsThrown() async throws {
        let failure = ChappieCredentialStorageError.systemCallFailed(operation: "fsync", path: "p", code: ENOSPC)
        let flow = try Flow(storage: FlowStorage(failure: failure))
        #expect(await flow.deviceCodeError() as? ChappieCredentialStorageError == failure)
    }

    // MARK: Giving up

    @Test(arguments: Flow.Way.allCases)
    func cancellingTheTaskEndsTheWait(way: Flow.Way) async throws {
        let flow = try Flow(way, clock: FlowClock(hangs: true)) { $0.pendingPollCount = nil }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        let task = Task { try await signIn.complete() }
        await flow.clock.isAsleep.wait()
        task.cancel()
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await task.value }
        #expect(flow.storage.stored == nil)
    }

    @Test(arguments: [ChappieTestServer.SignIn.Endpoint.deviceCode, .poll, .exchange])
    func cancellingTheTaskEndsAnUnansweredRequest(_ endpoint: ChappieTestServer.SignIn.Endpoint) async throws {
        let flow = try Flow {
            $0.pendingPollCount = 0
            $0.faults = [Fault(endpoint, .silence)]
        }
        let task = Task { await flow.deviceCodeError()?.asAuthError }
        await flow.server.reached(.signInRequests(endpoint, 1))
        task.cancel()
        #expect(await task.value == .cancelledSignIn)
        #expect(flow.storage.stored == nil)
    }

    @Test func taskCancelledBeforeItsStartSendsNoRequest() async throws {
        let flow = try Flow()
        let signIn = try await flow.session.startDeviceCodeSignIn()
        let task = Task {
            try? await forever()
            return try await signIn.complete()
        }
        task.cancel()
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await task.value }
        #expect(flow.count(.poll) == 0)
    }

    @Test func aSignInIsCompletedOnce() async throws {
        let flow = try Flow(clock: FlowClock(hangs: true)) { $0.pendingPollCount = nil }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        let task = Task { try await signIn.complete() }
        await flow.clock.isAsleep.wait()
        await #expect(throws: ChappieAuthError.alreadyCompleted) { try await signIn.complete() }
        task.cancel()
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await task.value }
        await #expect(throws: ChappieAuthError.alreadyCompleted) { try await signIn.complete() }
        #expect(flow.count(.poll) == 1)
    }

    // MARK: Secrets

    @Test func printedValuesContainNoCode() async throws {
        let echo = "device-secret-1 user-code-1 verifier-secret-1 code-secret-1"
        let server = try RawServer()
        let answers = [
            #"{"device_auth_id":"device-secret-1","user_code":"user-code-1","interval":1}"#,
            #"{"authorization_code":"code-secret-1","code_verifier":"verifier-secret-1"}"#,
        ]
        let session = try Flow.session(port: Int(server.port), clock: FlowClock(), storage: FlowStorage())
        async let ended = {
            let signIn = try await session.startDeviceCodeSignIn()
            var dumped = "\(signIn) \(String(reflecting: signIn))"
            dump(signIn, to: &dumped)
            do {
                _ = try await signIn.complete()
                return (dumped, nil as ChappieAuthError?)
            } catch {
                return (dumped, error as? ChappieAuthError)
            }
        }()
        for (number, answer) in (answers + [echo]).enumerated() {
            let peer = try await server.accept()
            _ = await peer.read(until: number == 2 ? "verifier-secret-1" : "}")
            let status = number == 2 ? "400 Bad Request" : "200 OK"
            peer.write(
                "HTTP/1.1 \(status)\r\nContent-Length: \(answer.utf8.count)\r\nConnection: close\r\n\r\n\(answer)")
            peer.endWriting()
        }
        let (dumped, error) = try await ended
        let failure = try #require(error)
        var texts = [dumped, "\(failure)", String(reflecting: failure), failure.localizedDescription]
        texts.append(try #require(failure.unsafeMessage))
        var more = ""
        dump(failure, to: &more)
        texts.append(more)
        for text in texts {
            for secret in ["verifier-secret-1", "code-secret-1"] { #expect(!text.contains(secret)) }
        }
        #expect(!dumped.contains("device-secret-1") && !dumped.contains("user-code-1"))
    }
}
