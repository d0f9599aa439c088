// One connection of `WebSocketClient`, its consumer and its senders.
import WebSocketClient

/// Sends and receives at once as its plan says, and checks every message and the end.
struct WebSocketSoak: Sendable {
    /// More than the connections that a proxy breaks.
    private static let attemptLimit = 5

    let plan: ClientPlan
    let configuration: WebSocketConfiguration
    let record: SoakRecord
    let number: Int

    /// Runs the plan; behind a proxy again and again, for a WebSocket does not reconnect.
    func run() async throws {
        for attempt in 1... {
            do {
                return try await self.converse(on: try await WebSocketConnection.open(self.configuration))
            } catch let error as WebSocketError where self.isOfProxy(error) && attempt < Self.attemptLimit {
                self.record.count { $0.failedAttempts += 1 }
                self.record.progress(self.number, waits: true)
            }
        }
    }

    private func isOfProxy(_ error: WebSocketError) -> Bool {
        guard self.plan.kind == .faulty else { return false }
        switch error {
        case .closed(let close): return !close.isClean
        case .transport, .notOpen: return true
        case .invalidArgument, .refused, .alreadyReceiving: return false
        }
    }

    // MARK: The conversation

    private func converse(on connection: WebSocketConnection) async throws {
        // The record must not keep a connection open that was dropped.
        self.record.opened(self.number) { [weak connection] in "\(connection.map { "\($0.report)" } ?? "dropped")" }
        guard connection.isCompressed == self.plan.isCompressed else { throw WrongContent("another compression") }
        let isRead = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.send(on: connection) }
            group.addTask { try await self.ping(on: connection) }
            if try await self.receive(on: connection) {
                try await group.waitForAll()
                return true
            }
            group.cancelAll()
            // They end with the connection, or are cancelled.
            while await group.nextResult() != nil {}
            return false
        }
        guard isRead else { return self.record.count { $0.cancelled += 1 } }
        if self.plan.kind != .interrupted { try await self.close(connection) }
        self.record.count { $0.completed += 1 }
    }

    private func send(on connection: WebSocketConnection) async throws {
        for index in 0..<self.plan.sentCount {
            try await connection.send(self.plan.message(index, toServer: true))
        }
    }

    private func ping(on connection: WebSocketConnection) async throws {
        do {
            for index in 0..<self.plan.pingCount {
                try await Task.sleep(for: .milliseconds(index * 20))
                guard try await connection.ping() > .zero else { throw WrongContent("a pong before its ping") }
                self.record.count("pings of clients")
            }
        } catch WebSocketError.notOpen where self.plan.kind == .interrupted {
            // The server has closed before.
        }
    }

    // MARK: Receiving

    /// Receives every message; false when the consumer has given up.
    private func receive(on connection: WebSocketConnection) async throws -> Bool {
        var random = SoakRandom(seed: self.plan.seed &+ 5)
        var messages = connection.messages.makeAsyncIterator()
        for index in 0..<self.plan.receivedCount {
            self.record.progress(self.number, waits: true)
            let expected = self.plan.message(index, toServer: false)
            let isRight =
                if self.plan.isLent {
                    try await connection.withNextMessage { kind, bytes in
                        kind == expected.kind && bytes.withUnsafeBytes { $0.elementsEqual(expected.payload) }
                    } ?? false
                } else {
                    try await messages.next() == expected
                }
            guard isRight else { throw WrongContent("message \(index) is another one, or missing") }
            self.record.count { $0.byteCount += expected.payload.count }
            guard self.plan.stops.contains(index) else { continue }
            switch self.plan.kind {
            case .cancelled:
                try await self.giveUp(connection)
                return false
            case .pausing: try await self.record.pause(self.number, &random)
            case .steady, .interrupted, .faulty: break
            }
        }
        if self.plan.kind == .interrupted { try await self.receiveEnd(of: connection) }
        return true
    }

    private func giveUp(_ connection: WebSocketConnection) async throws {
        switch self.plan.surrender {
        case .drop: return
        case .call: connection.cancel()
        case .task: withUnsafeCurrentTask { $0?.cancel() }
        }
        do {
            while try await connection.receive() != nil {}
            throw WrongContent("received to an end after it was cancelled")
        } catch is CancellationError {
            // As it was asked to.
        }
    }

    // MARK: Closing

    /// The server closes behind its last message, when it has received all.
    private func receiveEnd(of connection: WebSocketConnection) async throws {
        self.record.progress(self.number, waits: true)
        let (code, reason) = self.plan.close
        let expected = WebSocketClose(code: code ?? 1005, reason: reason, initiator: .server)
        do {
            guard try await connection.receive() == nil, expected.isNormal else {
                throw WrongContent("no end with \(expected)")
            }
        } catch WebSocketError.closed(let close) where close == expected && !expected.isNormal {
            // The code is an error's.
        }
        guard connection.closed == expected else {
            throw WrongContent("closed with \(String(describing: connection.closed)), not \(expected)")
        }
        self.record.count("closes of servers")
    }

    private func close(_ connection: WebSocketConnection) async throws {
        let (code, reason) = self.plan.close
        let close = try await connection.close(code: code, reason: reason)
        if !close.isClean { throw WebSocketError.closed(close) }
        let end = try await connection.receive()
        guard close == WebSocketClose(code: code ?? 1005, initiator: .client), end == nil, connection.closed == close
        else { throw WrongContent("closed with \(close)") }
        do {
            try await connection.send("late")
            throw WrongContent("sent after the end")
        } catch WebSocketError.notOpen {
            // As it should be.
        }
    }
}
