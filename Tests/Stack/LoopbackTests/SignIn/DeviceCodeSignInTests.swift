import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// Signing in with a device code, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct DeviceCodeSignInTests {
    private typealias Fault = ChappieTestServer.SignIn.Fault

    // MARK: It works

    @Test(arguments: Flow.Way.allCases)
    func aPersonSignsIn(way: Flow.Way) async throws {
        let flow = try Flow(way) { $0.pendingPollCount = 3 }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        #expect((1...64).contains(signIn.userCode.utf8.count))
        #expect(signIn.verificationURL.absoluteString == "http://127.0.0.1:\(flow.server.port)/codex/device")
        #expect((signIn.completeVerificationURL != nil) == (way == .standard))
        // Where the server says a date, it says whole seconds.
        #expect((.seconds(890) ... .seconds(900)).contains(signIn.lifetime))
        let account = try await signIn.complete()
        #expect(account.name == "default" && account.accountID == "acc_1" && account.planType == "plus")
        #expect(account.email == "person@example.com" && account.userID == "user_1")
        #expect(!account.requiresReauthentication)
        let stored = try #require(flow.storage.stored)
        #expect(stored.clientID == "client-1" && stored.issuer == "http://127.0.0.1:\(flow.server.port)")
        #expect(stored.accountID == "acc_1" && stored.idToken != nil && stored.expiresAt != nil)
        // Whose endpoints are elsewhere than its issuer says is kept.
        let issuer = "http://127.0.0.1:\(flow.server.port)"
        let token = try #require(URL(string: issuer + "/oauth/token"))
        #expect(
            stored.endpoints
                == (way == .standard ? .init(token: token, revocation: nil, bodyCoding: .form) : nil))
        #expect(flow.server.state(ofToken: stored.accessToken) == .good)
        #expect(try flow.server.state(ofToken: #require(stored.refreshToken)) == .good)
        // At once, and then at the server's interval.
        #expect(flow.count(.poll) == 4)
        #expect(flow.clock.sleeps == [.seconds(5), .seconds(5), .seconds(5)])
    }

    @Test func authorizationCodeFlowSendsItsRequestsInOrder() async throws {
        let flow = try Flow(.authorizationCode)
        _ = try await flow.session.startDeviceCodeSignIn().complete()
        let log = flow.server.signInLog
        #expect(log.map(\.endpoint) == [.deviceCode, .poll, .poll, .exchange])
        #expect(log.map(\.coding) == [.json, .json, .json, .form])
        #expect(log.map { $0.parameterNames.sorted() }.first == ["client_id"])
        #expect(log[1].parameterNames.sorted() == ["device_auth_id", "user_code"])
        #expect(log[3].parameterNames == ["grant_type", "client_id", "code", "redirect_uri", "code_verifier"])
    }

    @Test func theRequestsAreThoseOfTheStandard() async throws {
        let flow = try Flow(.standard)
        _ = try await flow.session.startDeviceCodeSignIn().complete()
        let log = flow.server.signInLog
        #expect(log.map(\.endpoint) == [.deviceCode, .poll, .poll])
        #expect(log.allSatisfy { $0.coding == .form })
        #expect(log[0].parameterNames == ["client_id", "scope"])
        #expect(log[1].parameterNames == ["grant_type", "device_code", "client_id"])
    }

    @Test(arguments: [403, 404])
    func pendingPollMayHaveEitherStatusCode(statusCode: Int) async throws {
        let flow = try Flow {
            $0.pendingStatusCode = statusCode
            $0.pendingPollCount = 2
        }
        #expect(await flow.deviceCodeError() == nil)
        #expect(flow.count(.poll) == 3)
    }

    @Test(arguments: Flow.Way.allCases)
    func aPersonAgreesWhileTheDeviceWaits(way: Flow.Way) async throws {
        let flow = try Flow(way) { $0.pendingPollCount = nil }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        #expect(flow.server.agree(toUserCode: signIn.userCode))
        #expect(try await signIn.complete().accountID == "acc_1")
    }

    /// Five seconds more, from then on.
    @Test(arguments: Flow.Way.allCases)
    func slowDownIncreasesThePollInterval(way: Flow.Way) async throws {
        let slowDown = ChappieTestServer.SignIn.Answer.refusal(statusCode: 400, body: #"{"error":"slow_down"}"#)
        let flow = try Flow(way) {
            $0.pendingPollCount = 2
            $0.faults = [Fault(.poll, slowDown, requests: 2...3)]
        }
        #expect(await flow.deviceCodeError() == nil)
        #expect(flow.clock.sleeps == [.seconds(5), .seconds(10), .seconds(15), .seconds(15)])
    }

    // MARK: It goes on

    static let troubles: [ChappieTestServer.SignIn.Answer] = [
        .dropped, .doneAndDropped, .refusal(statusCode: 500, body: "oh no"),
        .refusal(statusCode: 503, body: ""), .refusal(statusCode: 429, body: "<html>"),
    ]

    @Test(arguments: troubles, Flow.Way.allCases)
    func failedPollIsRepeated(_ trouble: ChappieTestServer.SignIn.Answer, way: Flow.Way) async throws {
        let flow = try Flow(way) {
            $0.pendingPollCount = 4
            $0.faults = [Fault(.poll, trouble, requests: 2...3)]
        }
        #expect(await flow.deviceCodeError() == nil)
        #expect(Array(flow.clock.sleeps.prefix(4)) == [.seconds(5), .seconds(10), .seconds(20), .seconds(5)])
    }

    /// A 403 says enough by itself; a 400 does not.
    @Test(arguments: Flow.Way.allCases)
    func aPollWhoseAnswerWasCutShortIsMadeAgain(way: Flow.Way) async throws {
        let flow = try Flow(way) {
            $0.pendingPollCount = 4
            $0.faults = [Fault(.poll, .truncated, requests: 2...3)]
        }
        #expect(await flow.deviceCodeError() == nil)
        let delays = way == .standard ? [5, 10, 20, 5] : [5, 5, 5, 5]
        #expect(flow.clock.sleeps == delays.map { Duration.seconds($0) })
    }

    /// The server gives the same code again as long as it is not spent.
    @Test(arguments: [ChappieTestServer.SignIn.Answer.doneAndDropped, .truncated])
    func aCodeWhoseAnswerWasLostIsAskedForAgain(_ loss: ChappieTestServer.SignIn.Answer) async throws {
        let flow = try Flow {
            $0.pendingPollCount = 0
            $0.faults = [Fault(.poll, loss, requests: 1...2)]
        }
        #expect(await flow.deviceCodeError() == nil)
        #expect(flow.count(.poll) == 3 && flow.count(.exchange) == 1)
    }

    /// The date does not determine how long a code has been waited for.
    @Test(arguments: [-1e9, 1e9])
    func dateJumpDoesNotAffectTheSignIn(seconds: Double) async throws {
        let flow = try Flow { $0.pendingPollCount = 5 }
        let signIn = try await flow.session.startDeviceCodeSignIn()
        flow.clock.date.withLock { $0.addTimeInterval(seconds) }
        #expect(try await signIn.complete().accountID == "acc_1")
        #expect(flow.clock.sleeps == Array(repeating: .seconds(5), count: 5))
    }

    @Test(arguments: [-1e9, -1_000, 1_000, 1e9])
    func wrongDateDoesNotEndTheSignIn(seconds: Double) async throws {
        let flow = try Flow { $0.pendingPollCount = 5 }
        flow.clock.date.withLock { $0.addTimeInterval(seconds) }
        #expect(await flow.deviceCodeError() == nil)
    }
}
