// One connection: what it will report, and when.

import ChappieTransport
import StreamTransport

/// A connection whose peer has made up its mind.
/// - Safety: it is touched on its world's thread only.
final class SimulatedConnection: TransportConnection, @unchecked Sendable {
    let id: Int
    let request: TransportRequest
    let world: SimulatedWorld
    let startedAt: Duration
    /// The coming events, in order of time.
    private(set) var items: [TimelineItem] = []
    private var nextItem = 0
    private var isCancelled = false
    private var hasEnded = false
    private(set) var isEstablished = false
    /// The engine has closed it, or has read its end.
    private(set) var isClosed = false
    private(set) var hasSent = false
    private(set) var isReleased = false
    private var statusCode: Int?
    /// Indicates whether the peer no longer answers.
    var peerIsDead = false
    /// The fate of the next request on a kept connection, instead of an answer.
    var fate: KeptFate?
    /// The refusal of a held request.
    var refusalOfHeld: (Int, RefusalBody)?
    /// The hints about the next delay.
    private var hints: [DelayRules.Hint] = []
    /// The response that it carried last, and what its late events are recognised by.
    var lastResponse: CarriedResponse?
    /// The turn that has opened it, and whether that was to find out about WebSockets.
    let turn: Int
    var isProbe = false
    private var awaitsPong = false
    /// Since when there is always a comment to read; nil for a peer that pauses.
    private var endlessSince: Duration?
    private let loan = Loan()
    var statistics = TransportStatistics()

    init(id: Int, request: TransportRequest, world: SimulatedWorld) {
        self.id = id
        self.request = request
        self.world = world
        self.startedAt = world.now
        self.turn = world.coverage.turnCount
    }

    var isWebSocket: Bool {
        switch self.request.exchange {
        case .webSocket: true
        case .post, .get: false
        }
    }

    /// Indicates whether the engine reads messages before its consumer asks for them: a budget for the whole turn,
    /// which the consumer's own time counts against, forbids it.
    private var isReadAhead: Bool {
        self.isWebSocket && self.world.settings.configuration.timeouts.total == nil
    }

    /// Indicates whether it asks for the rest of a response.
    var isResumption: Bool {
        switch self.request.exchange {
        case .get: true
        case .post, .webSocket: false
        }
    }

    // MARK: The timeline

    /// Adds an event at a moment; no event follows the end.
    func schedule(_ event: TimelineItem.Event, at moment: Duration, hints: [DelayRules.Hint]? = nil) {
        let item = TimelineItem(at: moment, event: event, hints: hints)
        var index = self.items.count
        while index > self.nextItem, self.items[index - 1].at > moment { index -= 1 }
        if index > self.nextItem, case .ended = self.items[index - 1].event { return }
        if case .ended = event { self.items.removeSubrange(index...) }
        self.items.insert(item, at: index)
    }

    /// The time of the last known event.
    var lastMoment: Duration { max(self.world.now, self.items.last?.at ?? .zero) }

    /// The time of the next event; nil for never.
    var nextMoment: Duration? {
        if self.hasEnded { return nil }
        if self.isCancelled { return self.world.now }
        return self.nextItem < self.items.count ? self.items[self.nextItem].at : self.endlessSince
    }

    func isReady(at now: Duration) -> Bool { self.nextMoment.map { $0 <= now } ?? false }

    // MARK: StreamTransport

    func next() -> TransportEvent? {
        self.loan.spoil()
        // Messages that lie there are read together, so it asks for the next one before its consumer has the last.
        if !self.isReadAhead { self.world.checker.asked(self.id, now: self.momentOfAsking) }
        guard !self.hasEnded else { return nil }
        if self.isCancelled {
            self.hasEnded = true
            return .ended(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
        }
        guard self.isReady(at: self.world.now) else { return nil }
        self.world.step()
        guard self.nextItem < self.items.count else { return self.comment() }
        let item = self.items[self.nextItem]
        self.nextItem += 1
        if self.nextItem == self.items.count {
            self.items.removeAll(keepingCapacity: true)
            self.nextItem = 0
        }
        return self.report(item)
    }

    /// From a moment on comments come without a pause: reading them is what takes time.
    func neverPauses(from moment: Duration) { self.endlessSince = moment }

    private func comment() -> TransportEvent {
        self.world.readingTakes(self.world.random.duration(upTo: .milliseconds(100)))
        return self.report(TimelineItem.Payload(kind: .body, bytes: Array(": still there\n\n".utf8)[...]))
    }

    /// The moment by which the engine had to notice events before it asks for more: it checks the clock twice a second
    /// when there is always input.
    private var momentOfAsking: Duration {
        self.endlessSince == nil ? self.world.now : self.world.now - .milliseconds(600)
    }

    private func report(_ item: TimelineItem) -> TransportEvent {
        if let hints = item.hints { self.hints = hints }
        if self.decidesDelays { self.world.checker.limits.delays.hints = self.hints }
        switch item.event {
        case .ready:
            self.world.note(.heldBecameReady)
            self.world.log("\(self.id) ready")
            return .ready
        case .pong:
            self.world.log("\(self.id) pong")
            if self.awaitsPong { self.world.note(.livenessCheckPassed) }
            self.awaitsPong = false
            return .pong
        case .opened(let head):
            self.world.log("\(self.id) opened \(head.statusCode)")
            self.statusCode = head.statusCode
            self.statistics.opened = self.world.now - self.startedAt
            self.world.checker.refused(on: self.id, statusCode: head.statusCode)
            self.noteBackgroundEnd(succeeded: head.statusCode == 101)
            if self.isWebSocket, head.statusCode == 101 {
                self.isEstablished = true
                self.world.checker.established(self.id)
            }
            return .opened(head)
        case .payload(let payload):
            return self.report(payload)
        case .ended(let end):
            self.world.log("\(self.id) ended \(end)")
            self.noteBackgroundEnd(succeeded: false)
            self.hasEnded = true
            self.isClosed = true
            self.world.checker.closed(self.id)
            return .ended(end)
        }
    }

    /// Indicates whether what it says about delays is about the request: an upgrade beside it is not.
    private var decidesDelays: Bool {
        guard self.isWebSocket, !self.hasSent else { return true }
        return self.turn == self.world.coverage.turnCount && !self.isProbe && !self.world.checker.isAnswering
    }

    /// Counts what became of an upgrade that no turn has waited for.
    private func noteBackgroundEnd(succeeded: Bool) {
        guard self.isWebSocket, !self.isEstablished, self.turn < self.world.coverage.turnCount else { return }
        if self.isProbe {
            self.world.note(succeeded ? .probeSucceeded : .probeFailed)
        } else {
            self.world.note(succeeded ? .parkedUpgradeKept : .parkedUpgradeFailed)
        }
    }

    private func report(_ payload: TimelineItem.Payload) -> TransportEvent {
        if self.statusCode == 101 || self.statusCode == 200 { self.world.record?.read(payload, on: self.id) }
        self.world.log("\(self.id) \(payload.kind) \(String(decoding: payload.bytes, as: UTF8.self).debugDescription)")
        self.statistics.receivedByteCount += payload.bytes.count
        self.statistics.lastReceived = self.world.now - self.startedAt
        self.statistics.lastHeard = self.statistics.lastReceived
        if let size = payload.size {
            self.world.checker.handed(
                on: self.id, upTo: size, isComplete: payload.isCompletion, refutation: payload.refutation,
                now: self.world.now)
        }
        return .payload(self.loan.lend(payload.bytes, as: payload.kind))
    }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        self.loan.spoil()
        self.world.checker.asked(self.id, now: self.world.now)
        return await self.world.wait(for: [self], atMost: duration)
    }

