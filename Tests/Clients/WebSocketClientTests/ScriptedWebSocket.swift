// A WebSocket that follows a test's script, and records the calls on it. Owned by the test; a lock.

import StreamTransport

/// One event of a scripted WebSocket, with its bytes.
enum ScriptedEvent: Sendable {
    case opened(ResponseHead)
    case message(InboundPayload.Kind, [UInt8])
    case pong
    case ended(TransportEnd)

    static func established(_ fields: [HTTPField] = [], isCompressed: Bool = false) -> Self {
        .opened(ResponseHead(statusCode: 101, fields: fields, isCompressed: isCompressed))
    }

    static func text(_ text: String) -> Self { .message(.text, Array(text.utf8)) }

    static func closed(_ code: UInt16, _ reason: String = "") -> Self { .ended(.closed(code: code, reason: reason)) }
}

/// A connection that plays its script; behind it, it waits until it is cancelled.
final class ScriptedWebSocket: OwnedWebSocket {
    /// A call on the connection.
    enum Call: Equatable, Sendable {
        case send(String, OutboundKind, watermark: Int)
        case roundTrip(within: Duration)
        case close(UInt16?, String)
        case fail(UInt16)
        case cancel
    }

    private struct State {
        var events: [ScriptedEvent]
        var calls: [Call] = []
        var end: TransportEnd?
        var hasEnded = false
        var statistics = TransportStatistics()
        var loan: UnsafeMutableRawBufferPointer?
        var waiter: CheckedContinuation<TransportWaitOutcome, Never>?
        var observer: CheckedContinuation<Void, Never>?
    }

    private let state: LockedValue<State>
    private let sendOutcome: SendOutcome
    private let roundTripOutcome: RoundTrip
    private let lendsArrived: Bool
    private let sendsAtOnce: Bool

    /// Creates a connection.
    ///
    /// `peerBeganClosing` is that of its statistics, and with `lendsArrived` messages are lent without their events.
    /// Without `sendsAtOnce` every sender waits.
    init(
        _ events: [ScriptedEvent], peerBeganClosing: Bool? = nil, sendOutcome: SendOutcome = .queued,
        roundTrip: RoundTrip = .measured(.milliseconds(5)), lendsArrived: Bool = true,
        sendsAtOnce: Bool = true
    ) {
        self.sendsAtOnce = sendsAtOnce
        self.lendsArrived = lendsArrived
        self.state = LockedValue(State(events: events))
        self.sendOutcome = sendOutcome
        self.roundTripOutcome = roundTrip
        self.state.withLock { $0.statistics.peerBeganClosing = peerBeganClosing }
    }

    deinit { self.state.withLock { $0.loan?.deallocate() } }

    /// The calls so far.
    var calls: [Call] { self.state.withLock { $0.calls } }

    /// Returns the next message, unless the script's messages are all to be taken by `next()`.
    func nextWholeMessage() -> InboundPayload? {
        let isMessage =
            self.lendsArrived
            && self.state.withLock { state in
                guard state.end == nil, !state.hasEnded, case .message = state.events.first else { return false }
                return true
            }
        guard isMessage, case .payload(let payload) = self.next() else { return nil }
        return payload
    }

    func next() -> TransportEvent? {
        self.state.withLock { state in
            state.loan?.deallocate()
            state.loan = nil
            if let end = state.end.take() {
                state.hasEnded = true
                return .ended(end)
            }
            guard !state.hasEnded, !state.events.isEmpty else { return nil }
            switch state.events.removeFirst() {
            case .opened(let head): return .opened(head)
            case .message(let kind, let bytes):
                let loan = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 64, alignment: 1)
                loan.copyBytes(from: bytes)
                state.loan = loan
                let lent = UnsafeRawBufferPointer(rebasing: loan[..<bytes.count])
                return .payload(InboundPayload(kind: kind, bytes: lent))
            case .pong: return .pong
            case .ended(let end):
                state.hasEnded = true
                return .ended(end)
            }
        }
    }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        if duration != nil, self.state.withLock({ $0.events.isEmpty && $0.end == nil }) { return .deadlinePassed }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: TransportWaitOutcome? = self.state.withLock { state in
                    if Task.isCancelled { return .cancelled }
                    if !state.events.isEmpty || state.end != nil || state.hasEnded { return .ready }
                    state.waiter = continuation
                    return nil
                }
                self.state.withLock { $0.observer.take() }?.resume()
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            self.state.withLock { $0.waiter.take() }?.resume(returning: .cancelled)
        }
    }

    /// Suspends until a task waits for an event.
    func isAwaited() async {
        await withCheckedContinuation { continuation in
            let isAwaited = self.state.withLock { state in
                if state.waiter == nil { state.observer = continuation }
                return state.waiter != nil
            }
            if isAwaited { continuation.resume() }
        }
    }

    func send(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) async -> SendOutcome {
        self.note(.send(String(decoding: message, as: UTF8.self), kind, watermark: watermark))
        return self.sendOutcome
    }

    func sendAtOnce(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) -> SendOutcome? {
        guard self.sendsAtOnce, self.sendOutcome != .cancelled else { return nil }
        self.note(.send(String(decoding: message, as: UTF8.self), kind, watermark: watermark))
        return self.sendOutcome
    }

    func roundTrip(within limit: Duration) async -> RoundTrip {
        self.note(.roundTrip(within: limit))
        return self.roundTripOutcome
    }

    func close(code: UInt16?, reason: String) { self.note(.close(code, reason)) }

    /// The last end of the script: that of a message is found when it is read, behind the end of the connection.
    func announcedEnd() async -> TransportEnd? {
        self.state.withLock { state in
            for case .ended(let end) in state.events.reversed() { return end }
            return state.end
        }
    }

    func send(_ message: [UInt8], as kind: OutboundKind) {}
    func release() {}
    func ping() {}
    func close() {}

    func fail(code: UInt16) {
        self.note(.fail(code))
        self.abort(.failed(TransportFailure(phase: .stream, cause: .protocolViolation(closeCode: code))))
    }

    func cancel() {
        self.note(.cancel)
        self.abort(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
    }

    var statistics: TransportStatistics { self.state.withLock { $0.statistics } }

    private func note(_ call: Call) { self.state.withLock { $0.calls.append(call) } }

    private func abort(_ end: TransportEnd) {
        let waiter: CheckedContinuation<TransportWaitOutcome, Never>? = self.state.withLock { state in
            if !state.hasEnded, state.end == nil {
                state.events = []
                state.end = end
            }
            return state.waiter.take()
        }
        waiter?.resume(returning: .ready)
    }
}
