// Connections that follow a test's script, and record the calls on them. Owned by the test; a lock each.

import StreamTransport

/// One step of a scripted connection.
enum ScriptStep: Sendable {
    /// The header section of the answer arrives.
    case opened(Int, fields: [String: String] = [:])
    /// A text message arrives.
    case text(String)
    /// A text message of these bytes arrives.
    case textBytes([UInt8])
    /// A binary message arrives.
    case binary([UInt8])
    /// A piece of a response's body arrives.
    case body(String)
    /// A piece of a response's body arrives, byte for byte.
    case bodyBytes([UInt8])
    /// The connection ends.
    case ended(TransportEnd)
    /// A pause before the next step.
    case pause(Duration)
    /// The process is stopped for a time: the waiting task is resumed late.
    case stopped(Duration)
    /// Further events wait until a message was sent, or a held request was released.
    case request
    /// The connection of a held request is established.
    case ready
    /// A ping is answered; further events wait until it was sent.
    case pong
    /// The peer sends bytes that are not an event, such as a ping of its own.
    case heard
    /// No event occurs, and no time passes, until a cancellation; the signal reports the wait.
    case hang(Signal)
}

/// A transport with a script for each connection, in order; further connections report no events.
final class ScriptedTransport: StreamTransport {
    private struct State {
        var scripts: [[ScriptStep]]
        var requests: [TransportRequest] = []
        var connections: [ScriptedConnection] = []
        var socket: Socket?
    }

    /// The identity of connections that share a socket.
    private final class Socket: Sendable {}

    private let state: LockedValue<State>
    private let clock: ManualClock

    init(_ scripts: [[ScriptStep]], clock: ManualClock) {
        self.state = LockedValue(State(scripts: scripts))
        self.clock = clock
    }

    /// The requests, in order.
    var requests: [TransportRequest] { self.state.withLock { $0.requests } }

    /// The connections, in order.
    var connections: [ScriptedConnection] { self.state.withLock { $0.connections } }

    /// Makes the connections from now on share a socket.
    func sharesSocket() { self.state.withLock { $0.socket = Socket() } }

    func connect(_ request: TransportRequest) -> any TransportConnection {
        self.state.withLock { state in
            let script = state.scripts.isEmpty ? [] : state.scripts.removeFirst()
            let connection = ScriptedConnection(script, clock: self.clock, socket: state.socket)
            state.requests.append(request)
            state.connections.append(connection)
            return connection
        }
    }

    /// Advances the time to the first event on any of the connections.
    ///
    /// A hanging connection stops the time of all of them.
    func wait(for connections: [any TransportConnection], atMost duration: Duration?) async -> TransportWaitOutcome {
        let scripted = connections.compactMap { $0 as? ScriptedConnection }
        precondition(scripted.count == connections.count, "connections of another transport")
        for connection in scripted { connection.noteWait(duration) }
        if Task.isCancelled { return .cancelled }
        let obstacles = scripted.map { $0.obstacle() }
        var earliest: Duration?
        for (connection, obstacle) in zip(scripted, obstacles) {
            switch obstacle {
            case .none: return .ready
            case .time(let remaining): earliest = min(earliest ?? remaining, remaining)
            case .silence: break
            case .hang(let signal): return await connection.park(signal)
            case .stop(let duration): return connection.goOn(after: duration)
            }
        }
        guard let earliest, earliest <= duration ?? earliest else {
            // No event will occur: only a cancellation ends this wait.
            guard let duration else { return await scripted[0].park(nil) }
            self.clock.advance(by: duration)
            return .deadlinePassed
        }
        self.clock.advance(by: earliest)
        return .ready
    }
}

/// A connection that plays its script.
final class ScriptedConnection: TransportConnection {
    /// A call on a connection.
    enum Call: Equatable, Sendable {
        case send(String, OutboundKind)
        case release
        case ping
        case close
        case fail(UInt16)
        case cancel
    }

    fileprivate struct State {
        var steps: [ScriptStep]
        var next = 0
        /// The end of the current pause.
        var pauseEnd: Duration?
        var sentCount = 0
        var takenCount = 0
        var pingCount = 0
        var isCancelled = false
        var hasEnded = false
        var calls: [Call] = []
        var waiter: CheckedContinuation<TransportWaitOutcome, Never>?
        var loan = Loan([])
        var statistics = TransportStatistics()
        var waits: [Duration?] = []
    }

