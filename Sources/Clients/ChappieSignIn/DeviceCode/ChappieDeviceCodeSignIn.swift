import ChappieTransport
public import PlatformFoundation
import StreamTransport
import TransportSurface

/// A sign-in with a code that a user enters on another device or browser (RFC 8628).
///
/// It allows one call of `complete()`; copies share that.
public struct ChappieDeviceCodeSignIn: Sendable {
    /// The code for the user: 1 to 64 characters of printable ASCII.
    public let userCode: String
    /// The page on which the user enters the code.
    public let verificationURL: URL
    /// The same page with the code in it, if the server has such a URL (RFC 8628 section 3.3.1).
    public let completeVerificationURL: URL?
    /// The time limit for the code, counted from its issue.
    public let lifetime: Duration

    private let session: ChappieAuthSession
    private let grant: ChappieAuthorizationServer.DeviceGrant
    private let deviceCode: String
    private let limits: DeviceCodeStateMachine.Limits
    private let isTaken = LockedValue(false)

    /// Asks the server for a code.
    init(session: ChappieAuthSession) async throws {
        let configuration = session.configuration.signIn
        guard let grant = configuration.server.deviceGrant else {
            throw ChappieAuthError.unknown("The authorization server has no sign-in with a device code.")
        }
        let clientID = (name: "client_id", value: try session.clientID())
        let answer =
            switch grant {
            case .standard(let url):
                try await session.client.post(
                    .form([clientID, (name: "scope", value: configuration.server.scope)]), to: url)
            case .authorizationCode(let url, _, _, _):
                try await session.client.post(.json([clientID]), to: url)
            }
        let now = session.clock.now()
        let authorization = try DeviceAuthorization(answer, of: grant, date: session.clock.date())
        let timeout = configuration.deviceCodeTimeout.bounded
        self.userCode = authorization.userCode
        self.verificationURL = authorization.verificationURL
        self.completeVerificationURL = authorization.completeVerificationURL
        self.lifetime = min(timeout, authorization.lifetime ?? timeout)
        self.session = session
        self.grant = grant
        self.deviceCode = authorization.deviceCode
        self.limits = DeviceCodeStateMachine.Limits(
            interval: authorization.interval, deadline: now + timeout, expiry: authorization.lifetime.map { now + $0 })
    }

    /// Waits until the user has agreed, and stores the credential.
    ///
    /// A server that cannot be reached meanwhile is asked again, at growing intervals. Throws `ChappieAuthError`, and
    /// the storage's errors; `unknown` when it was called before. Cancelling the task ends it with `cancelledSignIn`.
    public func complete() async throws -> ChappieAccount {
        let isFirst = self.isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFirst else { throw ChappieAuthError.alreadyCompleted }
        do {
            return try await self.session.finish(try await self.grantFromServer())
        } catch is CancellationError {
            throw ChappieAuthError.cancelledSignIn
        }
    }

    // MARK: The driver

    private func grantFromServer() async throws -> TokenGrant {
        let clock = self.session.clock
        var machine = DeviceCodeStateMachine(
            grant: self.grant, limits: self.limits, secrets: [self.deviceCode, self.userCode])
        var action = machine.started()
        while true {
            switch action {
            case .wait(let duration):
                try await clock.sleep(duration)
                action = machine.waited(now: clock.now())
            case .poll:
                do throws(ChappieAuthError) {
                    let answer = try await self.poll()
                    action = machine.answered(statusCode: answer.statusCode, body: answer.body, now: clock.now())
                } catch {
                    action = machine.pollFailed(error, now: clock.now())
                }
            case .exchange(let code, let verifier):
                return try await self.exchange(code: code, verifier: verifier)
            case .finish(let grant): return grant
            case .fail(let error): throw error
            }
        }
    }

    private func poll() async throws(ChappieAuthError) -> FetchedDocument {
        switch self.grant {
        case .standard:
            try await self.session.client.post(
                .form([
                    (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:device_code"),
                    (name: "device_code", value: self.deviceCode),
                    (name: "client_id", value: try self.session.clientID()),
                ]),
                to: self.session.configuration.signIn.server.token)
        case .authorizationCode(_, let url, _, _):
            try await self.session.client.post(
                .json([
                    (name: "device_auth_id", value: self.deviceCode), (name: "user_code", value: self.userCode),
                ]),
                to: url, isGivenAgain: true)
        }
    }

    private func exchange(code: String, verifier: String) async throws(ChappieAuthError) -> TokenGrant {
        guard case .authorizationCode(_, _, _, let redirectURI) = self.grant else { throw .invalidResponse }
        return try await self.session.exchange(code: code, verifier: verifier, redirectURI: redirectURI)
    }
}

extension ChappieDeviceCodeSignIn: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Fixed text, without a code.
    public var description: String { "ChappieDeviceCodeSignIn(redacted)" }
    /// Fixed text, without a code.
    public var debugDescription: String { self.description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ChappieAuthError {
    /// The error of a second completion.
    static let alreadyCompleted = Self.unknown(
        "This sign-in was completed or given up before, or is being completed. Start another one.")
}
