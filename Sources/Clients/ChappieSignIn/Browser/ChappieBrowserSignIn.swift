public import PlatformFoundation
import StreamTransport
import TransportSurface

/// A sign-in in a browser on this machine (RFC 8252, with PKCE).
///
/// It listens on 127.0.0.1 until it is complete, cancelled or dropped, and allows one call of `complete()`.
public final class ChappieBrowserSignIn: Sendable {
    private enum State: Sendable {
        case open
        case completing(Task<ChappieAccount, any Error>)
        case cancelled
        case over
    }

    /// A year: no system sleeps for the longest `Duration`.
    private static let longestTimeout: Duration = .seconds(31_536_000)

    /// The URL for the browser to open.
    public let authorizationURL: URL
    /// The port on which it listens for the browser's return.
    public let port: UInt16

    private let session: ChappieAuthSession
    private let key: ProofKey
    private let redirectURI: String
    private let listener: CallbackListener
    /// The deadline for the browser's return.
    private let deadline: Duration
    private let state = LockedValue(State.open)

    /// Generates the secrets, and listens.
    init(session: ChappieAuthSession, random: SecureRandom = .system) async throws {
        let configuration = session.configuration.signIn
        let clientID = try session.clientID()
        let key = try ProofKey(random)
        var request = AuthorizationRequest(
            server: configuration.server, clientID: clientID, originator: configuration.originator, port: 0)
        // A page that cannot be opened is reported before another instance is asked to release a port.
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

    /// Waits for the browser's return, and stores the credential; the listener has ended when it returns or throws.
    ///
    /// The browser shows the result. The time limit counts from the start of the sign-in. Throws `ChappieAuthError`,
    /// and the storage's errors; `unknown` when it was called before. Cancelling the task ends it with
    /// `cancelledSignIn`.
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

    /// Cancels the sign-in: `complete()` throws `cancelledSignIn`, and the listener ends.
    ///
    /// It has no effect after the end.
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

    /// Returns the outcome of the browser's return, before the deadline.
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
                // The outcome may have arrived before this call.
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
    /// Fixed text, without secrets.
    public var description: String { "ChappieBrowserSignIn(redacted)" }
    /// Fixed text, without secrets.
    public var debugDescription: String { self.description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
