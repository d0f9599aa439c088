// Fixtures of the storages' tests.
import ChappieTransport
import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieSignIn

/// A directory for the files of one test; it is removed with its owner.
final class StorageDirectory: Sendable {
    /// The storage's directory, which does not exist yet.
    let path: String
    private let above: String

    init() {
        self.above = FileManager.default.temporaryDirectory.path + "/chappie-storage-\(UUID().uuidString)"
        self.path = self.above + "/home/credentials"
    }

    deinit { try? FileManager.default.removeItem(atPath: self.above) }

    /// A storage in it.
    var storage: ChappieFileCredentialStorage { ChappieFileCredentialStorage(directory: self.path) }

    /// A storage in it that does not wait for the disk, for the preparation and the checks of a test.
    var hastyStorage: ChappieFileCredentialStorage {
        self.storage { call, body in call == .synchronize ? 0 : body() }
    }

    /// A storage in it, whose calls are performed by `perform`.
    func storage(
        _ perform: @escaping @Sendable (FileSystemCalls.Call, () -> Int) -> Int
    ) -> ChappieFileCredentialStorage {
        ChappieFileCredentialStorage(directory: self.path, calls: FileSystemCalls(perform))
    }

    func path(of name: String) -> String { "\(self.path)/\(name)" }

    /// Creates the directory, and a file in it that only its owner can read.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try FileManager.default.createDirectory(
            atPath: self.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data(bytes).write(to: URL(fileURLWithPath: self.path(of: name)))
        chmod(self.path(of: name), 0o600)
    }

    /// The names in it, sorted.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []).sorted() }

    /// The permissions of a file in it, or of itself.
    func mode(of name: String = ".") -> mode_t {
        var status = stat()
        return stat(self.path(of: name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }
}

extension ChappieStoredCredential {
    /// A credential with tokens of this name, and everything else filled.
    static func sample(_ name: String = "a", expiresAt: Double? = 2_000) -> Self {
        var credential = Self(
            accessToken: "access-\(name)", refreshToken: "refresh-\(name)", idToken: "identity-\(name)",
            accountID: "acc_1",
            clientID: "client", issuer: "https://issuer.example", refreshedAt: Date(timeIntervalSince1970: 1_000))
        credential.expiresAt = expiresAt.map { Date(timeIntervalSince1970: $0) }
        return credential
    }
}

/// A clock that advances when a caller sleeps, and when the test orders it.
final class StorageClock: Sendable {
    private struct State {
        var now: Duration = .seconds(50)
        var date = Date(timeIntervalSince1970: 1_000)
        var sleeps: [Duration] = []
    }

    private let state = LockedValue(State())

    /// All waits, in order.
    var sleeps: [Duration] { self.state.withLock { $0.sleeps } }

    /// Sets the date, without affecting the monotonic time.
    func setDate(_ seconds: Double) {
        self.state.withLock { $0.date = Date(timeIntervalSince1970: seconds) }
    }

    /// Lets time pass.
    func advance(by duration: Duration) {
        self.state.withLock { state in
            state.now += duration
            state.date += duration / .seconds(1)
        }
    }

    var clock: ClientClock {
        ClientClock(
            moment: { Moment(nanoseconds: self.state.withLock { $0.now }.nanoseconds) },
            date: { self.state.withLock { $0.date } },
            sleep: { duration in
                try Task.checkCancellation()
                self.state.withLock { $0.sleeps.append(duration) }
                self.advance(by: duration)
            })
    }

    /// A clock in which no sleep ends before its task is cancelled.
    static let standing = ClientClock(
        moment: { Moment(nanoseconds: 0) }, date: { Date(timeIntervalSince1970: 1_000) },
        sleep: { _ in
            let (stream, continuation) = AsyncStream<Void>.makeStream()
            for await _ in stream {}
            continuation.finish()
            throw CancellationError()
        })
}

/// An event that occurs once, and that others wait for.
final class StorageEvent: Sendable {
    private let outcome = SharedOutcome<Void>()

    func happened() { self.outcome.settle(.success(())) }

    func wait() async { try? await self.outcome.value() }
}

/// Holds every caller until the test releases it.
struct StorageGate: Sendable {
    private let arrival = StorageEvent()
    private let opening = StorageEvent()

    func pass() async {
        self.arrival.happened()
        await self.opening.wait()
    }

    func reached() async { await self.arrival.wait() }

    func open() { self.opening.happened() }
}
