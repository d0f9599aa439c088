import StreamSession
import StreamTransport

/// What the turns of one instance share: the configuration, the transport, and what was learnt about the network.
final class Engine: Sendable {
    private struct State {
        var staysOnHTTP = false
        var kept: KeptConnection?
    }

    /// A WebSocket that carried a whole response and can carry the next one.
    struct KeptConnection {
        let connection: any TransportConnection
        /// Whom the connection speaks for.
        let credential: ChappieCredential?
    }

    let configuration: ChappieTransportConfiguration
    let transport: any StreamTransport
    let clock: TurnClock
    private let state = LockedValue(State())

    init(configuration: ChappieTransportConfiguration, transport: any StreamTransport, clock: TurnClock) {
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
    }

    deinit {
        self.state.withLock { $0.kept }?.connection.close()
    }

    /// Whether WebSockets were found not to work: sticky, as the policy documents.
    var staysOnHTTP: Bool { self.state.withLock { $0.staysOnHTTP } }

    /// Whether a turn with these bodies may begin with a WebSocket.
    func availability(for bodies: RequestBodies) -> TurnStateMachine.WebSocketAvailability {
        if self.staysOnHTTP { return .condemned }
        return bodies.isTooLargeForWebSocket ? .requestTooLarge : .available
    }

    /// Gives WebSockets up for the rest of the instance's life.
    func stayOnHTTP() {
        let kept = self.state.withLock { state in
            state.staysOnHTTP = true
            return state.kept.take()
        }
        kept?.connection.close()
    }

    /// Keeps a connection for the next turn.
    ///
    /// An older one that nobody took is closed.
    func keep(_ connection: KeptConnection) {
        let surplus: KeptConnection? = self.state.withLock { state in
            guard !state.staysOnHTTP else { return connection }
            defer { state.kept = connection }
            return state.kept
        }
        surplus?.connection.close()
    }

    /// The kept connection, if it is still alive and speaks for `credential`.
    func takeKeptConnection(for credential: ChappieCredential?) -> (any TransportConnection)? {
        guard let kept = self.state.withLock({ $0.kept.take() }) else { return nil }
        // A connection that has something to say between two turns is closing, or out of step.
        guard kept.credential == credential, kept.connection.next() == nil else {
            kept.connection.close()
            return nil
        }
        return kept.connection
    }
}

/// Where a turn gets its time from: the system, or a test.
package struct TurnClock: Sendable {
    /// Time since some fixed moment.
    let now: @Sendable () -> Duration
    /// Waits, or throws `CancellationError`.
    let sleep: @Sendable (Duration) async throws -> Void
    /// A number from 0 to 1, for jitter.
    let fraction: @Sendable () -> Double

    /// A clock of these parts.
    package init(
        now: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        fraction: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.fraction = fraction
    }

    /// The system's.
    static let system: TurnClock = {
        let start = ContinuousClock.now
        return TurnClock(
            now: { ContinuousClock.now - start },
            sleep: { try await Task.sleep(for: $0) },
            fraction: { Double.random(in: 0..<1) }
        )
    }()
}
