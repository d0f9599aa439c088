import ChappieTransport
import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieSignIn

/// Refreshes that fail: retries, remembered refusals, and concurrent callers.
@Suite(.timeLimit(.minutes(10))) struct KeeperFailureTests {
    // MARK: For good

    @Test(arguments: [
        "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated", "invalid_grant",
        "app_session_terminated", "something_else",
    ])
    func aRefusalIsRememberedUntilTheNextSignIn(code: String) async throws {
        let fixture = try KeeperFixture { number in number == 1 ? .refusal(code) : .rotation(number) }
        try fixture.signIn()
        await #expect(throws: ChappieClientError.reauthenticationRequired(code)) {
            try await fixture.token(rejecting: "access-0")
        }
        #expect(fixture.stored?.refreshFailure == code)
        // No further request is sent: neither by this session, nor by the next one.
        await #expect(throws: ChappieClientError.reauthenticationRequired(code)) { try await fixture.token() }
        let error = ChappieAuthError.tokenExchangeFailed(statusCode: 401, body: code)
        await #expect(throws: error) { try await fixture.keeper.refresh() }
        #expect(error.requiresReauthentication)
        let next = try KeeperFixture(storage: fixture.storage)
        await #expect(throws: ChappieClientError.reauthenticationRequired(code)) { try await next.token() }
        #expect(fixture.requests.count == 1 && next.requests.isEmpty)
        try fixture.signIn(.sample("x", expiresAt: 10_000))
        #expect(try await fixture.token() == "access-x")
        #expect(try await next.token(rejecting: "access-x") == "access-1")
    }

    @Test func explicitRefreshReportsTheServersRefusal() async throws {
        let fixture = try KeeperFixture { _ in
            .status(400, #"{"error":"invalid_grant","error_description":"refresh-0 is old"}"#)
        }
        try fixture.signIn()
        let body = #"{"error":"invalid_grant","error_description":"[redacted] is old"}"#
        await #expect(throws: ChappieAuthError.tokenExchangeFailed(statusCode: 400, body: body)) {
            try await fixture.keeper.refresh()
        }
    }

    @Test func unstoredRefusalIsRememberedBySession() async throws {
        let storage = FailingStorage()
        let fixture = try KeeperFixture(storage: storage) { _ in .refusal("invalid_grant") }
        try fixture.signIn()
        storage.fail([false, true])
        for _ in 1...3 {
            await #expect(throws: ChappieClientError.reauthenticationRequired("invalid_grant")) {
                try await fixture.token(rejecting: "access-0")
            }
        }
        #expect(fixture.requests.count == 1)
    }

    @Test func withoutARefreshTokenTheTokenIsUsedToItsEnd() async throws {
        let fixture = try KeeperFixture()
        var credential = ChappieStoredCredential.sample("0", expiresAt: 10_000)
        credential.refreshToken = nil
        try fixture.signIn(credential)
        fixture.clock.setDate(9_999)
        #expect(try await fixture.token() == "access-0")
        await #expect(throws: ChappieClientError.missingRefreshToken) {
            try await fixture.token(rejecting: "access-0")
        }
        await #expect(throws: ChappieAuthError.missingRefreshToken) { try await fixture.keeper.refresh() }
        fixture.clock.setDate(10_000)
        await #expect(throws: ChappieClientError.missingRefreshToken) { try await fixture.token() }
        #expect(fixture.requests.isEmpty)
    }

    // MARK: For now

    private static let passing: [KeeperFixture.Answer] = [
        .unreachable, .status(500, ""), .status(503, "<html>"), .status(429, "{}"), .status(404, ""),
        .status(403, "{}"),
    ]
    /// Answers with a success, behind which the server may have used up the refresh token.
    private static let unreadable: [KeeperFixture.Answer] = [
        .status(200, "{"), .status(200, "{}"), .failure(.invalidResponse),
    ]

    @Test(arguments: Self.passing + Self.unreadable)
    func aTokenThatIsStillGoodIsUsedMeanwhile(answer: KeeperFixture.Answer) async throws {
        let fixture = try KeeperFixture { number in number <= 2 ? answer : .rotation(number) }
        let credential = try fixture.signIn()
        fixture.clock.setDate(9_700)
        for _ in 1...3 { #expect(try await fixture.token() == "access-0") }
        #expect(fixture.requests.count == 1 && fixture.stored == credential)
        fixture.clock.advance(by: .milliseconds(29_900))
        #expect(try await fixture.token() == "access-0")
        #expect(fixture.requests.count == 1)
        fixture.clock.advance(by: .milliseconds(100))
        #expect(try await fixture.token() == "access-0")
        #expect(fixture.requests.count == 2)
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fixture.token() == "access-3")
        #expect(fixture.clock.sleeps == [])
    }

    @Test(arguments: Self.passing)
    func refreshOfAnExpiredTokenIsRetried(answer: KeeperFixture.Answer) async throws {
        let fixture = try KeeperFixture { number in number <= 4 ? answer : .rotation(number) }
        try fixture.signIn()
        fixture.clock.setDate(10_000)
        #expect(try await fixture.token() == "access-5")
        #expect(fixture.requests.count == 5)
    }

    @Test(arguments: Self.unreadable)
    func refreshWithAnUnreadableAnswerIsNotRepeatedAtOnce(answer: KeeperFixture.Answer) async throws {
        let fixture = try KeeperFixture { number in number == 1 ? answer : .rotation(number) }
        try fixture.signIn()
        fixture.clock.setDate(10_000)
        await #expect(throws: ChappieAuthError.invalidResponse) { try await fixture.token() }
        #expect(fixture.requests.count == 1 && fixture.clock.sleeps.isEmpty)
        #expect(try await fixture.token() == "access-2")
    }

    /// A turn whose time is over meanwhile fails with the reason of the newest attempt.
    @Test func failedAttemptsAreNotedForTheWaitingTurn() async throws {
        let fixture = try KeeperFixture { _ in .unreachable }
        try fixture.signIn()
        fixture.clock.setDate(10_000)
        let reason = LateReason()
        let error = ChappieAuthError.networkFailure("The server cannot be reached.")
        await #expect(throws: error) {
            try await LateReason.$current.withValue(reason) { try await fixture.token() }
        }
        #expect(reason.noted as? ChappieAuthError == error)
    }

    @Test(arguments: [
        (KeeperFixture.Answer.status(200, ""), RevocationResult.revoked), (.unreachable, .unanswered),
        (.status(500, "{}"), .refused(statusCode: 500)),
    ])
    func signOutReturnsTheResultOfTheRevocation(answer: KeeperFixture.Answer, result: RevocationResult) async throws {
        let fixture = try KeeperFixture(keeperClock: StorageClock.standing) { _ in answer }
        #expect(try await fixture.keeper.signOut() == .notAsked)
        try fixture.signIn()
        #expect(try await fixture.keeper.signOut() == result)
        #expect(fixture.stored == nil && fixture.requests.count == 1)
    }

    @Test func refreshRetriesEndAfterTenSeconds() async throws {
        let fixture = try KeeperFixture { _ in .unreachable }
        let credential = try fixture.signIn()
        fixture.clock.setDate(10_000)
        let error = ChappieAuthError.networkFailure("The server cannot be reached.")
        await #expect(throws: error) { try await fixture.token() }
        #expect(fixture.clock.sleeps.reduce(.zero, +) <= .seconds(10))
        #expect((5...6).contains(fixture.requests.count))
        await #expect(throws: error) { try await fixture.token(rejecting: "access-0") }
        #expect(fixture.stored == credential)
    }

    @Test func refreshIsNotRepeatedAfterASlowFailure() async throws {
        let clock = LockedValue<StorageClock?>(nil)
        let fixture = try KeeperFixture { _ in
            clock.withLock { $0 }?.advance(by: .seconds(30))
            return .failure(.networkFailure("time is up"))
        }
        clock.withLock { $0 = fixture.clock }
        try fixture.signIn()
        await #expect(throws: ChappieAuthError.networkFailure("time is up")) {
            try await fixture.token(rejecting: "access-0")
        }
        #expect(fixture.requests.count == 1)
    }

    @Test func localFailureIsNotRetried() async throws {
        let fixture = try KeeperFixture { _ in .failure(.unknown("The address has to be https.")) }
        try fixture.signIn()
        await #expect(throws: ChappieAuthError.unknown("The address has to be https.")) {
            try await fixture.token(rejecting: "access-0")
        }
        #expect(fixture.requests.count == 1 && fixture.clock.sleeps.isEmpty)
    }

    @Test func explicitRefreshFailsAtOnce() async throws {
        let fixture = try KeeperFixture { _ in .status(500, "") }
        try fixture.signIn()
        await #expect(throws: ChappieAuthError.tokenExchangeFailed(statusCode: 500, body: "")) {
            try await fixture.keeper.refresh()
        }
        #expect(fixture.requests.count == 1)
    }

    @Test func lostAnswerIsDetectedByTheNextAttempt() async throws {
        let fixture = try KeeperFixture { number in
            number == 1 ? .failure(.networkFailure("cut")) : .refusal("refresh_token_reused")
        }
        try fixture.signIn()
        await #expect(throws: ChappieClientError.reauthenticationRequired("refresh_token_reused")) {
            try await fixture.token(rejecting: "access-0")
        }
        #expect(fixture.requests.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test func validTokenIsUsedWhenTheLockIsHeldTooLong() async throws {
        let waits = StorageClock()
        let fixture = try KeeperFixture(storage: ChappieMemoryCredentialStorage(clock: waits.clock))
        try fixture.signIn()
        let (held, end) = (StorageEvent(), StorageEvent())
        let sibling = Task {
            try await fixture.storage.withLock(of: "default", timeout: .zero) {
                held.happened()
                await end.wait()
            }
        }
        await held.wait()
        fixture.clock.setDate(9_700)
        #expect(try await fixture.token() == "access-0")
        await #expect(throws: ChappieCredentialStorageError.locked(path: "default")) {
            try await fixture.token(rejecting: "access-0")
        }
        #expect(waits.sleeps == [.seconds(10), .seconds(60)])
        end.happened()
        try await sibling.value
        #expect(try await fixture.token(rejecting: "access-0") == "access-1")
    }

    @Test func necessaryRefreshKeepsWaitingForTheLock() async throws {
        let (held, end) = (StorageEvent(), StorageEvent())
        let (waiting, timeIsUp) = (StorageEvent(), StorageEvent())
        let count = LockedValue(0)
        let standing = StorageClock.standing
        let clock = ClientClock(moment: standing.moment, date: standing.date) { duration in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number > 1 else {
                waiting.happened()
                return await timeIsUp.wait()
            }
            end.happened()
            try await standing.sleep(duration)
        }
        let fixture = try KeeperFixture(storage: ChappieMemoryCredentialStorage(clock: clock))
        try fixture.signIn()
        let sibling = Task {
            try await fixture.storage.withLock(of: "default", timeout: .zero) {
                held.happened()
                await end.wait()
            }
        }
        await held.wait()
        fixture.clock.setDate(9_700)
        let early = Task { try await fixture.token() }
        await waiting.wait()
        let needed = Task { try await fixture.token(rejecting: "access-0") }
        timeIsUp.happened()
        #expect(try await early.value == "access-0")
        #expect(try await needed.value == "access-1")
        try await sibling.value
    }

    // MARK: Many at once

    @Test func aHundredTasksShareOneRefresh() async throws {
        let gate = StorageGate()
        let fixture = try KeeperFixture { number in
            await gate.pass()
            return .rotation(number)
        }
        try fixture.signIn()
        let tokens = try await withThrowingTaskGroup { group in
            for index in 0..<100 {
                // Each waits for the refresh before the next one begins.
                group.addImmediateTask {
                    switch index % 3 {
                    case 0: try await fixture.token(rejecting: "access-0")
                    case 1: try await fixture.keeper.refresh().accessToken
                    default: try await fixture.token(rejecting: "access-0", accountID: nil)
                    }
                }
            }
            await gate.reached()
            gate.open()
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens == ["access-1"])
        #expect(fixture.requests.count == 1)
    }

    @Test func concurrentTasksShareOneRefusedRefresh() async throws {
        let fixture = try KeeperFixture { _ in .refusal("invalid_grant") }
        try fixture.signIn()
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    await #expect(throws: ChappieClientError.reauthenticationRequired("invalid_grant")) {
                        try await fixture.token(rejecting: "access-0")
                    }
                }
            }
        }
        #expect(fixture.requests.count == 1)
    }

    @Test func cancelledCallerLeavesAndTheRefreshContinues() async throws {
        let gate = StorageGate()
        let fixture = try KeeperFixture { number in
            await gate.pass()
            return .rotation(number)
        }
        try fixture.signIn()
        let first = Task { try await fixture.token(rejecting: "access-0") }
        await gate.reached()
        let others = (1...10).map { _ in Task { try await fixture.token(rejecting: "access-0") } }
        // The one that began it, and half of the others.
        for task in [first] + others.prefix(5) {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        gate.open()
        for task in others.suffix(5) { #expect(try await task.value == "access-1") }
        #expect(fixture.stored?.accessToken == "access-1" && fixture.requests.count == 1)
    }

    @Test func refreshWithoutWaitingCallersIsStored() async throws {
        let gate = StorageGate()
        let fixture = try KeeperFixture { number in
            await gate.pass()
            return .rotation(number)
        }
        try fixture.signIn()
        let task = Task { try await fixture.token(rejecting: "access-0") }
        await gate.reached()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        #expect(try await fixture.token(rejecting: "access-0") == "access-1")
        #expect(fixture.requests.count == 1)
    }

    @Test func necessaryRefreshContinuesAfterAnEarlyOneFailed() async throws {
        let gate = StorageGate()
        let fixture = try KeeperFixture { number in
            guard number == 1 else { return .rotation(number) }
            await gate.pass()
            return .unreachable
        }
        try fixture.signIn()
        fixture.clock.setDate(9_700)
        let early = Task { try await fixture.token() }
        await gate.reached()
        let needed = Task { try await fixture.token(rejecting: "access-0") }
        gate.open()
        #expect(try await early.value == "access-0")
        #expect(try await needed.value == "access-2")
        #expect(fixture.requests.count == 2)
    }

    @Test func signingOutWaitsForTheRefreshAndRevokesItsTokens() async throws {
        let gate = StorageGate()
        let fixture = try KeeperFixture { number in
            guard number == 1 else { return .status(200, "") }
            await gate.pass()
            return .rotation(number)
        }
        try fixture.signIn()
        let refresh = Task { try await fixture.keeper.refresh() }
        await gate.reached()
        let signOut = Task { try await fixture.keeper.signOut() }
        gate.open()
        #expect(try await refresh.value.accessToken == "access-1")
        _ = try await signOut.value
        #expect(fixture.requests.last?["token"] == "refresh-1")
        #expect(fixture.stored == nil)
    }

    // MARK: Words

    @Test func noErrorNamesAToken() async throws {
        let secrets = ["access-0", "refresh-0", "identity-0", "secret"]
        for status in [200, 400, 401, 500] {
            let fixture = try KeeperFixture { _ in
                .status(status, #"{"error":{"code":"refresh-0"},"x":"access-0 identity-0 refresh-0"}"#)
            }
            try fixture.signIn()
            for body in [
                { _ = try await fixture.keeper.refresh() }, { _ = try await fixture.token(rejecting: "access-0") },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: (any Error).self) { try await body() }
                var text = ""
                dump(error, to: &text)
                text += "\(String(describing: error)) \(String(reflecting: error)) \(error?.localizedDescription ?? "")"
                text += (error as? ChappieAuthError)?.unsafeMessage ?? ""
                text += (error as? ChappieClientError)?.unsafeMessage ?? ""
                for secret in secrets { #expect(!text.contains(secret), "\(text)") }
            }
        }
    }
}
