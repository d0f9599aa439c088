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
        /// Indicates whether the service thread performs commands, and drains again before it sleeps.
        var isDraining = false
        /// The cause for which there is no service thread.
        var refusal: TransportFailure.Cause?
    }

    private let state = LockedValue(State())

    /// Queues a command.
    ///
    /// It wakes the service, by a system call, only when no earlier command has and the service does not drain. That is
    /// done under the lock, a write to an eventfd that does not wait: behind it another thread's command would rely on
    /// a wake-up that is still to come.
    func post(_ command: ServiceCommand) {
        let isQueued = self.state.withLock { state in
            guard state.refusal == nil else { return false }
            state.commands.append(command)
            if state.commands.count == 1, !state.isDraining, let service = state.service {
                clws_service_wake(service.pointer)
            }
            return true
        }
        if !isQueued, let cause = self.state.withLock({ $0.refusal }) { Self.refuse(command, because: cause) }
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

    /// Takes all commands posted since the last call, in order, in exchange for empty storage; returns false, and keeps
    /// the storage, when there are none.
    ///
    /// After true, posted commands do not wake the service until it returns false or `endDraining` is called.
    func drain(into commands: inout [ServiceCommand]) -> Bool {
        self.state.withLock { state in
            state.isDraining = !state.commands.isEmpty
            if state.isDraining { swap(&state.commands, &commands) }
            return state.isDraining
        }
    }

    /// Lets the service do other work before it drains again, for which it is woken.
    func endDraining() {
        let sleeper = self.state.withLock { state in
            state.isDraining = false
            return state.commands.isEmpty ? nil : state.service
        }
        if let sleeper { clws_service_wake(sleeper.pointer) }
    }
}

/// The shim's service.
/// - Safety: only ever given to `clws_service_wake`, which any thread may call, and never freed.
private struct ServicePointer: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// A command to the service thread.
///
/// Connections are named by number, so a command for one that has gone is ignored. The commands with much data are
/// indirect, so that the others, a few words each, are cheap to queue.
enum ServiceCommand: Sendable {
    /// Start an exchange.
    indirect case open(ConnectionPlan)
    /// The addresses of a connection's host are known.
    indirect case resolved(ConnectionID, Resolver.Answer)
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
    indirect case closeWith(ConnectionID, CloseFrame)
    /// End the exchange: a WebSocket with a close frame, any other at once.
    case cancel(ConnectionID)
    /// The consumer has caught up: continue reading.
    case resume(ConnectionID)
    /// The consumer waits with a deadline that is nearer than any before.
    case watch(ConnectionID)
    /// Resume the caller when the current closing handshakes are over, at the deadline at the latest.
    indirect case finishClosing(by: Moment, CheckedContinuation<Void, Never>)
    /// Run a job of a task that prefers the service thread.
    case run(UnownedJob)
}

/// Identifies a connection for the life of the process.
package struct ConnectionID: Hashable, Sendable {
    /// The number, which is never used twice.
    package let rawValue: UInt

    /// Makes the identifier of this number.
    package init(rawValue: UInt) { self.rawValue = rawValue }
}

/// The data that the service thread needs for one exchange.
struct ConnectionPlan: Sendable {
    let id: ConnectionID
    let request: TransportRequest
    let route: Result<Route, TransportFailure>
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
