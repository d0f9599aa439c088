import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// The secrets of a sign-in stay where they belong: codes, verifiers, states, the names of devices, tokens.
@Suite(.timeLimit(.minutes(10))) struct SignInCanaryTests {
    typealias Answer = ChappieTestServer.SignIn.Answer
    typealias Endpoint = ChappieTestServer.SignIn.Endpoint

    /// Every token and code of the server's, every verifier and every name of a device contains it.
    private static let made = Canaries(secrets: [ChappieTestServer.tokenMarker], content: [])

    /// The endpoint at fault, and its answer; nil for no fault.
    private static let faults: [(endpoint: Endpoint, answer: Answer)?] = [
        nil, (.deviceCode, .truncated), (.deviceCode, .without(member: "user_code")),
        (.poll, .refusal(statusCode: 400, body: #"{"error":"access_denied"}"#)),
        (.poll, .without(member: "code_verifier")), (.exchange, .refusal(statusCode: 401, body: "no")),
        (.exchange, .dropped), (.exchange, .truncated), (.exchange, .garbage(byteCount: 100)),
        (.exchange, .without(member: "access_token")), (.exchange, .without(member: "refresh_token")),
    ]

    @Test(arguments: Flow.Way.allCases, Self.faults.indices)
    func noErrorAndNoAccountNamesASecretOfADevice(way: Flow.Way, index: Int) async throws {
        let fault = Self.faults[index].map { fault in
            // The standard's polls are its exchange.
            ChappieTestServer.SignIn.Fault(
                way == .standard && fault.endpoint == .exchange ? .poll : fault.endpoint, fault.answer)
        }
        let flow = try Flow(way) {
            $0.pendingPollCount = 0
            $0.faults = fault.map { [$0] } ?? []
        }
        var signIn: ChappieDeviceCodeSignIn?
        do {
            signIn = try await flow.session.startDeviceCodeSignIn()
            Self.made.expectNone(in: try await signIn?.complete() as Any)
        } catch {
            Self.made.expectNone(in: error)
            Self.made.expectNone(in: error.asAuthError?.unsafeMessage ?? "")
            #expect(fault != nil)
        }
        Self.made.expectNone(in: signIn as Any)
        self.expectNone(in: flow, Self.made)
    }

    @Test(arguments: Self.faults.indices)
    func noErrorNoPageAndNoAccountNamesASecretOfABrowser(index: Int) async throws {
        let fault = Self.faults[index].map { ChappieTestServer.SignIn.Fault($0.endpoint, $0.answer) }
        let flow = try Flow(clock: FlowClock(hangs: true)) { $0.faults = fault.map { [$0] } ?? [] }
        let bytes = SecureRandom { [UInt8](repeating: 7, count: $0) }
        let key = try ProofKey(bytes)
        // The state is only in the address that the browser opens.
        let canaries = Canaries(secrets: Self.made.secrets + [key.verifier, key.state], content: [])
        let signIn = try await ChappieBrowserSignIn(session: flow.session, random: bytes)
        let target = try await signIn.redirection()
        #expect(target.contains(key.state) && target.contains(ChappieTestServer.tokenMarker))
        async let page = BrowserRequests.ask(target, of: signIn)
        do {
            canaries.expectNone(in: try await signIn.complete())
        } catch {
            canaries.expectNone(in: error)
            canaries.expectNone(in: error.asAuthError?.unsafeMessage ?? "")
            #expect(fault?.endpoint == .exchange)
        }
        canaries.expectNone(in: try await page.text, isDeep: false)
        canaries.expectNone(in: signIn)
        self.expectNone(in: flow, canaries)
    }

    /// Looks at what is there after a sign-in, beside what it has come to.
    private func expectNone(in flow: Flow, _ canaries: Canaries) {
        canaries.expectNone(in: flow.session)
        canaries.expectNone(in: flow.storage.stored as Any)
        canaries.expectNone(in: flow.server.signInLog)
        canaries.expectNone(in: flow.server.log)
        // The server has what the others must not say.
        #expect(!flow.server.signInLog.isEmpty)
        if let stored = flow.storage.stored { #expect(stored.accessToken.contains(ChappieTestServer.tokenMarker)) }
    }
}
