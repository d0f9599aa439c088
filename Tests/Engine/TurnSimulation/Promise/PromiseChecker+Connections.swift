// Connections, requests and delays.

extension PromiseChecker {
    /// The engine has asked for a connection.
    package mutating func opened(_ connection: Int, isWebSocket: Bool) {
        self.connections[connection] = Connection(isWebSocket: isWebSocket)
        if self.isOver { self.fail(.noRequestAfterEnd, "a connection is opened after the end") }
        if self.isCancelled { self.fail(.noRequestAfterEnd, "a connection is opened after the cancellation") }
    }

    /// A WebSocket was established.
    package mutating func established(_ connection: Int) { self.connections[connection]?.isEstablished = true }

    /// Records a request that was sent, at least in part; one for the rest of a response generates no new output.
    package mutating func sent(on connection: Int, reachesServer: Bool, isResumption: Bool = false) {
        self.requestCount += 1
        self.checkRepetition(isResumption: isResumption)
        if reachesServer {
            self.reachedServer = true
            self.serverHasRequest = true
        }
        // What a failure before this request has said is no matter any more.
        self.limits.delays.hints = []
        if self.isOver || self.isCancelled { self.fail(.noRequestAfterEnd, "a request is sent on \(connection)") }
        if self.isRefuted { self.fail(.noRequestAfterEnd, "a request, and the response has contradicted itself") }
        if self.requestCount > self.limits.requestCount {
            self.fail(.requestBudget, "\(self.requestCount) requests, where \(self.limits.requestCount) are allowed")
        }
        if let other = self.connections.first(where: { $0.key != connection && $0.value.isOpen && $0.value.hasSent }) {
            self.fail(.oneRequest, "a request on \(connection), while that on \(other.key) is under way")
        }
        // A connection that has lost a race was opened before the one that carries the request.
        if let other = self.connections.first(where: { $0.key > connection && $0.value.hasSent }) {
            self.fail(.oneRequest, "a request on \(connection), after that on \(other.key)")
        }
        if self.connections[connection]?.hasSent ?? false {
            self.fail(.oneRequest, "a second request on \(connection)")
        }
        self.connections[connection]?.hasSent = true
    }

    /// Records that the server has refused the request of a connection, and has not processed it.
    package mutating func refused(on connection: Int, statusCode: Int) {
        guard self.connections[connection]?.hasSent ?? false, statusCode < 500 || statusCode == 503 else { return }
        self.serverHasRequest = false
    }

    private mutating func checkRepetition(isResumption: Bool) {
        switch self.limits.repetition {
        case .always: break
        case .beforeOutput:
            guard !isResumption, self.size != ContentSize() else { return }
            self.fail(.repetition, "the request is sent again after output")
        case .never:
            guard self.serverHasRequest else { return }
            self.fail(.repetition, "the request is sent again, and the server may have it")
        }
    }

    /// The connection is gone for the engine: it was closed, cancelled, or its end was read.
    package mutating func closed(_ connection: Int) { self.connections[connection]?.isOpen = false }

    /// The engine waits before another attempt.
    package mutating func slept(_ delay: Duration, now: Duration) {
        guard !self.isOver, !self.isCancelled else { return }
        if let end = self.limits.end, delay == max(.zero, end - now) { return }
        if let fault = self.limits.delays.fault(of: delay) { self.fail(.delays, fault) }
    }

    /// The turn is over, the stream and its handle are gone.
    package mutating func left() {
        let open = self.connections.filter { $0.value.isOpen }
        for (id, connection) in open {
            guard connection.isWebSocket, connection.isEstablished || !connection.hasSent else {
                return self.fail(.connections, "connection \(id) is open after the end, and cannot be kept")
            }
            if connection.hasSent, !self.hasCompleted {
                self.fail(.connections, "connection \(id) is kept after a response that was not whole")
            }
        }
        for group in [open.filter(\.value.isEstablished), open.filter { !$0.value.isEstablished }]
        where group.count > 1 {
            self.fail(.connections, "connections \(group.keys.sorted()) are open after the end")
        }
    }

    /// The instance is gone.
    package mutating func released() {
        let open = self.connections.filter { $0.value.isOpen }.keys.sorted()
        if !open.isEmpty { self.fail(.connections, "connections \(open) are open after the instance") }
    }
}

/// The delays that the policies allow between attempts.
package struct DelayRules: Sendable {
    /// The server's hint about delays with the newest failure.
    package struct Hint: Sendable {
        /// The delay that it asks for.
        package var wish: Duration?
        /// The time until its limit ends.
        package var resetsAfter: Duration?
        /// Indicates whether it asks for fewer requests.
        package var isThrottle = false
        /// Indicates whether it has answered a POST with a status code: then a delay may be any value below its bound.
        package var hasFullJitter = false

        /// Creates an empty hint.
        package init() {}
    }

    /// The first delay of a reconnection.
    package var reconnectDelay: Duration = .zero
    /// The largest number of retries on a transport.
    package var maximumRetries = 0
    /// The first delay after a throttle.
    package var throttleDelay: Duration = .zero
    /// The longest delay after a throttle, and the longest that a server can ask for.
    package var maximumDelay: Duration = .zero
    /// Indicates whether the server's wish counts.
    package var respectsWish = true
    /// The possible hints of the newest failure: a truncated body contains less than a whole one.
    package var hints: [Hint] = []
    /// The range of the number of delays after a throttle: the cause of a delay is not always certain.
    private var throttleCounts = 0...0

    /// No delay at all.
    package init() {}

    /// Returns the fault of a delay; nil for none.
    package mutating func fault(of delay: Duration) -> String? {
        let hints = self.hints.isEmpty ? [Hint()] : self.hints
        let causes = hints.filter { self.allows(delay, after: $0) }
        let (low, high) = (self.throttleCounts.lowerBound, self.throttleCounts.upperBound)
        let isCertain = causes.allSatisfy(\.isThrottle)
        if causes.contains(where: \.isThrottle) { self.throttleCounts = (isCertain ? low + 1 : low)...(high + 1) }
        return !causes.isEmpty ? nil : "a delay of \(delay), which no policy gives after \(hints)"
    }

    private func allows(_ delay: Duration, after hint: Hint) -> Bool {
        let wish = self.respectsWish ? hint.wish.map { min($0, self.maximumDelay) } : nil
        if hint.isThrottle {
            return self.throttleCounts.contains { count in
                let computed = self.doubled(self.throttleDelay, count, limit: self.maximumDelay)
                return delay == min(self.maximumDelay, max(wish ?? computed, hint.resetsAfter ?? .zero))
            }
        }
        if let wish { return delay == wish }
        return (0..<max(1, self.maximumRetries)).contains { retry in
            let base = self.doubled(self.reconnectDelay, retry, limit: .seconds(86_400))
            if hint.hasFullJitter { return delay >= .zero && delay <= base }
            return delay >= base * 9 / 10 && delay <= base * 11 / 10
        }
    }

    private func doubled(_ duration: Duration, _ count: Int, limit: Duration) -> Duration {
        (0..<count).reduce(min(duration, limit)) { delay, _ in min(limit, delay * 2) }
    }
}
