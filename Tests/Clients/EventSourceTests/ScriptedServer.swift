// A transport whose connections follow a script, and a clock that the test moves. Owned by the test; a lock each.

import EventSource
import Foundation
import StreamTransport
import TransportSurface

/// One step of a connection.
enum ServerStep: Sendable {
    /// The head of an answer arrives, with field lines.
    case head(Int, [(name: String, value: String)] = [])
    /// A piece of the content arrives.
    case body(String)
    /// The connection ends.
    case end(TransportEnd = .complete)
    /// No bytes arrive for a time.
    case pause(Duration)
    /// No more bytes arrive; `ScriptedServer.hangs` tells when they are waited for.
    case hang

    /// The head of an event stream.
    static let events = Self.head(200, [("content-type", "text/event-stream")])
}

/// A transport with a script for each connection, in order; further ones are unreachable.
final class ScriptedServer: StreamTransport {
    private struct State {
        var scripts: [[ServerStep]]
        var requests: [TransportRequest] = []
        var connections: [ScriptedServerConnection] = []
        var now = Duration.zero
        var delays: [Duration] = []
    }

    private let state: LockedValue<State>
    /// An element for each wait that only a cancellation ends.
    let hangs: AsyncStream<Void>
    private let hangContinuation: AsyncStream<Void>.Continuation
    /// Indicates whether delays before attempts last until they are cancelled.
    private let sleepsForEver: Bool

    init(_ scripts: [ServerStep]..., sleepsForEver: Bool = false) {
        self.state = LockedValue(State(scripts: scripts))
        self.sleepsForEver = sleepsForEver
        (self.hangs, self.hangContinuation) = AsyncStream.makeStream()
    }

    var requests: [TransportRequest] { self.state.withLock { $0.requests } }
    var connections: [ScriptedServerConnection] { self.state.withLock { $0.connections } }
    /// The delays before attempts.
    var delays: [Duration] { self.state.withLock { $0.delays } }

    func connect(_ request: TransportRequest) -> any TransportConnection {
        self.state.withLock { state in
            state.requests.append(request)
            let unreachable = TransportFailure(phase: .connect, cause: .unreachable(code: 111))
            let script = state.scripts.isEmpty ? [.end(.failed(unreachable))] : state.scripts.removeFirst()
            let connection = ScriptedServerConnection(script, self)
            state.connections.append(connection)
            return connection
        }
    }

    /// The clock of the server's time.
    var clock: ClientClock {
        ClientClock(
            moment: { Moment(nanoseconds: self.state.withLock { $0.now }.nanoseconds) },
            date: { Date(timeIntervalSince1970: 784_111_777) }, fraction: { 0 },
            sleep: { duration in
                self.state.withLock { $0.delays.append(duration) }
                if self.sleepsForEver { try await self.hang() }
                self.advance(by: duration)
            })
    }

    func advance(by duration: Duration) { self.state.withLock { $0.now += duration } }

    private func hang() async throws {
        self.announceHang()
        let never = AsyncStream<Void>.makeStream()
        for await _ in never.stream {}
        try Task.checkCancellation()
    }

    fileprivate func announceHang() { self.hangContinuation.yield() }

    /// Returns when a task waits for what never comes.
    func hung() async {
        var iterator = self.hangs.makeAsyncIterator()
        await iterator.next()
    }
}

/// A connection of a scripted server.
final class ScriptedServerConnection: TransportConnection, @unchecked Sendable {
    private struct State {
        var steps: [ServerStep]
        var isCancelled = false
        var waiter: AsyncStream<Void>.Continuation?
    }

    private let state: LockedValue<State>
    /// It owns the connection, and outlives it as the event source's transport.
    private unowned let server: ScriptedServer
    /// The bytes that are lent; touched by the consumer only.
    private var lent = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 1)

    init(_ steps: [ServerStep], _ server: ScriptedServer) {
        self.state = LockedValue(State(steps: steps))
        self.server = server
    }

    deinit { self.lent.deallocate() }

    var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    func next() -> TransportEvent? {
        let step = self.state.withLock { state -> ServerStep? in
            if state.isCancelled { return .end(.failed(TransportFailure(phase: .stream, cause: .cancelled))) }
            switch state.steps.first {
            case nil, .hang, .pause: return nil
            case .head, .body, .end: return state.steps.removeFirst()
            }
        }
        switch step {
        case .head(let statusCode, let fields):
            return .opened(ResponseHead(statusCode: statusCode, fields: fields.map { HTTPField($0.name, $0.value) }))
        case .body(let text):
            let bytes = Array(text.utf8)
            self.lent.deallocate()
            // The transport's promise: 64 more bytes can be read.
            self.lent = .allocate(byteCount: bytes.count + 64, alignment: 1)
            self.lent.copyBytes(from: bytes)
            return .payload(
                InboundPayload(kind: .body, bytes: UnsafeRawBufferPointer(rebasing: self.lent[..<bytes.count])))
        case .end(let end): return .ended(end)
        case nil, .hang, .pause: return nil
        }
    }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        if Task.isCancelled { return .cancelled }
        let pause = self.state.withLock { state -> Duration? in
            guard !state.isCancelled, case .pause(let pause)? = state.steps.first else { return nil }
            if let duration, duration < pause {
                state.steps[0] = .pause(pause - duration)
                return duration
            }
            state.steps.removeFirst()
            return pause
        }
        if let pause {
            self.server.advance(by: pause)
            return .ready
        }
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let isHanging = self.state.withLock { state in
            guard !state.isCancelled, case .hang? = state.steps.first else { return false }
            if duration == nil { state.waiter = continuation }
            return true
        }
        guard isHanging else { return .ready }
        if let duration {
            self.server.advance(by: duration)
            return .deadlinePassed
        }
        self.server.announceHang()
        for await _ in stream {}
        return Task.isCancelled ? .cancelled : .ready
    }

    func cancel() {
        self.state.withLock { state in
            state.isCancelled = true
            return state.waiter.take()
        }?.finish()
    }

    func send(_ message: [UInt8], as kind: OutboundKind) {}
    func release() {}
    func ping() {}
    func close() { self.cancel() }
    func fail(code: UInt16) { self.cancel() }
    var statistics: TransportStatistics { TransportStatistics() }
}

extension EventSource {
    /// Creates an event source that reads from a scripted server.
    convenience init(
        _ server: ScriptedServer, _ request: EventSourceRequest = .test,
        _ change: (inout EventSourceConfiguration) -> Void = { _ in }
    ) {
        var configuration = EventSourceConfiguration()
        configuration.reconnection.jitter = 0
        configuration.reconnection.backoff = .zero
        change(&configuration)
        self.init(request, configuration: configuration, transport: server, clock: server.clock)
    }

    /// Returns the events up to the end, and the error.
    func all() async -> (events: [ServerSentEvent], error: (any Error)?) {
        var events: [ServerSentEvent] = []
        do {
            for try await event in self { events.append(event) }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }
}

extension EventSourceRequest {
    /// A GET of an address that does not exist.
    static let test = Self(url: URL(string: "http://a.test:81/events?x=1")!)
}
