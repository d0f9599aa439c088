import StreamTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A sign-in in a browser on this machine (RFC 8252, with PKCE).
///
/// It listens on 127.0.0.1 until it is complete, cancelled or dropped, and is good for one call of `complete()`.
public final class ChappieBrowserSignIn: Sendable {
    private enum State: Sendable {
        case open
        case completing(Task<ChappieAccount, any Error>)
        case cancelled
        case over
    }

    /// A year: no system sleeps for as long as a `Duration` can say.
    private static let longestTimeout: Duration = .seconds(31_536_000)

    /// What the browser opens.
    public let authorizationURL: URL
    /// The port on which it listens for the browser's return.
    public let port: UInt16

    private let session: ChappieAuthSession
    private let key: ProofKey
    private let redirectURI: String
    private let listener: CallbackListener
    /// When the browser has taken too long.
    private let deadline: Duration
    private let state = LockedValue(State.open)

    /// Makes the secrets, and listens.
    init(session: ChappieAuthSession, random: SecureRandom = .system) async throws {
        let configuration = session.configuration.signIn
        let clientID = try session.clientID()
        let key = try ProofKey(random)
        var request = AuthorizationRequest(
            server: configuration.server, clientID: clientID, originator: configuration.originator, port: 0)
        // For a page that cannot be opened nobody is asked to leave a port.
        _ = try request.url(key)
        let listener = try await CallbackPort(configuration.callbackPorts, clock: session.clock)
            .listen(state: key.state)
        request.port = listener.port
        self.authorizationURL = try request.url(key)
        self.port = listener.port
        self.session = session
        self.key = key
        self.redirectURI = request.redirectURI
        self.listener = listener
        self.deadline = session.clock.now() + min(max(.zero, configuration.callbackTimeout), Self.longestTimeout)
    }

    /// Waits for the browser's return, and keeps the credential; nobody listens any more when it returns or throws.
    ///
    /// The browser is shown what became of it. The time counts from when the sign-in was started. Throws
    /// `ChappieAuthError`, and what the storage throws; `unknown` when it was called before. Cancelling the task ends
    /// it with `cancelledSignIn`.
    public func complete() async throws -> ChappieAccount {
        let task = try self.state.withLock { state in
            switch state {
            case .open:
                let task = Task { try await self.account() }
                state = .completing(task)
                return task
            case .cancelled: throw ChappieAuthError.cancelledSignIn
            case .completing, .over: throw ChappieAuthError.alreadyCompleted
            }
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        self.state.withLock { $0 = .over }
        switch result {
        case .success(let account):
            await self.listener.finish(.signedIn)
            return account
        case .failure(let failure):
            let error = failure is CancellationError ? ChappieAuthError.cancelledSignIn : failure
            await self.listener.finish(Self.page(error))
            throw error
        }
    }

    /// Gives the sign-in up: `complete()` throws `cancelledSignIn`, and nobody listens any more.
    ///
    /// Does nothing when it is over.
    public func cancel() {
        let task = self.state.withLock { state -> Task<ChappieAccount, any Error>? in
            switch state {
            case .open:
                state = .cancelled
                return nil
            case .completing(let task): return task
            case .cancelled, .over: return nil
            }
        }
        task?.cancel()
        self.listener.stop()
    }

    private static func page(_ error: any Error) -> CallbackPage {
        switch error as? ChappieAuthError {
        case .cancelledSignIn: .cancelled
        case let error?: .failed(error.safeDescription)
        case nil: .failed("The credential could not be kept.")
        }
    }

    // MARK: Steps

    private func account() async throws -> ChappieAccount {
        let code = try await self.code()
        let grant = try await self.session.exchange(
            code: code, verifier: self.key.verifier, redirectURI: self.redirectURI)
        return try await self.session.finish(grant)
    }

    private func code() async throws -> String {
        switch try await self.outcome() {
        case .code(let code): return code
        case .denied(let words): throw ChappieAuthError.authorizationDenied(words)
        case .invalid: throw ChappieAuthError.invalidResponse
        case .cancelled: throw ChappieAuthError.cancelledSignIn
        }
    }

    /// What the browser comes back with, before the time is up.
    private func outcome() async throws -> CallbackOutcome {
        let (listener, clock, deadline) = (self.listener, self.session.clock, self.deadline)
        return try await withThrowingTaskGroup(of: CallbackOutcome.self) { group in
            group.addTask {
                guard let outcome = await listener.nextOutcome() else { throw ChappieAuthError.cancelledSignIn }
                return outcome
            }
            group.addTask {
                let remaining = deadline - clock.now()
                if remaining > .zero { try await clock.sleep(remaining) }
                // Nobody may have asked for it until now.
                guard let outcome = listener.currentOutcome else { throw ChappieAuthError.callbackTimeout }
                return outcome
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw ChappieAuthError.cancelledSignIn }
            return first
        }
    }
}

extension ChappieBrowserSignIn: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never a secret.
    public var description: String { "ChappieBrowserSignIn(redacted)" }
    /// Never a secret.
    public var debugDescription: String { self.description }
    /// Never a secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
