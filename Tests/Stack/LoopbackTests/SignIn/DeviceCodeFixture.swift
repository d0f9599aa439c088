import ChappieTestServer
import Foundation
import StreamTransport
import TransportSurface

@testable import ChappieSignIn

/// A clock of a sign-in that advances when a caller sleeps.
final class FlowClock: Sendable {
    /// The date, which a test may set.
    let date = LockedValue(Date())
    private let time = LockedValue(Duration.zero)
    private let slept = LockedValue<[Duration]>([])
    private let hangs: Bool

    /// Occurs when a caller sleeps.
    let isAsleep = Happening()

    /// A clock; one that hangs sleeps until the task is cancelled.
    init(hangs: Bool = false) { self.hangs = hangs }

    /// Every time that was slept, in order.
    var sleeps: [Duration] { self.slept.withLock { $0 } }

    /// Lets time pass.
    func advance(by duration: Duration) { self.time.withLock { $0 += duration } }

    var clock: ClientClock {
        ClientClock(
            moment: { Moment(nanoseconds: self.time.withLock { $0 }.nanoseconds) },
            date: { self.date.withLock { $0 } },
            sleep: { duration in
                self.slept.withLock { $0.append(duration) }
                self.isAsleep.happened()
                if self.hangs { try await forever() }
                try Task.checkCancellation()
                self.advance(by: duration)
            })
    }
}

/// A storage of one process, which may fail.
final class FlowStorage: ChappieCredentialStorage {
    let failure: ChappieCredentialStorageError?
    private let credentials = LockedValue<[String: ChappieStoredCredential]>([:])

    init(failure: ChappieCredentialStorageError? = nil) { self.failure = failure }

    var stored: ChappieStoredCredential? { self.credentials.withLock { $0["default"] } }

    func accounts() -> [String] { self.credentials.withLock { $0.keys.sorted() } }

    func credential(of account: String) -> ChappieStoredCredential? { self.credentials.withLock { $0[account] } }

    func store(_ credential: ChappieStoredCredential, of account: String) throws {
        if let failure = self.failure { throw failure }
        self.credentials.withLock { $0[account] = credential }
    }

    func removeCredential(of account: String) { self.credentials.withLock { $0[account] = nil } }

    func withLock<Value: Sendable>(
        of account: String, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await body()
    }
}

/// A server of sign-in, and a session that signs in there.
struct Flow {
    /// The kind of a device's sign-in.
    enum Way: String, CaseIterable, Sendable {
        case standard
        case authorizationCode
    }

    let server: ChappieTestServer
    let storage: FlowStorage
    let clock: FlowClock
    let session: ChappieAuthSession

    /// A server that behaves like that, and a session on it.
    init(
        _ way: Way = .authorizationCode, clock: FlowClock = FlowClock(), storage: FlowStorage = FlowStorage(),
        server change: (inout ChappieTestServer.SignIn) -> Void = { _ in },
        client configure: (inout ChappieSignInConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn.clientIDs = ["client-1"]
        configuration.signIn.pollInterval = 5
        // The clock of these tests is faster than the server's.
        configuration.signIn.refusesFastPolls = false
        change(&configuration.signIn)
        self.server = try ChappieTestServer(configuration: configuration)
        self.storage = storage
        self.clock = clock
        self.session = try Self.session(
            port: self.server.port, way, clock: clock, storage: storage, client: configure)
    }

    /// A session that signs in at a port of this machine.
    static func session(
        port: Int, _ way: Way = .authorizationCode, clock: FlowClock, storage: FlowStorage,
        client configure: (inout ChappieSignInConfiguration) -> Void = { _ in }
    ) throws -> ChappieAuthSession {
        guard let issuer = URL(string: "http://127.0.0.1:\(port)") else { throw URLError(.badURL) }
        var configuration = ChappieConfiguration()
        configuration.proxy = .none
        configuration.credentialStorage = storage
        configuration.signIn = ChappieSignInConfiguration(
            clientID: "client-1",
            server: way == .authorizationCode
                ? .openAI(issuer: issuer)
                : ChappieAuthorizationServer(
                    issuer: issuer, authorization: issuer.appending(path: "oauth/authorize"),
                    token: issuer.appending(path: "oauth/token"),
                    deviceAuthorization: issuer.appending(path: "oauth/device_authorization")))
        configuration.signIn.callbackPorts = [0]
        configure(&configuration.signIn)
        return ChappieAuthSession(configuration: configuration, clock: clock.clock)
    }

    /// Returns the number of requests to an endpoint.
    func count(_ endpoint: ChappieTestServer.SignIn.Endpoint) -> Int {
        self.server.signInLog.count { $0.endpoint == endpoint }
    }

    /// The error with which a sign-in by device code ends; nil when it succeeds.
    func deviceCodeError() async -> (any Error)? {
        do {
            _ = try await self.session.startDeviceCodeSignIn().complete()
            return nil
        } catch {
            return error
        }
    }
}

extension Error {
    /// The error, as one of a sign-in.
    var asAuthError: ChappieAuthError? { self as? ChappieAuthError }
}
