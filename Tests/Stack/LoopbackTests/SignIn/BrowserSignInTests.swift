import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// Signing in with a browser, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct BrowserSignInTests {
    private typealias Fault = ChappieTestServer.SignIn.Fault

    /// A sign-in whose browser may take as long as it likes.
    private static func flow(
        _ way: Flow.Way = .authorizationCode, storage: FlowStorage = FlowStorage(),
        server: (inout ChappieTestServer.SignIn) -> Void = { _ in },
        client: (inout ChappieSignInConfiguration) -> Void = { _ in }
    ) throws -> Flow {
        try Flow(way, clock: FlowClock(hangs: true), storage: storage, server: server, client: client)
    }

    /// Returns the result of a sign-in.
    private static func end(_ signIn: ChappieBrowserSignIn) -> Task<Result<ChappieAccount, any Error>, Never> {
        Task {
            do { return .success(try await signIn.complete()) } catch { return .failure(error) }
        }
    }

    private static func error(_ end: Task<Result<ChappieAccount, any Error>, Never>) async -> ChappieAuthError? {
        guard case .failure(let error) = await end.value else { return nil }
        return error as? ChappieAuthError
    }

    // MARK: It works

    @Test(arguments: Flow.Way.allCases)
    func aPersonSignsIn(way: Flow.Way) async throws {
        let flow = try Self.flow(way)
        let signIn = try await flow.session.startBrowserSignIn()
        #expect(try signIn.parameter("redirect_uri") == "http://127.0.0.1:\(signIn.port)/auth/callback")
        let end = Self.end(signIn)
        let answer = try await BrowserRequests.ask(signIn.redirection(), of: signIn)
        let account = try await end.value.get()
        // The page says what is true: the credential is kept.
        #expect(answer.statusCode == 200 && answer.text.contains("<h1>You are signed in</h1>"))
        #expect(account.accountID == "acc_1" && account.email == "person@example.com")
        let stored = try #require(flow.storage.stored)
        #expect(flow.server.state(ofToken: stored.accessToken) == .good)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
        let log = flow.server.signInLog
        #expect(log.map(\.endpoint) == [.authorize, .exchange])
        #expect(log[1].coding == .form)
        #expect(log[1].parameterNames == ["grant_type", "client_id", "code", "redirect_uri", "code_verifier"])
    }

    @Test func browserMayReturnBeforeCompletionIsAwaited() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let peer = try #require(BrowserRequests.connect(to: signIn.port))
        peer.write(BrowserRequests.get(try await signIn.redirection(), port: signIn.port))
        async let answer = BrowserRequests.answer(peer)
        #expect(try await signIn.complete().accountID == "acc_1")
        #expect(await answer.text.contains("You are signed in"))
    }

    /// It sends its request, ends its half, and has gone before the exchange is done.
    @Test func closedBrowserDoesNotAffectTheSignIn() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let peer = try #require(BrowserRequests.connect(to: signIn.port))
        peer.write(BrowserRequests.get(try await signIn.redirection(), port: signIn.port))
        peer.endWriting()
        #expect(try await signIn.complete().accountID == "acc_1")
        let other = try await flow.session.startBrowserSignIn()
        let target = try await other.redirection()
        let end = Self.end(other)
        let gone = try #require(BrowserRequests.connect(to: other.port))
        gone.write(BrowserRequests.get(target, port: other.port))
        gone.reset()
        if case .success(let account) = await Self.endAfterAnotherReturn(end, target, other) {
            #expect(account.accountID == "acc_1")
        } else {
            Issue.record("the sign-in failed")
        }
    }

    /// A reset may overtake the request: then the browser comes back once more.
    private static func endAfterAnotherReturn(
        _ end: Task<Result<ChappieAccount, any Error>, Never>, _ target: String, _ signIn: ChappieBrowserSignIn
    ) async -> Result<ChappieAccount, any Error> {
        if let peer = BrowserRequests.connect(to: signIn.port) {
            peer.write(BrowserRequests.get(target, port: signIn.port))
            _ = await BrowserRequests.answer(peer)
        }
        return await end.value
    }

    @Test func aBrowserThatComesBackTwiceExchangesOnce() async throws {
        let flow = try Self.flow { $0.faults = [Fault(.exchange, .silence)] }
        let signIn = try await flow.session.startBrowserSignIn()
        let target = try await signIn.redirection()
        let end = Self.end(signIn)
        let first = try #require(BrowserRequests.connect(to: signIn.port))
        first.write(BrowserRequests.get(target, port: signIn.port))
        await flow.server.reached(.signInRequests(.exchange, 1))
        let second = try await BrowserRequests.ask(target, of: signIn)
        #expect(second.statusCode == 200 && second.text.contains("has come back already"))
        signIn.cancel()
        #expect(await Self.error(end) == .cancelledSignIn)
        // The waiting browser is shown the true result.
        let answer = await BrowserRequests.answer(first)
        #expect(answer.text.contains("<h1>The sign-in was cancelled</h1>"))
        #expect(flow.count(.exchange) == 1)
        #expect(flow.storage.stored == nil)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
    }

    // MARK: Failures

    @Test(arguments: ["error=access_denied&error_description=No+%3Cb%3E", "error=No+%3Cb%3E"])
    func denialIsReported(query: String) async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        let answer = try await BrowserRequests.ask(signIn.callback(query), of: signIn)
        #expect(answer.text.contains("You are not signed in") && answer.text.contains("No &lt;b&gt;"))
        let error = await Self.error(end)
        #expect(error == .authorizationDenied("No <b>"))
        #expect(error?.requiresReauthentication == false)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
    }

    @Test func neitherCodeNorErrorIsAnInvalidResponse() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        #expect(try await BrowserRequests.ask(signIn.callback("code="), of: signIn).statusCode == 400)
        #expect(await Self.error(end) == .invalidResponse)
    }

    @Test(arguments: [(400, true), (401, true), (403, true), (500, false)])
    func refusedExchangeReportsItsStatus(statusCode: Int, needsSignIn: Bool) async throws {
        let flow = try Self.flow { $0.faults = [Fault(.exchange, .refusal(statusCode: statusCode, body: "no"))] }
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        let answer = try await BrowserRequests.ask(signIn.redirection(), of: signIn)
        #expect(answer.statusCode == 502 && answer.text.contains("You are not signed in"))
        let error = await Self.error(end)
        #expect(error == .tokenExchangeFailed(statusCode: statusCode, body: "no"))
        #expect(error?.requiresReauthentication == needsSignIn)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
    }

    @Test(arguments: [
        (ChappieTestServer.SignIn.Answer.garbage(byteCount: 0), ChappieAuthError.invalidResponse),
        (.garbage(byteCount: 2 << 20), .invalidResponse), (.without(member: "access_token"), .invalidResponse),
        (.without(member: "id_token"), .invalidResponse), (.without(member: "refresh_token"), .missingRefreshToken),
    ])
    func anExchangeWithoutItsTokensFails(_ fault: ChappieTestServer.SignIn.Answer, error: ChappieAuthError) async throws
    {
        let flow = try Self.flow { $0.faults = [Fault(.exchange, fault)] }
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        #expect(try await BrowserRequests.ask(signIn.redirection(), of: signIn).text.contains("not signed in"))
        #expect(await Self.error(end) == error)
        #expect(flow.storage.stored == nil)
    }

    @Test(
        arguments: [(.dropped, "auth.network"), (.truncated, "auth.invalid-response")]
            as [(ChappieTestServer.SignIn.Answer, String)])
    func anExchangeWhoseAnswerIsLostIsNotRepeated(_ loss: ChappieTestServer.SignIn.Answer, tag: String) async throws {
        let flow = try Self.flow { $0.faults = [Fault(.exchange, loss)] }
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        #expect(try await BrowserRequests.ask(signIn.redirection(), of: signIn).text.contains("not signed in"))
        #expect(await Self.error(end)?.tag == tag)
        #expect(flow.count(.exchange) == 1)
    }

    @Test func storageFailureFailsTheSignIn() async throws {
        let failure = ChappieCredentialStorageError.systemCallFailed(operation: "fsync", path: "p", code: ENOSPC)
        let flow = try Self.flow(storage: FlowStorage(failure: failure))
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        let answer = try await BrowserRequests.ask(signIn.redirection(), of: signIn)
        #expect(answer.text.contains("You are not signed in") && answer.text.contains("could not be kept"))
        guard case .failure(let error) = await end.value else {
            Issue.record("it has not failed")
            return
        }
        #expect(error as? ChappieCredentialStorageError == failure)
        // Tokens that are stored nowhere must not stay valid.
        #expect(flow.count(.revoke) == 1)
    }

    @Test func aBrowserThatDoesNotComeBackIsATimeout() async throws {
        let flow = try Flow(clock: FlowClock()) { _ in
        } client: {
            $0.callbackTimeout = .seconds(90)
        }
        let signIn = try await flow.session.startBrowserSignIn()
        flow.clock.advance(by: .seconds(30))
        let error = await #expect(throws: ChappieAuthError.self) { try await signIn.complete() }
        #expect(error == .callbackTimeout && error?.requiresReauthentication == false)
        // It counts from the start.
        #expect(flow.clock.sleeps == [.seconds(60)])
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
    }

    @Test func returnBeforeTheDeadlineIsAcceptedAfterIt() async throws {
        let flow = try Flow(clock: FlowClock())
        let signIn = try await flow.session.startBrowserSignIn()
        let answer = try await BrowserRequests.ask(signIn.callback("error=e"), of: signIn)
        #expect(answer.statusCode == 200)
        flow.clock.advance(by: .seconds(10_000))
        await #expect(throws: ChappieAuthError.authorizationDenied("e")) { try await signIn.complete() }
    }

    @Test func missingRandomBytesPreventASignIn() async throws {
        let flow = try Self.flow()
        let broken = SecureRandom { _ throws(ChappieAuthError) in throw .secureRandomFailed(statusCode: EIO) }
        let error = await #expect(throws: ChappieAuthError.self) {
            try await ChappieBrowserSignIn(session: flow.session, random: broken)
        }
        #expect(error == .secureRandomFailed(statusCode: EIO) && error?.requiresReauthentication == false)
    }

    @Test func missingBrowserSignInIsReported() async throws {
        let flow = try Self.flow(client: { $0.server.authorization = nil })
        let error = await #expect(throws: ChappieAuthError.self) { try await flow.session.startBrowserSignIn() }
        #expect(error?.tag == "auth.unknown")
    }

    // MARK: Giving up

    @Test(arguments: [true, false])
    func cancellingEndsTheWaitAndTheListener(byTask: Bool) async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Task {
            do { return try await signIn.complete() as ChappieAccount? } catch {
                #expect(error.asAuthError == .cancelledSignIn)
                return nil
            }
        }
        await flow.clock.isAsleep.wait()
        if byTask { end.cancel() } else { signIn.cancel() }
        #expect(await end.value == nil)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
        signIn.cancel()
    }

    @Test func earlierCancellationIsReported() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        signIn.cancel()
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await signIn.complete() }
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await signIn.complete() }
    }

    @Test func aSignInIsCompletedOnce() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        await flow.clock.isAsleep.wait()
        await #expect(throws: ChappieAuthError.alreadyCompleted) { try await signIn.complete() }
        _ = try await BrowserRequests.ask(signIn.redirection(), of: signIn)
        #expect(try await end.value.get().accountID == "acc_1")
        await #expect(throws: ChappieAuthError.alreadyCompleted) { try await signIn.complete() }
    }

    @Test func aSignInThatIsDroppedListensNoMore() async throws {
        let flow = try Self.flow()
        var signIn: ChappieBrowserSignIn? = try await flow.session.startBrowserSignIn()
        let port = try #require(signIn?.port)
        let waiting = try #require(BrowserRequests.connect(to: port))
        signIn = nil
        #expect(BrowserRequests.connect(to: port) == nil)
        #expect(await BrowserRequests.answer(waiting).statusCode == nil)
    }

    @Test func aPersonOrAProgramCancelsAtTheCallback() async throws {
        let flow = try Self.flow()
        let signIn = try await flow.session.startBrowserSignIn()
        let end = Self.end(signIn)
        let foreign = BrowserRequests.get("/cancel", port: signIn.port, fields: ["Sec-Fetch-Site: cross-site"])
        #expect(try await BrowserRequests.send(foreign, to: signIn.port).statusCode == 403)
        let answer = try await BrowserRequests.ask("/cancel", of: signIn)
        #expect(answer.statusCode == 200 && answer.text.contains("The sign-in was cancelled"))
        #expect(await Self.error(end) == .cancelledSignIn)
        #expect(BrowserRequests.connect(to: signIn.port) == nil)
    }

    // MARK: Secrets

    @Test func printedValuesContainNoSecret() async throws {
        let flow = try Self.flow { $0.faults = [Fault(.exchange, .refusal(statusCode: 400, body: "no"))] }
        let bytes = SecureRandom { [UInt8](repeating: 7, count: $0) }
        let key = try ProofKey(bytes)
        let signIn = try await ChappieBrowserSignIn(session: flow.session, random: bytes)
        let end = Self.end(signIn)
        let answer = try await BrowserRequests.ask(signIn.callback("code=code-secret-1"), of: signIn)
        let error = try #require(await Self.error(end))
        var text = "\(signIn) \(String(reflecting: signIn)) \(error) \(String(reflecting: error)) \(answer.text)"
        dump(signIn, to: &text)
        dump(error, to: &text)
        for secret in [key.verifier, key.state, "code-secret-1"] { #expect(!text.contains(secret)) }
    }
}
