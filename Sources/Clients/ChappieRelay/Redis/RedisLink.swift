import StreamSession

/// Decides what one connection to a server does next: when it is made, what is sent, which answer is whose, and what
/// becomes of requests when it breaks.
///
/// Every request may be sent again, so those that were not answered when a connection breaks go over the next one until
/// their time is over. A request waits for one attempt to connect at most: where that fails, all that wait fail with
/// it. It performs no I/O and reads no clock. Its owner is the journal's thread.
package struct RedisLink: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The purpose of a connection.
    package enum Purpose: Sendable, Equatable {
        /// Requests, each of which has one answer, in order.
        case requests
        /// Messages that the server sends of its own accord (`SUBSCRIBE`).
        case messages
    }

    /// The settings of a connection.
    package struct Settings: Sendable {
        /// The purpose of the connection.
        package var purpose = Purpose.requests
        /// The commands that begin a connection, such as `AUTH`.
        package var greeting: [RESPCommand] = []
        /// The time for name resolution, TCP, TLS and the greeting.
        package var connectTimeout = Duration.seconds(5)
        /// The time for a request, the connection included.
        package var requestTimeout = Duration.seconds(5)
        /// The quiet time after which a connection for messages is pinged.
        package var pingInterval = Duration.seconds(10)
        /// The bytes of requests that wait; a request beyond them fails.
        package var waitingByteCount = 256 << 20

        /// Creates the default settings.
        package init() {}
    }

    /// The actions that the driver must perform.
    package enum Action: Sendable, Equatable {
        /// Make a connection, and tell `connected` or `connectionEnded`.
        case connect
        /// Close the connection, or give up its making.
        case disconnect
        /// Write bytes.
        case write([UInt8])
        /// Hand an answer over.
        case answer(request: UInt64, RESPValue)
        /// Hand a failure over.
        case fail(request: UInt64, reason: String)
        /// A connection for messages is up.
        case opened
        /// A message has come.
        case message(RESPValue)
        /// A connection for messages has ended.
        case closed
        /// An attempt at a connection for messages has failed.
        case openingFailed(reason: String)
    }

    private enum State: Equatable {
        case idle
        case connecting(until: Instant)
        case greeting(missing: Int, until: Instant)
        case ready
        case shutDown
    }

    private struct Request {
        let id: UInt64
        let bytes: [UInt8]
        let deadline: Instant
        var sent: Instant
    }

    private static let schedule = BackoffSchedule(initialDelay: .milliseconds(50), maximumDelay: .seconds(2))

    private let settings: Settings
    private var state = State.idle
    private var actions: [Action] = []
    private var outgoing: [UInt8] = []
    /// Requests that were not sent over the present connection.
    private var waiting = RequestQueue<Request>()
    /// Requests whose answers are missing; the first `expiredCount` of them have failed already.
    private var inFlight = RequestQueue<Request>()
    private var expiredCount = 0
    private var byteCount = 0
    private var isWanted = false
    /// The connections that failed or broke since the last answer.
    private var failureCount = 0
    private var earliestAttempt: Instant?
    private var lastArrival: Instant?
    private var pinged: Instant?

    /// Creates a link without a connection.
    package init(settings: Settings = Settings()) { self.settings = settings }

    /// Returns the actions of the inputs so far.
    package mutating func takeActions() -> [Action] {
        defer {
            self.actions = []
            self.outgoing = []
        }
        return self.outgoing.isEmpty ? self.actions : self.actions + [.write(self.outgoing)]
    }

    /// The time at which `timePassed` has something to do.
    package var deadline: Instant? {
        var deadlines: [Instant] = []
        if let request = self.waiting.first { deadlines.append(request.deadline) }
        switch self.state {
        case .idle: if self.hasDemand, let earliest = self.earliestAttempt { deadlines.append(earliest) }
        case .connecting(let until), .greeting(_, let until): deadlines.append(until)
        case .ready:
            if self.expiredCount < self.inFlight.count { deadlines.append(self.inFlight[self.expiredCount].deadline) }
            if let silence = self.silenceEnd { deadlines.append(silence) }
        case .shutDown: break
        }
        return deadlines.min()
    }

    /// The time at which the server's silence has a meaning.
    private var silenceEnd: Instant? {
        switch self.settings.purpose {
        case .requests:
            guard let sent = self.inFlight.first?.sent else { return nil }
            return max(sent, self.lastArrival ?? sent) + self.settings.requestTimeout
        case .messages:
            if let pinged = self.pinged { return pinged + self.settings.requestTimeout }
            return self.lastArrival.map { $0 + self.settings.pingInterval }
        }
    }

    private var hasDemand: Bool { self.isWanted || !self.waiting.isEmpty }

    // MARK: Requests

    /// Sends a request, as soon as there is a connection.
    package mutating func submit(_ bytes: [UInt8], id: UInt64, at now: Instant) {
        guard self.state != .shutDown else {
            return self.actions.append(.fail(request: id, reason: "it was shut down"))
        }
        guard self.byteCount + bytes.count <= self.settings.waitingByteCount else {
            return self.actions.append(.fail(request: id, reason: "too many requests wait for an answer"))
        }
        self.byteCount += bytes.count
        self.waiting.append(
            Request(id: id, bytes: bytes, deadline: now + self.settings.requestTimeout, sent: now))
        if self.state == .ready { self.send(at: now) } else { self.connectIfNeeded(at: now) }
    }

    /// Has a connection for messages, from now on or no longer.
    package mutating func want(_ isWanted: Bool, at now: Instant) {
        self.isWanted = isWanted
        self.connectIfNeeded(at: now)
    }

    /// Writes bytes that are no request, on a connection for messages; of no effect without one.
    package mutating func write(_ bytes: [UInt8]) {
        if self.state == .ready { self.outgoing += bytes }
    }

    private mutating func send(at now: Instant) {
        while var request = self.waiting.popFirst() {
            request.sent = now
            self.outgoing += request.bytes
            self.inFlight.append(request)
        }
    }

    private mutating func connectIfNeeded(at now: Instant) {
        guard self.state == .idle, self.hasDemand else { return }
        if let earliest = self.earliestAttempt, now < earliest { return }
        self.state = .connecting(until: now + self.settings.connectTimeout)
        self.actions.append(.connect)
    }

    // MARK: The connection

    /// The connection is up: TCP, and TLS if there is any.
    package mutating func connected(at now: Instant) {
        guard case .connecting(let until) = self.state else { return }
        self.lastArrival = now
        self.pinged = nil
        guard !self.settings.greeting.isEmpty else { return self.becomeReady(at: now) }
        for command in self.settings.greeting { self.outgoing += command.bytes }
        self.state = .greeting(missing: self.settings.greeting.count, until: until)
    }

    private mutating func becomeReady(at now: Instant) {
        self.state = .ready
        if self.settings.purpose == .messages { self.actions.append(.opened) }
        self.send(at: now)
    }

    /// A value has arrived; `fraction` is from 0 to 1, for the delay of another connection.
    package mutating func received(_ value: RESPValue, at now: Instant, fraction: Double) {
        self.lastArrival = now
        self.pinged = nil
        switch self.state {
        case .greeting(let missing, let until):
            if case .error(let error) = value {
                return self.connectionEnded(RedisRefusal.reason(ofGreeting: error), at: now, fraction: fraction)
            }
            self.state = .greeting(missing: missing - 1, until: until)
            if missing == 1 { self.becomeReady(at: now) }
        case .ready:
            if self.settings.purpose == .messages {
                self.failureCount = 0
                return self.actions.append(.message(value))
            }
            self.answered(value, at: now, fraction: fraction)
        case .idle, .connecting, .shutDown:
            // The bytes that were read together with the end of the connection.
            break
        }
    }

    private mutating func answered(_ value: RESPValue, at now: Instant, fraction: Double) {
        guard let request = self.inFlight.popFirst() else {
            return self.connectionEnded("the server sent an answer to nothing", at: now, fraction: fraction)
        }
        self.byteCount -= request.bytes.count
        if self.expiredCount > 0 {
            self.expiredCount -= 1
        } else {
            self.actions.append(.answer(request: request.id, value))
        }
        if case .error(let error) = value, RedisRefusal.code(of: error) == "READONLY" {
            // The address may lead to the new master by now.
            return self.connectionEnded("the server is a replica", at: now, fraction: fraction)
        }
        self.failureCount = 0
    }

    /// The connection, or the attempt at one, has ended.
    package mutating func connectionEnded(_ reason: String, at now: Instant, fraction: Double) {
        let wasReady = self.state == .ready
        guard self.state != .idle, self.state != .shutDown else { return }
        self.state = .idle
        self.outgoing = []
        self.actions.append(.disconnect)
        self.failureCount += 1
        // A first connection that breaks, as after a quiet time, is made anew at once.
        let isFirst = wasReady && self.failureCount == 1
        self.earliestAttempt =
            isFirst ? nil : now + Self.schedule.delay(beforeRetry: self.failureCount, fraction: fraction)
        self.sendAgainLater()
        if wasReady, self.settings.purpose == .messages { self.actions.append(.closed) }
        if !wasReady {
            for request in self.waiting.takeAll() { self.fail(request, reason) }
            if self.settings.purpose == .messages { self.actions.append(.openingFailed(reason: reason)) }
        }
        self.connectIfNeeded(at: now)
    }

    /// The peer does not speak RESP: no request gets an answer, on this connection or the next.
    package mutating func receivedGarbage(_ reason: String, at now: Instant, fraction: Double) {
        self.sendAgainLater()
        for request in self.waiting.takeAll() { self.fail(request, reason) }
        self.connectionEnded(reason, at: now, fraction: fraction)
    }

    private mutating func sendAgainLater() {
        let unanswered = self.inFlight.takeAll()
        for request in unanswered.prefix(self.expiredCount) { self.byteCount -= request.bytes.count }
        self.waiting.prepend(Array(unanswered.dropFirst(self.expiredCount)))
        self.expiredCount = 0
    }

    private mutating func fail(_ request: Request, _ reason: String) {
        self.byteCount -= request.bytes.count
        self.actions.append(.fail(request: request.id, reason: reason))
    }

    // MARK: Time

    /// Does what is due.
    package mutating func timePassed(at now: Instant, fraction: Double) {
        let reason = "no answer within \(self.settings.requestTimeout)"
        while let request = self.waiting.first, request.deadline <= now {
            _ = self.waiting.popFirst()
            self.fail(request, reason)
        }
        while self.expiredCount < self.inFlight.count, self.inFlight[self.expiredCount].deadline <= now {
            // Its answer may still come, and counts its bytes off then.
            self.actions.append(.fail(request: self.inFlight[self.expiredCount].id, reason: reason))
            self.expiredCount += 1
        }
        switch self.state {
        case .connecting(let until) where until <= now, .greeting(_, let until) where until <= now:
            let reason = "no connection within \(self.settings.connectTimeout)"
            self.connectionEnded(reason, at: now, fraction: fraction)
        case .ready where self.silenceEnd.map { $0 <= now } ?? false: self.silenceEnded(reason, at: now, fraction)
        case .idle: self.connectIfNeeded(at: now)
        case .connecting, .greeting, .ready, .shutDown: break
        }
    }

    private mutating func silenceEnded(_ reason: String, at now: Instant, _ fraction: Double) {
        if self.settings.purpose == .messages, self.pinged == nil {
            self.pinged = now
            self.outgoing += RESPCommand("PING").bytes
        } else {
            self.connectionEnded(reason, at: now, fraction: fraction)
        }
    }

    /// Ends the link: all that wait fail, and everything later.
    package mutating func shutDown() {
        guard self.state != .shutDown else { return }
        self.state = .shutDown
        self.outgoing = []
        self.sendAgainLater()
        for request in self.waiting.takeAll() { self.fail(request, "it was shut down") }
        self.actions.append(.disconnect)
    }
}
