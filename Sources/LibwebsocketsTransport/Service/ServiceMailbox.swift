import CLibwebsocketsShim
import StreamTransport
import WebSocketProtocol

/// Carries commands from any thread to the service thread.
///
/// `clws_service_wake` is the only call that is safe off that thread, so this is the only way in.
final class ServiceMailbox: Sendable {
    private struct State {
        var commands: [ServiceCommand] = []
        var service: ServicePointer?
        /// The cause for which there is no service thread.
        var refusal: TransportFailure.Cause?
    }

    private let state = LockedValue(State())

    /// Queues a command.
    ///
    /// It wakes the service only when the queue was empty: a wake-up is a system call.
    func post(_ command: ServiceCommand) {
        let refusal: TransportFailure.Cause? = self.state.withLock { state in
            if let refusal = state.refusal { return refusal }
            state.commands.append(command)
            // Waking under the lock is a write to an eventfd: it does not wait.
            if state.commands.count == 1, let service = state.service { clws_service_wake(service.pointer) }
            return nil
        }
        if let refusal { Self.refuse(command, because: refusal) }
    }

    /// Refuses every command so far and to come: there is no service thread, because memory or descriptors are missing.
    func refuse(_ cause: TransportFailure.Cause) {
        let commands = self.state.withLock { state in
            state.refusal = cause
            return state.commands.take()
        }
        for command in commands { Self.refuse(command, because: cause) }
    }

    /// Indicates whether commands are refused.
    var isRefusing: Bool { self.state.withLock { $0.refusal != nil } }

    private static func refuse(_ command: ServiceCommand, because cause: TransportFailure.Cause) {
        switch command {
        case .open(let plan): plan.arena.abort(.failed(TransportFailure(phase: .connect, cause: cause)))
        case .finishClosing(_, let continuation): continuation.resume()
        // A job has to run somewhere.
        case .run(let job): globalConcurrentExecutor.enqueue(ExecutorJob(job))
        case .resolved, .send, .ping, .measure, .release, .close, .closeWith, .cancel, .resume, .watch: break
        }
    }

    /// Makes wake-ups possible, and wakes the service for commands that were posted before.
    func attach(_ pointer: OpaquePointer) {
        self.state.withLock { state in
            state.service = ServicePointer(pointer: pointer)
            if !state.commands.isEmpty { clws_service_wake(pointer) }
        }
    }

    /// Wakes the service although it has no command.
    func wake() {
        self.state.withLock { state in
            if let service = state.service { clws_service_wake(service.pointer) }
        }
    }

    /// Takes all commands posted since the last call, in order.
    func drain() -> [ServiceCommand] {
        self.state.withLock { $0.commands.take() }
    }
}

/// The shim's service.
/// - Safety: only ever given to `clws_service_wake` off the service thread, and never freed.
private struct ServicePointer: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// A command to the service thread.
///
/// Connections are named by number, so a command for one that has gone is ignored.
enum ServiceCommand: Sendable {
    /// Start an exchange.
    case open(ConnectionPlan)
    /// The addresses of a connection's host are known.
    case resolved(ConnectionID, Resolver.Answer)
    /// Send a message.
    case send(ConnectionID, OutboundMessage)
    /// Send a ping.
    case ping(ConnectionID)
    /// Send a ping whose answer is waited for.
    case measure(ConnectionID, PingTicket)
    /// Release a held request.
    case release(ConnectionID)
    /// Start the closing handshake with this code.
    case close(ConnectionID, UInt16)
    /// Start the closing handshake with this frame.
    case closeWith(ConnectionID, CloseFrame)
    /// End the exchange: a WebSocket with a close frame, any other at once.
    case cancel(ConnectionID)
    /// The consumer has caught up: continue reading.
    case resume(ConnectionID)
    /// The consumer waits with a deadline that is nearer than any before.
    case watch(ConnectionID)
    /// Resume the caller when the current closing handshakes are over, at the deadline at the latest.
    case finishClosing(by: Moment, CheckedContinuation<Void, Never>)
    /// Run a job of a task that prefers the service thread.
    case run(UnownedJob)
}

/// Identifies a connection for the life of the process.
struct ConnectionID: Hashable, Sendable {
    let rawValue: UInt
}

/// The data that the service thread needs for one exchange.
struct ConnectionPlan: Sendable {
    let id: ConnectionID
    let request: TransportRequest
    let way: Result<Way, TransportFailure>
    let arena: InboundArena
    let started: Moment
    /// A closure that is called on the service thread with the end of the TLS handshake with the server; nil for none.
    var observer: (@Sendable (TLSOutcome) -> Void)?
}

extension Array {
    /// Removes and returns all elements.
    mutating func take() -> [Element] {
        defer { self = [] }
        return self
    }
}
