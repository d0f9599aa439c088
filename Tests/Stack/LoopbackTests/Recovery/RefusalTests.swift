import ChappieTestServer
import ChappieTransport
import Foundation
import Synchronization
import Testing

/// Answers of the server that refuse: too many requests, spent plans, credentials, failed responses.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    typealias Fault = ChappieTestServer.Fault
    typealias Field = ChappieTestServer.Field

    // MARK: Too many requests

    @Test(arguments: Wire.allCases)
    func status429IsRetriedAfterTheServersDelay(over wire: Wire) async throws {
        let answer = Fault.Action.answer(status: 429, fields: [Field(name: "retry-after-ms", value: "1")])
        let turn = try await LoopbackTurn.run([.init(action: answer, attempts: 1...2)], over: wire)
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["http.429", "http.429", "completed"])
        #expect(Set(turn.transports).count == 1)
    }

    @Test(arguments: Wire.allCases)
    func tooManyRequestsForEveryRetryAreAnError(over wire: Wire) async throws {
        let body = "{\"error\":{\"type\":\"rate_limit_exceeded\",\"message\":\"Slow down.\"}}"
        let turn = try await LoopbackTurn.run([.init(.answer(status: 429, body: body))], over: wire)
        #expect(turn.outcome.clientError == .httpError(429, body))
        #expect(turn.log.count == 3)
        #expect(Set(turn.transports).count == 1)
    }

    @Test(arguments: Wire.allCases)
    func rateLimitIsNotRetriedWhenDisabled(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.answer(status: 429, body: "{}"))], over: wire, client: { $0.rateLimitBackoff = .disabled })
        #expect(turn.outcome.clientError == .httpError(429, "{}"))
        #expect(turn.log.count == 1)
    }

    // MARK: Spent plans

    private static func usageLimit(resetsIn seconds: Int) -> String {
        let resetsAt = Int(Date().timeIntervalSince1970) + seconds
        return "{\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"The usage limit has been reached\","
            + "\"plan_type\":\"plus\",\"resets_at\":\(resetsAt)}}"
    }

    @Test(arguments: Wire.allCases)
    func aSpentPlanIsNotRetried(over wire: Wire) async throws {
        let body = Self.usageLimit(resetsIn: 86_400)
        let turn = try await LoopbackTurn.run([.init(.answer(status: 429, body: body))], over: wire)
        self.expectUsageLimit(turn)
    }

    @Test(arguments: Wire.allCases, ["status", "status_code"])
    func aSpentPlanInBandIsNotRetried(over wire: Wire, statusName: String) async throws {
        let members = Self.usageLimit(resetsIn: 86_400).dropFirst()
        let payload = "{\"type\":\"error\",\"\(statusName)\":429,\(members)"
        let turn = try await LoopbackTurn.run([.init(.insert(payload: payload, beforeEvent: 1))], over: wire)
        self.expectUsageLimit(turn)
    }

    private func expectUsageLimit(_ turn: LoopbackTurn, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(turn.log.count == 1, sourceLocation: sourceLocation)
        guard case .usageLimitReached(let limit)? = turn.outcome.clientError else {
            Issue.record("\(String(describing: turn.outcome.error))", sourceLocation: sourceLocation)
            return
        }
        #expect(limit.type == "usage_limit_reached", sourceLocation: sourceLocation)
        #expect(limit.message == "The usage limit has been reached", sourceLocation: sourceLocation)
        #expect(limit.plan?.displayName == "Plus", sourceLocation: sourceLocation)
        #expect(limit.resetsAt.map { $0 > Date() } == true, sourceLocation: sourceLocation)
    }

    @Test(arguments: Wire.allCases)
    func aPlanThatIsRenewedAtOnceIsRetried(over wire: Wire) async throws {
        let body = Self.usageLimit(resetsIn: 0)
        let turn = try await LoopbackTurn.run([.init(.answer(status: 429, body: body), attempts: 1...1)], over: wire)
        turn.outcome.expectWhole()
        #expect(turn.log.count == 2)
    }

    // MARK: Credentials

    /// Gives a credential for each of the two questions, and remembers the questions.
    private final class Wallet: Sendable {
        let questions = Mutex<[ChappieTransportConfiguration.CredentialRequest]>([])
        let fresh: ChappieCredential?

        init(fresh: ChappieCredential?) { self.fresh = fresh }

        func answer(_ request: ChappieTransportConfiguration.CredentialRequest) -> ChappieCredential? {
            self.questions.withLock { $0.append(request) }
            return request == .connecting ? RefusalTests.stale : self.fresh
        }
    }

    static let stale = ChappieCredential(bearerToken: "stale", accountID: "first")

    static let refusals: [Fault.Action] = [
        .answer(status: 401),
        .error(
            event: .init(shape: .nested, status: 401, type: "invalid_request_error", code: "token_expired"),
            afterEvent: 0),
    ]

    @Test(arguments: Wire.allCases, Self.refusals)
    func aRefusedCredentialIsReplacedOnce(over wire: Wire, action: Fault.Action) async throws {
        let wallet = Wallet(fresh: ChappieCredential(bearerToken: "fresh", accountID: "second"))
        let turn = try await LoopbackTurn.run(
            [.init(action: action, attempts: 1...1)], over: wire, client: { $0.credential = { wallet.answer($0) } })
        turn.outcome.expectWhole()
        #expect(wallet.questions.withLock { $0 } == [.connecting, .rejected(Self.stale)])
        // The token itself is in no log; the account that goes with it is.
        #expect(turn.log.map { $0.value(of: "chatgpt-account-id") } == ["first", "second"])
        #expect(turn.log.map(\.hasAuthorization) == [true, true])
        #expect(Set(turn.transports).count == 1)
    }

    @Test(arguments: Wire.allCases, [RefusalTests.stale, nil])
    func aRefusedCredentialWithoutAnotherEndsTheTurn(over wire: Wire, fresh: ChappieCredential?) async throws {
        let wallet = Wallet(fresh: fresh)
        let turn = try await LoopbackTurn.run(
            [.init(.answer(status: 401))], over: wire, client: { $0.credential = { wallet.answer($0) } })
        #expect(turn.outcome.clientError == .reauthenticationRequired("token_expired"))
        #expect(turn.log.count == 1)
    }

    @Test(arguments: Wire.allCases)
    func aFreshCredentialThatIsRefusedTooEndsTheTurn(over wire: Wire) async throws {
        let wallet = Wallet(fresh: ChappieCredential(bearerToken: "fresh"))
        let turn = try await LoopbackTurn.run(
            [.init(.answer(status: 401))], over: wire, client: { $0.credential = { wallet.answer($0) } })
        #expect(turn.outcome.clientError == .reauthenticationRequired("token_expired"))
        #expect(wallet.questions.withLock { $0 } == [.connecting, .rejected(Self.stale)])
        #expect(turn.log.count == 2)
    }

    @Test(arguments: Wire.allCases)
    func anErrorOfTheCredentialSourceIsPassedOn(over wire: Wire) async throws {
        struct Locked: Error, Equatable {}
        let turn = try await LoopbackTurn.run(over: wire, client: { $0.credential = { _ in throw Locked() } })
        #expect(turn.outcome.error as? Locked == Locked())
        #expect(turn.log.isEmpty)
    }

    // MARK: Failed responses

    @Test(arguments: Wire.allCases)
    func aResponseThatFailsInMidTextIsRetried(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.fail(code: "server_error", afterEvent: 20), attempts: 1...1)], over: wire)
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["response.failed", "completed"])
        #expect(Set(turn.transports).count == 1)
    }

    @Test(arguments: Wire.allCases)
    func aResponseThatFailsEveryTimeIsAnError(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.fail(code: "server_error", message: "No luck.", afterEvent: 20))], over: wire)
        self.expectTerminal(turn, status: "failed", code: "server_error", attempts: 6, deliversText: true)
        #expect(Set(turn.transports).count == 1)
    }

    @Test(arguments: Wire.allCases, ["insufficient_quota", "context_length_exceeded", "invalid_prompt"])
    func aFailureThatARetryDoesNotChangeIsNotRetried(over wire: Wire, code: String) async throws {
        let turn = try await LoopbackTurn.run([.init(.fail(code: code, afterEvent: 20))], over: wire)
        if code == "insufficient_quota" {
            guard case .usageLimitReached(let limit)? = turn.outcome.clientError else {
                self.expectTerminal(turn, status: "failed", code: code, attempts: 1, deliversText: true)
                return
            }
            #expect(limit.type == code)
        } else {
            self.expectTerminal(turn, status: "failed", code: code, attempts: 1, deliversText: true)
        }
        #expect(turn.log.count == 1)
    }

    @Test(arguments: Wire.allCases)
    func anIncompleteResponseIsNotRetried(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .incomplete(reason: "max_output_tokens", afterEvent: 20))], over: wire)
        self.expectTerminal(turn, status: "incomplete", code: nil, attempts: 1, deliversText: true)
        guard case .responseTerminalFailure(let response)? = turn.outcome.clientError else { return }
        #expect(response.incompleteReason == "max_output_tokens")
    }

    private func expectTerminal(
        _ turn: LoopbackTurn, status: String, code: String?, attempts: Int, deliversText: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        turn.outcome.expectBeginning(deliversText: deliversText, sourceLocation: sourceLocation)
        #expect(turn.log.count == attempts, sourceLocation: sourceLocation)
        guard case .responseTerminalFailure(let response)? = turn.outcome.clientError else {
            Issue.record("\(String(describing: turn.outcome.error))", sourceLocation: sourceLocation)
            return
        }
        #expect(response.status == status, sourceLocation: sourceLocation)
        #expect(response.errorCode == code, sourceLocation: sourceLocation)
    }

    // MARK: Error events

    @Test(arguments: Wire.allCases)
    func anErrorEventWithAStatusIsAnHTTPError(over wire: Wire) async throws {
        let event = Fault.ErrorEvent(shape: .nested, status: 400, code: "invalid_prompt", message: "No.")
        let turn = try await LoopbackTurn.run([.init(action: .error(event: event, afterEvent: 20))], over: wire)
        turn.outcome.expectBeginning(deliversText: true)
        guard case .httpError(400, let body)? = turn.outcome.clientError else {
            Issue.record("\(String(describing: turn.outcome.error))")
            return
        }
        #expect(body.contains("\"code\":\"invalid_prompt\""))
        #expect(turn.log.count == 1)
    }

    @Test(arguments: Wire.allCases, [Fault.ErrorEvent.Shape.flat, .nested])
    func anErrorEventWithoutAStatusIsAFailedResponse(over wire: Wire, shape: Fault.ErrorEvent.Shape) async throws {
        let event = Fault.ErrorEvent(shape: shape, code: "server_error")
        let turn = try await LoopbackTurn.run([.init(action: .error(event: event, afterEvent: 20))], over: wire)
        self.expectTerminal(turn, status: "failed", code: "server_error", attempts: 6, deliversText: true)
    }

    @Test(arguments: Wire.allCases)
    func anErrorEventOfTheServerIsRetried(over wire: Wire) async throws {
        let event = Fault.ErrorEvent(shape: .nested, status: 500, type: "server_error", code: "server_error")
        let turn = try await LoopbackTurn.run(
            [.init(action: .error(event: event, afterEvent: 20), attempts: 1...1)], over: wire)
        turn.outcome.expectWhole()
        #expect(Set(turn.transports).count == 1)
    }

    @Test func aSocketThatHasToBeReplacedIsReplaced() async throws {
        let event = Fault.ErrorEvent(shape: .nested, status: 400, code: "websocket_connection_limit_reached")
        let turn = try await LoopbackTurn.run([.init(action: .error(event: event, afterEvent: 0), attempts: 1...1)])
        turn.outcome.expectWhole()
        #expect(turn.transports == [.webSocket, .webSocket])
    }

    @Test func aSocketThatIsTooOldIsReplaced() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        let event = Fault.ErrorEvent(shape: .nested, status: 400, code: "websocket_connection_limit_reached")
        configuration.faults = [.init(action: .error(event: event, afterEvent: 0), attempts: 1...1, response: 2)]
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await transport.outcome().expectWhole()
            await transport.outcome().expectWhole()
            #expect(server.log.map(\.bodies.count) == [2, 1])
        }
    }
}
