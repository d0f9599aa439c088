// A connection that reports what a test pushes, when it pushes it. Owned by the test; one lock.

import StreamTransport

/// Creates manual sockets, and keeps them.
final class ManualTransport: StreamTransport {
    private let clock: ManualClock
    private let state = LockedValue<[(request: TransportRequest, socket: ManualSocket)]>([])

    init(clock: ManualClock) { self.clock = clock }

    /// The requests, in order.
    var requests: [TransportRequest] { self.state.withLock { $0.map(\.request) } }

    /// The connections, in order.
    var sockets: [ManualSocket] { self.state.withLock { $0.map(\.socket) } }

    func connect(_ request: TransportRequest) -> any TransportConnection {
        let socket = ManualSocket(clock: self.clock)
        self.state.withLock { $0.append((request, socket)) }
        return socket
    }
}

/// A connection that the test controls.
///
/// - Safety: `loan` is touched by the consumer alone.
final class ManualSocket: TransportConnection, @unchecked Sendable {
    /// An event that it reports.
    enum Event: Sendable {
        case opened(Int)
        case text(String)
        case binary
        case body(String)
        case pong
        case ended(TransportEnd)
    }

    private struct State {
        var events: [Event] = []
        var hasEnded = false
        var calls: [ScriptedConnection.Call] = []
        var waiter: CheckedContinuation<TransportWaitOutcome, Never>?
        var statistics = TransportStatistics()
        var readCount = 0
    }

    private let clock: ManualClock
    private let state = LockedValue(State())
    /// Signals each wait.
    let waits = Signal()
    private var loan: UnsafeMutableRawBufferPointer?

    init(clock: ManualClock) { self.clock = clock }

    deinit { self.loan?.deallocate() }

    /// The calls on it, in order.
    var calls: [ScriptedConnection.Call] { self.state.withLock { $0.calls } }

    /// The number of events that were taken.
    var readCount: Int { self.state.withLock { $0.readCount } }

    var statistics: TransportStatistics {
        get { self.state.withLock { $0.statistics } }
        set { self.state.withLock { $0.statistics = newValue } }
    }

    /// Appends events.
    func push(_ events: Event...) {
        let waiter = self.state.withLock { state in
            state.events += events
            return state.waiter.take()
        }
        waiter?.resume(returning: .ready)
    }

    func next() -> TransportEvent? {
        let event = self.state.withLock { state -> Event? in
            guard !state.hasEnded, !state.events.isEmpty else { return nil }
            if case .ended = state.events[0] { state.hasEnded = true }
            state.readCount += 1
            return state.events.removeFirst()
        }
        switch event {
        case .opened(let status): return .opened(ResponseHead(statusCode: status))
        case .text(let text): return .payload(self.lend(text, as: .text))
        case .binary: return .payload(self.lend("binary", as: .binary))
        case .body(let text): return .payload(self.lend(text, as: .body))
        case .pong: return .pong
        case .ended(let end): return .ended(end)
        case nil: return nil
        }
    }

    /// Bytes that are gone with the next call, and rubbish behind them.
    private func lend(_ text: String, as kind: InboundPayload.Kind) -> InboundPayload {
        self.loan?.deallocate()
        let loan = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count + 64, alignment: 1)
        loan.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "\""))
        loan.copyBytes(from: text.utf8)
        self.loan = loan
        return InboundPayload(kind: kind, bytes: UnsafeRawBufferPointer(rebasing: loan[..<text.utf8.count]))
    }

    /// Waits; with a limit, time advances to its end when there is no event.
    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = self.state.withLock { state -> TransportWaitOutcome? in
                    if Task.isCancelled { return .cancelled }
                    if !state.events.isEmpty || state.hasEnded { return .ready }
                    if let duration {
                        self.clock.advance(by: duration)
                        return .deadlinePassed
                    }
                    state.waiter = continuation
                    return nil
                }
                if let outcome { return continuation.resume(returning: outcome) }
                self.waits.send()
            }
        } onCancel: {
            self.state.withLock { $0.waiter.take() }?.resume(returning: .cancelled)
        }
    }

    private func note(_ call: ScriptedConnection.Call) { self.state.withLock { $0.calls.append(call) } }

    func send(_ message: [UInt8], as kind: OutboundKind) {
        self.note(.send(String(decoding: message, as: UTF8.self), kind))
    }
    func release() { self.note(.release) }
    func ping() { self.note(.ping) }
    func close() { self.note(.close) }
    func fail(code: UInt16) { self.note(.fail(code)) }
    func cancel() { self.note(.cancel) }
}
