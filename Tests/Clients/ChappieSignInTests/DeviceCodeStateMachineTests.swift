import Foundation
import Testing

@testable import ChappieSignIn

/// The polls, waits and time limits of a sign-in by device code.
@Suite struct DeviceCodeStateMachineTests {
    private typealias Action = DeviceCodeStateMachine.Action

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static func grant(isStandard: Bool) throws -> ChappieAuthorizationServer.DeviceGrant {
        let url = try Self.url("https://issuer.example/device")
        return isStandard
            ? .standard(deviceAuthorization: url)
            : .authorizationCode(userCode: url, poll: url, verification: url, redirectURI: "https://issuer.example/cb")
    }

    private static func machine(
        isStandard: Bool = true, interval: Duration = .seconds(5), deadline: Duration = .seconds(900),
        expiry: Duration? = nil
    ) throws -> DeviceCodeStateMachine {
        DeviceCodeStateMachine(
            grant: try Self.grant(isStandard: isStandard),
            limits: DeviceCodeStateMachine.Limits(interval: interval, deadline: deadline, expiry: expiry),
            secrets: ["device-secret", "ABCD-12345"])
    }

    /// An answer in the standard's form.
    private static func error(_ code: String) -> [UInt8] { Array(#"{"error":"\#(code)"}"#.utf8) }

    private static let pending = Self.error("authorization_pending")

    // MARK: Polls

    @Test func theFirstPollIsMadeAtOnceAndTheOthersAfterTheInterval() throws {
        var machine = try Self.machine()
        #expect(machine.started() == .poll)
        for count in 1...10 {
            let now = Duration.seconds(10 * count)
            #expect(machine.answered(statusCode: 400, body: Self.pending, now: now) == .wait(.seconds(5)))
            #expect(machine.waited(now: now + .seconds(5)) == .poll)
        }
    }

    @Test func aWaitThatWasCutShortGoesOn() throws {
        var machine = try Self.machine()
        _ = machine.started()
        _ = machine.answered(statusCode: 400, body: Self.pending, now: .zero)
        #expect(machine.waited(now: .seconds(3)) == .wait(.seconds(2)))
        #expect(machine.waited(now: .seconds(3)) == .wait(.seconds(2)))
        #expect(machine.waited(now: .seconds(5)) == .poll)
    }

    /// RFC 8628 section 3.5: for this and all later polls.
    @Test(arguments: [true, false])
    func eachSlowDownAddsFiveSecondsForGood(isStandard: Bool) throws {
        var machine = try Self.machine(isStandard: isStandard)
        let slow = isStandard ? Self.error("slow_down") : Array(#"{"error":{"code":"deviceauth_slow_down"}}"#.utf8)
        _ = machine.started()
        #expect(machine.answered(statusCode: 400, body: slow, now: .zero) == .wait(.seconds(10)))
        #expect(machine.waited(now: .seconds(10)) == .poll)
        #expect(machine.answered(statusCode: 400, body: Self.pending, now: .seconds(10)) == .wait(.seconds(10)))
        #expect(machine.waited(now: .seconds(20)) == .poll)
        #expect(machine.answered(statusCode: 429, body: slow, now: .seconds(20)) == .wait(.seconds(15)))
        #expect(machine.waited(now: .seconds(35)) == .poll)
        #expect(machine.answered(statusCode: 400, body: Self.pending, now: .seconds(35)) == .wait(.seconds(15)))
    }

    @Test(arguments: [true, false])
    func pollIntervalGrowsAfterFailures(isNetwork: Bool) throws {
        var machine = try Self.machine()
        _ = machine.started()
        var now = Duration.zero
        for delay in [10, 20, 40, 60, 60, 60, 60, 60] {
            let action =
                isNetwork
                ? machine.pollFailed(.networkFailure("no route."), now: now)
                : machine.answered(statusCode: 503, body: [], now: now)
            #expect(action == .wait(.seconds(delay)))
            now += .seconds(delay)
            #expect(machine.waited(now: now) == .poll)
        }
        // An answer ends that.
        #expect(machine.answered(statusCode: 400, body: Self.pending, now: now) == .wait(.seconds(5)))
        #expect(machine.waited(now: now + .seconds(5)) == .poll)
        #expect(machine.answered(statusCode: 500, body: [], now: now + .seconds(5)) == .wait(.seconds(10)))
    }

    @Test func longIntervalIsNotChangedByFailures() throws {
        var machine = try Self.machine(interval: .seconds(120))
        _ = machine.started()
        #expect(machine.pollFailed(.networkFailure("x"), now: .zero) == .wait(.seconds(120)))
    }

    // MARK: The end of time

    @Test func clientDeadlineEndsAWait() throws {
        var machine = try Self.machine(deadline: .seconds(12))
        _ = machine.started()
        _ = machine.answered(statusCode: 400, body: Self.pending, now: .seconds(0))
        _ = machine.waited(now: .seconds(5))
        #expect(machine.answered(statusCode: 400, body: Self.pending, now: .seconds(9)) == .wait(.seconds(3)))
        #expect(machine.waited(now: .seconds(12)) == .fail(.pollingTimeout))
    }

    @Test(arguments: [12, 13, 10_000])
    func pendingResponseAfterTheDeadlineFailsWithATimeout(now: Int) throws {
        var machine = try Self.machine(deadline: .seconds(12))
        _ = machine.started()
        #expect(
            machine.answered(statusCode: 400, body: Self.pending, now: .seconds(now)) == .fail(.pollingTimeout))
    }

    @Test func tokensThatCameLateAreTaken() throws {
        var machine = try Self.machine(deadline: .seconds(12))
        _ = machine.started()
        let body = Array(#"{"access_token":"a","refresh_token":"r"}"#.utf8)
        let grant = try #require(TokenGrant(body: body))
        #expect(machine.answered(statusCode: 200, body: body, now: .seconds(40)) == .finish(grant))
    }

    /// The server is asked once more, so that it can report the expiry itself.
    @Test func codeExpiresByTheServersLifetime() throws {
        var machine = try Self.machine(expiry: .seconds(7))
        _ = machine.started()
        _ = machine.answered(statusCode: 400, body: Self.pending, now: .seconds(4))
        #expect(machine.waited(now: .seconds(9)) == .poll)
        #expect(
            machine.answered(statusCode: 400, body: Self.pending, now: .seconds(9)) == .fail(.expiredDeviceCode))
    }

    @Test func clientDeadlineIsReportedBeforeExpiry() throws {
        var machine = try Self.machine(deadline: .seconds(7), expiry: .seconds(7))
        _ = machine.started()
        #expect(machine.answered(statusCode: 400, body: Self.pending, now: .seconds(4)) == .wait(.seconds(3)))
        #expect(machine.waited(now: .seconds(7)) == .fail(.pollingTimeout))
    }

    @Test func failedPollsAreReportedInsteadOfATimeout() throws {
        var machine = try Self.machine(deadline: .seconds(12))
        _ = machine.started()
        #expect(machine.pollFailed(.networkFailure("no route."), now: .seconds(4)) == .wait(.seconds(8)))
        #expect(machine.waited(now: .seconds(12)) == .fail(.networkFailure("no route.")))
        var other = try Self.machine(deadline: .seconds(12))
        _ = other.started()
        #expect(
            other.answered(statusCode: 503, body: Array("busy".utf8), now: .seconds(13))
                == .fail(.tokenExchangeFailed(statusCode: 503, body: "busy")))
    }

    @Test(arguments: [ChappieAuthError.invalidResponse, .cancelledSignIn, .unknown("x")])
    func permanentFailuresOfPollsAreNotRetried(_ error: ChappieAuthError) throws {
        var machine = try Self.machine()
        _ = machine.started()
        #expect(machine.pollFailed(error, now: .zero) == .fail(error))
    }

    // MARK: Answers

    /// The result of one answer, in either form.
    struct Row: Sendable, CustomTestStringConvertible {
        let statusCode: Int
        let body: String
        let isStandard: Bool?
        let expected: Expected

        enum Expected: Sendable, Equatable {
            case pending
            case slower
            case trouble
            case exchange(String, String)
            case tokens
            case fails(ChappieAuthError)
        }

        init(_ statusCode: Int, _ body: String, isStandard: Bool? = nil, _ expected: Expected) {
            (self.statusCode, self.body, self.isStandard, self.expected) = (statusCode, body, isStandard, expected)
        }

        var testDescription: String { "\(self.statusCode) \(self.body.prefix(80))" }
    }

    static let rows: [Row] = [
        // By the code of the error, whatever the status code.
        Row(400, #"{"error":"authorization_pending"}"#, .pending),
        Row(200, #"{"error":"authorization_pending"}"#, .pending),
        Row(403, #"{"error":{"code":"deviceauth_authorization_pending","message":"m"}}"#, .pending),
        Row(500, #"{"error":{"code":"deviceauth_authorization_pending"}}"#, .pending),
        Row(400, #"{"code":"authorization_pending"}"#, .pending),
        Row(400, #"{"error":"slow_down"}"#, .slower),
        Row(403, #"{"error":{"code":"slow_down"}}"#, .slower),
        Row(429, #"{"error":"slow_down"}"#, .slower),
        Row(400, #"{"error":"expired_token"}"#, .fails(.expiredDeviceCode)),
        Row(403, #"{"error":{"code":"deviceauth_expired"}}"#, .fails(.expiredDeviceCode)),
        Row(404, #"{"error":{"code":"device_code_expired"}}"#, .fails(.expiredDeviceCode)),
        Row(400, #"{"error":"access_denied"}"#, .fails(.authorizationDenied("access_denied"))),
        Row(
            400, #"{"error":"access_denied","error_description":"The person said no."}"#,
            .fails(.authorizationDenied("The person said no."))),
        Row(
            403, #"{"error":{"code":"authorization_declined","message":"No."}}"#, .fails(.authorizationDenied("No."))),
        Row(403, #"{"error":{"code":"access_denied","message":""}}"#, .fails(.authorizationDenied("access_denied"))),
        Row(400, #"{"error":"\u001b[2J\naccess_denied"}"#, .fails(.authorizationDenied("[2Jaccess_denied"))),
        Row(
            400, "{\"error\":\"\(String(repeating: "x", count: 9_000))access_denied\"}",
            .fails(.authorizationDenied(String(repeating: "x", count: 500)))),
        // By the status code.
        Row(403, #"{"error":{"code":"something_else"}}"#, isStandard: false, .pending),
        Row(403, "", isStandard: false, .pending),
        Row(404, "<html>", isStandard: false, .pending),
        Row(
            403, #"{"error":"invalid_client"}"#, isStandard: true,
            .fails(.tokenExchangeFailed(statusCode: 403, body: #"{"error":"invalid_client"}"#))),
        Row(404, "", isStandard: true, .fails(.tokenExchangeFailed(statusCode: 404, body: ""))),
        Row(
            400, #"{"error":"invalid_grant"}"#,
            .fails(.tokenExchangeFailed(statusCode: 400, body: #"{"error":"invalid_grant"}"#))),
        // A truncated refusal of the standard is ambiguous.
        Row(400, #"{"error":"authorization_pen"#, isStandard: true, .trouble), Row(400, "", isStandard: true, .trouble),
        Row(400, "", isStandard: false, .fails(.tokenExchangeFailed(statusCode: 400, body: ""))),
        Row(400, "{}", .fails(.tokenExchangeFailed(statusCode: 400, body: "{}"))),
        Row(401, "", .fails(.tokenExchangeFailed(statusCode: 401, body: ""))),
        Row(302, "", .fails(.tokenExchangeFailed(statusCode: 302, body: ""))),
        Row(408, "", .trouble), Row(429, "", .trouble), Row(500, "{", .trouble), Row(502, "<html>", .trouble),
        Row(503, "", .trouble), Row(599, "", .trouble),
        // What was agreed to.
        Row(
            200, #"{"authorization_code":"ac","code_challenge":"c","code_verifier":"v"}"#, isStandard: false,
            .exchange("ac", "v")),
        Row(200, #"{"authorization_code":"ac"}"#, isStandard: false, .fails(.invalidResponse)),
        Row(200, #"{"code_verifier":"v"}"#, isStandard: false, .fails(.invalidResponse)),
        Row(200, #"{"authorization_code":"","code_verifier":"v"}"#, isStandard: false, .fails(.invalidResponse)),
        Row(200, #"{"authorization_code":7,"code_verifier":"v"}"#, isStandard: false, .fails(.invalidResponse)),
        Row(200, #"{"access_token":"a"}"#, isStandard: false, .fails(.invalidResponse)),
        Row(200, #"{"access_token":"a","refresh_token":"r"}"#, isStandard: true, .tokens),
        Row(200, #"{"access_token":"a"}"#, isStandard: true, .tokens),
        Row(200, #"{"refresh_token":"r"}"#, isStandard: true, .fails(.invalidResponse)),
        Row(200, #"{"access_token":["a"]}"#, isStandard: true, .fails(.invalidResponse)),
        // What is no answer.
        Row(200, "", .fails(.invalidResponse)), Row(200, "null", .fails(.invalidResponse)),
        Row(200, "[]", .fails(.invalidResponse)), Row(200, #"{"access_token":"a"#, .fails(.invalidResponse)),
        Row(200, "<!doctype html>", .fails(.invalidResponse)), Row(200, "\u{FFFD}", .fails(.invalidResponse)),
        Row(200, String(repeating: "[", count: 100_000), .fails(.invalidResponse)),
    ]

    @Test(arguments: rows, [true, false])
    func responseDeterminesTheNextAction(_ row: Row, isStandard: Bool) throws {
        guard row.isStandard ?? isStandard == isStandard else { return }
        var machine = try Self.machine(isStandard: isStandard)
        _ = machine.started()
        let body = Array(row.body.utf8)
        let action = machine.answered(statusCode: row.statusCode, body: body, now: .seconds(1))
        switch row.expected {
        case .pending: #expect(action == .wait(.seconds(5)))
        case .slower, .trouble: #expect(action == .wait(.seconds(10)))
        case .exchange(let code, let verifier): #expect(action == .exchange(code: code, verifier: verifier))
        case .tokens: #expect(try action == .finish(#require(TokenGrant(body: body))))
        case .fails(let error): #expect(action == .fail(error))
        }
    }

    @Test func bytesThatAreNotTextAreNotAPollAnswer() throws {
        for isStandard in [true, false] {
            var machine = try Self.machine(isStandard: isStandard)
            _ = machine.started()
            #expect(machine.answered(statusCode: 200, body: [0xFF, 0xFE], now: .zero) == .fail(.invalidResponse))
        }
    }

    @Test func sentSecretsAreRemovedFromPollErrors() throws {
        var machine = try Self.machine()
        _ = machine.started()
        let body = Array(#"{"error":"invalid_grant","error_description":"device-secret ABCD-12345 is bad"}"#.utf8)
        guard case .fail(let error) = machine.answered(statusCode: 400, body: body, now: .zero) else {
            Issue.record("no failure")
            return
        }
        let message = try #require(error.unsafeMessage)
        #expect(!message.contains("device-secret") && !message.contains("ABCD-12345") && message.contains("is bad"))
        var other = try Self.machine()
        _ = other.started()
        let denied = Array(#"{"error":"access_denied","error_description":"no: device-secret\u001b[31m"}"#.utf8)
        #expect(
            other.answered(statusCode: 400, body: denied, now: .zero)
                == .fail(.authorizationDenied("no: [redacted][31m")))
    }
}