    func send(_ message: [UInt8], as kind: OutboundKind) {
        self.world.step()
        self.world.log("\(self.id) send \(String(decoding: message, as: UTF8.self))")
        guard self.isEstablished, !self.isClosed, kind == .text else { return }
        self.statistics.sentByteCount += message.count
        self.requestSent(message: message)
        self.world.answer(message, on: self)
    }

    func release() {
        self.world.step()
        self.world.log("\(self.id) release")
        guard self.request.isHeld, !self.isReleased, !self.isClosed else { return }
        self.isReleased = true
        self.world.note(.heldReleased)
        self.requestSent()
        self.world.answerReleased(self)
    }

    func ping() {
        self.world.step()
        self.world.log("\(self.id) ping")
        guard self.isEstablished, !self.isClosed else { return }
        self.world.note(.pinged)
        self.awaitsPong = true
        guard !self.peerIsDead else { return self.world.note(.pongLost) }
        self.schedule(.pong, at: self.world.now + self.world.random.duration(upTo: .milliseconds(80)))
    }

    func close() {
        let limit = self.world.settings.configuration.policy.maximumConnectionAge
        if let limit, self.world.now - self.startedAt >= limit { self.world.note(.rotated) }
        self.leave("close")
    }

    func fail(code: UInt16) { self.leave("fail with \(code)") }

    func cancel() {
        if self.request.isHeld, !self.isReleased, !self.isClosed { self.world.note(.heldDropped) }
        if self.awaitsPong { self.world.note(.livenessCheckFailed) }
        self.awaitsPong = false
        // It was refused, and the server's hint about the next delay applies when no more events follow.
        if !self.isClosed, !self.hints.isEmpty, self.decidesDelays {
            self.world.checker.limits.delays.hints = self.hints
        }
        self.leave("cancel")
        self.isCancelled = true
        self.world.scheduler.wakeAll()
    }

    private func leave(_ what: String) {
        self.world.log("\(self.id) \(what)")
        self.isClosed = true
        self.world.checker.closed(self.id)
    }

    /// A request has gone out on this connection.
    func requestSent(message: [UInt8] = [], reachesServer: Bool = true) {
        self.hasSent = true
        self.hints = []
        self.statistics.requestSent = reachesServer
        if reachesServer, !self.peerIsDead {
            self.world.record?.requested(
                on: self.id, self.request.exchange, target: self.request.endpoint.target, message: message)
        }
        self.world.checker.sent(
            on: self.id, reachesServer: reachesServer && !self.peerIsDead, isResumption: self.isResumption)
    }
}

/// Bytes lent until the next call, with 64 more behind them that must not matter.
/// - Safety: it belongs to its connection.
private final class Loan: @unchecked Sendable {
    private static let padding = 64
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var lentCount = 0

    deinit {
        self.memory.deallocate()
    }

    func lend(_ bytes: ArraySlice<UInt8>, as kind: InboundPayload.Kind) -> InboundPayload {
        let count = bytes.count + Self.padding
        if self.memory.count < count {
            self.memory.deallocate()
            self.memory = .allocate(byteCount: count * 2, alignment: 1)
        }
        self.memory.copyBytes(from: bytes)
        // A quotation mark is the worst there is behind JSON.
        for index in bytes.count..<count { self.memory[index] = UInt8(ascii: "\"") }
        self.lentCount = count
        return InboundPayload(kind: kind, bytes: UnsafeRawBufferPointer(rebasing: self.memory[..<bytes.count]))
    }

    /// Takes the bytes back: who reads them later finds nonsense.
    func spoil() {
        for index in 0..<self.lentCount { self.memory[index] = 0xFF }
        self.lentCount = 0
    }
}
