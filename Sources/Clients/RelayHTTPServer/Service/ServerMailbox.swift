// The commands from any thread to the server's service thread.
// The state is behind a lock.

import CLibwebsocketsShim
import StreamTransport

/// A command to the service thread.
enum ServerCommand: Sendable {
    /// Accept the connections of a listening socket; the continuation is told whether that can be done.
    case listen(HTTPServerCore, descriptor: CInt, CheckedContinuation<Bool, Never>)
    /// Send what the exchange has posted.
    case flush(HTTPExchange)
    /// Go on reading the messages of a WebSocket.
    case resumeReading(HTTPExchange)
    /// Close the exchange's connection at once.
    case abort(HTTPExchange)
    /// Accept no more, and end everything by the deadline; the continuation is resumed when no connection is left.
    case stop(HTTPServerCore, by: Moment, CheckedContinuation<Void, Never>)
}

/// Carries commands to the service thread, and wakes it once for all that come before it looks.
final class ServerMailbox: Sendable {
    private struct State {
        var commands: [ServerCommand] = []
        var service: ServicePointer?
        /// Indicates whether the service thread looks for commands before it sleeps.
        var isAwake = false
        var hasFailed = false
    }

    /// - Safety: only ever given to `clws_service_wake`, which any thread may call, and never freed.
    private struct ServicePointer: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let state = LockedValue(State())

    /// Queues a command; false when there is no service thread.
    @discardableResult
    func post(_ command: ServerCommand) -> Bool {
        self.state.withLock { state in
            guard !state.hasFailed else { return false }
            state.commands.append(command)
            // Under the lock, so that no other thread relies on a wake-up that is still to come: a write to an eventfd.
            if state.commands.count == 1, !state.isAwake, let service = state.service {
                clws_service_wake(service.pointer)
            }
            return true
        }
    }

    /// Makes wake-ups possible.
    func attach(_ pointer: OpaquePointer) {
        self.state.withLock { state in
            state.service = ServicePointer(pointer: pointer)
            if !state.commands.isEmpty { clws_service_wake(pointer) }
        }
    }

    /// Refuses all commands, because there is no service thread, and returns those that were queued.
    func fail() -> [ServerCommand] {
        self.state.withLock { state in
            state.hasFailed = true
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Notes that the service thread has begun a round, and takes commands at its end.
    func roundBegan() { self.state.withLock { $0.isAwake = true } }

    /// Takes all commands; without any the service thread goes to sleep, and the next command wakes it.
    func take() -> [ServerCommand] {
        self.state.withLock { state in
            guard !state.commands.isEmpty else {
                state.isAwake = false
                return []
            }
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Lets the service thread look at its sockets before it takes more commands, for which it wakes itself.
    func postpone() {
        self.state.withLock { state in
            state.isAwake = false
            if !state.commands.isEmpty, let service = state.service { clws_service_wake(service.pointer) }
        }
    }
}
