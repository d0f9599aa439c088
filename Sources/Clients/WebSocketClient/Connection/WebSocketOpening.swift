import StreamSession
import StreamTransport
import TransportSurface

/// One connection from its opening on: its start, its name, its sinks, and the errors that are made of its failures.
///
/// A value.
struct WebSocketOpening: Sendable {
    let watch: RequestWatch
    let redaction: SecretRedaction
    private let configuration: WebSocketConfiguration
    private let start = ContinuousClock.now

    init(_ configuration: WebSocketConfiguration) {
        self.configuration = configuration
        self.redaction = SecretRedaction(fields: configuration.additionalFields, proxy: configuration.proxy)
        self.watch = RequestWatch(
            requestID: configuration.nameOfConnection, log: configuration.log, metrics: configuration.metrics)
    }

    /// The time since opening began.
    var age: Duration { .now - self.start }

    /// Opens the connection, and reports it to the program's sinks.
    func open(over connect: (TransportRequest) -> any OwnedWebSocket) async throws -> WebSocketConnection {
        do {
            let connection = try await self.established(over: connect)
            let age = self.age
            self.watch.log(.info, "connection", "A WebSocket is established.") { entry in
                entry.transport = .webSocket
                entry.duration = age
            }
            self.watch.measure("connect", age, outcome: "completed")
            return connection
        } catch {
            let age = self.age
            self.watch.log(error is WebSocketError ? .error : .info, "connection", "No WebSocket was established.") {
                $0.take(error, after: age)
            }
            let known = error as? WebSocketError
            self.watch.measure("connect", age, outcome: known?.tag ?? "cancelled", category: known?.category)
            throw error
        }
    }

    private func established(
        over connect: (TransportRequest) -> any OwnedWebSocket
    ) async throws -> WebSocketConnection {
        if let fault = self.configuration.fault { throw WebSocketError.invalidArgument(fault) }
        guard let request = self.configuration.request() else {
            throw WebSocketError.invalidArgument(ChappieArgumentError("url", "cannot be used"))
        }
        let exchange = connect(request)
        do {
            return try await self.answer(on: exchange)
        } catch {
            exchange.cancel()
            throw error
        }
    }

    private func answer(on exchange: any OwnedWebSocket) async throws -> WebSocketConnection {
        while true {
            guard let event = exchange.next() else {
                if await exchange.wait(for: nil) == .cancelled { throw CancellationError() }
                continue
            }
            switch event {
            case .opened(let head) where head.statusCode == 101:
                return WebSocketConnection(exchange, head, opening: self, configuration: self.configuration)
            case .opened(let head):
                throw WebSocketError.refused(try await self.refusal(head, on: exchange))
            case .ended(.failed(let failure)) where failure.cause == .cancelled: throw CancellationError()
            case .ended(.failed(let failure)):
                throw self.error(failure, exchange.statistics, .notSent, hasMessages: false)
            case .ended(.complete), .ended(.closed), .ready, .pong, .payload:
                preconditionFailure("an exchange begins with an answer or its failure")
            }
        }
    }

    /// Reads the body of a refusal, up to its limit or its time.
    private func refusal(_ head: ResponseHead, on exchange: any OwnedWebSocket) async throws -> WebSocketRefusal {
        let limit = self.configuration.limits.bounded.refusalByteCount
        let deadline = ContinuousClock.now + self.configuration.timeouts.pongTimeout.bounded
        var body: [UInt8] = []
        reading: while body.count < limit {
            guard let event = exchange.next() else {
                switch await exchange.wait(for: deadline - .now) {
                case .ready: continue
                case .deadlinePassed: break reading
                case .cancelled: throw CancellationError()
                }
            }
            switch event {
            case .payload(let payload): unsafe body.append(contentsOf: payload.bytes.prefix(limit - body.count))
            case .ended: break reading
            case .opened, .ready, .pong: continue
            }
        }
        return WebSocketRefusal(
            statusCode: head.statusCode,
            fields: self.redaction.head(head).fields.map { .init(name: $0.name.lowercased(), value: $0.value) },
            body: self.redaction.body(String(decoding: body, as: UTF8.self)))
    }

    // MARK: Errors and reports

    /// Returns the error of a failed exchange.
    func error(
        _ failure: TransportFailure, _ statistics: TransportStatistics, _ safety: ChappieReplaySafety,
        hasMessages: Bool
    ) -> WebSocketError {
        let attempt = AttemptFailure.transport(failure)
        guard let (code, facts) = attempt.codeAndDetails else {
            preconditionFailure("a failure of the transport has a code")
        }
        var details = facts
        details.clientRequestID = self.watch.requestID
        details.receivedByteCount = statistics.receivedByteCount
        details.issuer = details.issuer.map(self.redaction.words)
        details.scheme = TransportEndpoint(url: self.configuration.url).map {
            RequestScheme($0, of: .webSocketURL)
        }
        if let last = statistics.lastReceived { details.sinceLastByte = self.age - last }
        return .transport(
            ChappieTransportFailure(
                code: code, phase: attempt.phase(hasEvents: hasMessages), transport: .webSocket,
                progress: (attempts: 1, replaySafety: safety), details: details))
    }

    /// Reports the end of an established connection to the program's sinks.
    func reportEnd(_ end: WebSocketConnection.End) {
        let age = self.age
        let (level, message): (ChappieLogEntry.Level, String) =
            switch end {
            case .closed(let close) where close.isNormal: (.info, "A WebSocket was closed.")
            case .closed: (.warning, "The server closed a WebSocket, or it was lost.")
            case .failed: (.error, "A WebSocket has failed.")
            case .cancelled: (.info, "A WebSocket was given up.")
            }
        self.watch.log(level, "connection", message) { $0.take(end.error, after: age) }
        self.watch.measure(
            "connection", age, outcome: end.outcome, category: (end.error as? WebSocketError)?.category)
    }
}

extension ChappieLogEntry {
    /// Adds an error's facts, and the duration of what it ended.
    fileprivate mutating func take(_ error: (any Error)?, after duration: Duration) {
        self.transport = .webSocket
        self.duration = duration
        guard let error = error as? WebSocketError else { return }
        self.tag = error.tag
        self.category = error.category
        self.isRetryable = error.isRetryable
        self.privateMessage = error.unsafeMessage
    }
}