    private let state: LockedValue<State>
    private let clock: ManualClock
    /// The time of its request.
    let start: Duration
    private let socket: (any AnyObject & Sendable)?
    /// Signals that a message was sent.
    let sent = Signal()

    init(_ steps: [ScriptStep], clock: ManualClock, socket: (any AnyObject & Sendable)? = nil) {
        self.socket = socket
        self.state = LockedValue(State(steps: steps))
        self.clock = clock
        self.start = clock.now
    }

    var socketIdentity: ObjectIdentifier { self.socket.map { ObjectIdentifier($0) } ?? ObjectIdentifier(self) }

    /// The calls on the connection, in order.
    var calls: [Call] { self.state.withLock { $0.calls } }

    /// The limits of the waits, in order.
    var waits: [Duration?] { self.state.withLock { $0.waits } }

    var statistics: TransportStatistics { self.state.withLock { $0.statistics } }

    /// Appends steps, to be played after the present ones.
    func append(_ steps: [ScriptStep]) {
        self.state.withLock { $0.steps += steps }
    }

    /// Ends the connection, once a caller waits for it.
    func breakNow() { self.play([.ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost)))]) }

    /// Replaces the present steps, of which a caller may wait for the first.
    func play(_ steps: [ScriptStep]) {
        let waiter = self.state.withLock { state in
            state.steps = steps
            state.next = 0
            return state.waiter.take()
        }
        waiter?.resume(returning: .ready)
    }

    /// Sets the statistics of the connection.
    func setStatistics(_ statistics: TransportStatistics) {
        self.state.withLock { $0.statistics = statistics }
    }

    func next() -> TransportEvent? {
        let now = self.clock.now
        return self.state.withLock { state in
            state.loan.spoil()
            guard !state.hasEnded else { return nil }
            if state.isCancelled {
                state.hasEnded = true
                return .ended(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
            }
            self.skipFinishedWaits(&state, now: now)
            let event = Self.takeEvent(&state)
            if case .payload = event { state.statistics.lastHeard = now - self.start }
            return event
        }
    }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        self.noteWait(duration)
        if Task.isCancelled { return .cancelled }
        switch self.obstacle() {
        case .none:
            return .ready
        case .time(let remaining):
            guard let duration, duration < remaining else {
                self.clock.advance(by: remaining)
                return .ready
            }
            self.clock.advance(by: duration)
            return .deadlinePassed
        case .silence:
            guard let duration else { return await self.park(nil) }
            self.clock.advance(by: duration)
            return .deadlinePassed
        case .hang(let signal):
            return await self.park(signal)
        case .stop(let duration):
            return self.goOn(after: duration)
        }
    }

    /// Continues the process.
    fileprivate func goOn(after duration: Duration) -> TransportWaitOutcome {
        self.clock.advance(by: duration)
        self.state.withLock { $0.next += 1 }
        return .deadlinePassed
    }

    /// Invalidates the lent bytes, and records the limit of a wait.
    fileprivate func noteWait(_ duration: Duration?) {
        self.state.withLock { state in
            state.loan.spoil()
            state.waits.append(duration)
        }
    }

    func send(_ message: [UInt8], as kind: OutboundKind) {
        self.state.withLock { state in
            state.calls.append(.send(String(decoding: message, as: UTF8.self), kind))
            state.sentCount += 1
        }
        self.sent.send()
    }

    func release() {
        self.state.withLock { state in
            state.calls.append(.release)
            state.sentCount += 1
        }
    }

    func ping() {
        self.state.withLock { state in
            state.calls.append(.ping)
            state.pingCount += 1
        }
    }

    func close() { self.state.withLock { $0.calls.append(.close) } }

    func fail(code: UInt16) { self.state.withLock { $0.calls.append(.fail(code)) } }

    func cancel() {
        let waiter = self.state.withLock { state in
            state.calls.append(.cancel)
            state.isCancelled = true
            return state.waiter.take()
        }
        waiter?.resume(returning: .ready)
    }

    // MARK: The script

    fileprivate enum Obstacle {
        case none
        case time(Duration)
        case silence
        case hang(Signal)
        case stop(Duration)
    }

    /// Returns the obstacle between the consumer and the next event.
    fileprivate func obstacle() -> Obstacle {
        let now = self.clock.now
        return self.state.withLock { state in
            if state.isCancelled, !state.hasEnded { return .none }
            self.skipFinishedWaits(&state, now: now)
            guard !state.hasEnded, state.next < state.steps.count else { return .silence }
            switch state.steps[state.next] {
            case .pause: return .time((state.pauseEnd ?? now) - now)
            case .request, .heard: return .silence
            case .pong: return state.pingCount > 0 ? .none : .silence
            case .hang(let signal): return .hang(signal)
            case .stopped(let duration): return .stop(duration)
            case .opened, .ready, .text, .textBytes, .binary, .body, .bodyBytes, .ended: return .none
            }
        }
    }

    private func skipFinishedWaits(_ state: inout State, now: Duration) {
        while state.next < state.steps.count {
            switch state.steps[state.next] {
            case .pause(let duration):
                let end = state.pauseEnd ?? now + duration
                state.pauseEnd = end
                guard end <= now else { return }
                state.pauseEnd = nil
            case .request:
                guard state.sentCount > state.takenCount else { return }
                state.takenCount += 1
            case .heard:
                state.statistics.lastHeard = now - self.start
            case .opened, .ready, .pong, .text, .textBytes, .binary, .body, .bodyBytes, .ended, .hang,
                .stopped:
                return
            }
            state.next += 1
        }
    }

    private static func takeEvent(_ state: inout State) -> TransportEvent? {
        guard state.next < state.steps.count else { return nil }
        let event: TransportEvent
        switch state.steps[state.next] {
        case .opened(let statusCode, let fields):
            let fields = fields.sorted { $0.key < $1.key }.map { HTTPField($0.key, $0.value) }
            event = .opened(ResponseHead(statusCode: statusCode, fields: fields))
        case .ready: event = .ready
        case .pong:
            guard state.pingCount > 0 else { return nil }
            state.pingCount -= 1
            event = .pong
        case .text(let text): event = .payload(state.lend(Array(text.utf8), as: .text))
        case .textBytes(let bytes): event = .payload(state.lend(bytes, as: .text))
        case .binary(let bytes): event = .payload(state.lend(bytes, as: .binary))
        case .body(let text): event = .payload(state.lend(Array(text.utf8), as: .body))
        case .bodyBytes(let bytes): event = .payload(state.lend(bytes, as: .body))
        case .ended(let end):
            state.hasEnded = true
            event = .ended(end)
        case .pause, .request, .heard, .hang, .stopped: return nil
        }
        state.next += 1
        return event
    }

    fileprivate func park(_ signal: Signal?) async -> TransportWaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: TransportWaitOutcome? = self.state.withLock { state in
                    if Task.isCancelled { return .cancelled }
                    if state.isCancelled { return .ready }
                    state.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
                signal?.send()
            }
        } onCancel: {
            self.state.withLock { $0.waiter.take() }?.resume(returning: .cancelled)
        }
    }
}

extension ScriptedConnection.State {
    fileprivate mutating func lend(_ bytes: [UInt8], as kind: InboundPayload.Kind) -> InboundPayload {
        self.loan = Loan(bytes)
        return InboundPayload(kind: kind, bytes: self.loan.bytes)
    }
}

/// Bytes lent until the next call, with exactly 64 more behind them.
/// - Safety: it belongs to its connection's state, under that lock; the reader of the bytes is the one consumer.
private final class Loan: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let count: Int

    init(_ bytes: [UInt8]) {
        self.count = bytes.count
        self.memory = .allocate(byteCount: bytes.count + 64, alignment: 1)
        self.memory.copyBytes(from: bytes)
        // The bytes behind the lent ones must not matter: a quotation mark is the worst case.
        for index in bytes.count..<self.memory.count { self.memory[index] = UInt8(ascii: "\"") }
    }

    deinit {
        self.memory.deallocate()
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.memory[..<self.count]) }

    /// Overwrites lent bytes, so that late reads are detected.
    func spoil() {
        for index in self.memory.indices { self.memory[index] = 0xFF }
    }
}
