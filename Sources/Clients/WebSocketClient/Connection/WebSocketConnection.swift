import LibwebsocketsTransport
import StreamTransport
import Synchronization
import TransportSurface

/// An established WebSocket connection (RFC 6455), which any number of tasks may use.
///
/// One task at a time receives, by `messages`, `receive()` or `withNextMessage(_:)`; any task sends, pings and closes.
/// Pings of the server and its close frame are answered while nothing is received. What is not received stays in the
/// socket above the high watermark (``WebSocketLimits``), and `send` suspends while the server does not read.
///
/// Dropping the last reference closes the connection with 1001, as `cancel()` does.
///
/// ```swift
/// let connection = try await WebSocketConnection.open(WebSocketConfiguration(url: url))
/// try await connection.send("hello")
/// for try await message in connection.messages { print(message) }
/// ```
public final class WebSocketConnection: Sendable {
    /// The state that tasks share, behind a lock held for a few lines.
    struct State {
        /// Indicates whether this side has asked for the closing handshake.
        var hasClosed = false
        var end: End?
        /// Indicates whether every message before the end was received.
        var isDrained = false
        var firstMessage: Duration?

        /// The end, once there is nothing left to receive before it.
        var endOfMessages: End? {
            if case .cancelled = self.end { return self.end }
            return self.isDrained ? self.end : nil
        }
    }

    /// The end of the connection, once it is known.
    enum End {
        case closed(WebSocketClose)
        case failed(WebSocketError)
        /// By the program, or because the receiving task was cancelled.
        case cancelled
    }

    let exchange: any OwnedWebSocket
    let state = LockedValue(State())
    // Outside the lock, because every message uses them.
    /// Indicates whether a task receives; set with acquire and cleared with release, so that successive receivers see
    /// each other's reads of the exchange.
    let isReceiving = Atomic(false)
    /// A hint that the state has an `endOfMessages`, written under the state's lock; the lock decides.
    let hasEndOfMessages = Atomic(false)
    /// The number of received messages, which the task that receives changes.
    let receivedMessageCount = Atomic(0)
    /// Indicates whether messages may be sent: the end is not known and this side has not begun to close.
    ///
    /// It is written under the state's lock.
    let allowsSending = Atomic(true)
    let sentMessageCount = Atomic(0)
    let opening: WebSocketOpening
    let watch: RequestWatch
    let redaction: SecretRedaction
    let sendWatermark: Int
    let pongTimeout: Duration

    /// The subprotocol that the server chose, one of those offered; nil when it chose none.
    public let subprotocol: String?
    /// Indicates whether permessage-deflate (RFC 7692) was agreed.
    public let isCompressed: Bool
    /// The fields of the server's answer that ``WebSocketConfiguration/capturedFieldNames`` names, as far as it has
    /// them, with names in lower case.
    public let fields: [(name: String, value: String)]

    init(
        _ exchange: any OwnedWebSocket, _ head: ResponseHead, opening: WebSocketOpening,
        configuration: WebSocketConfiguration
    ) {
        self.exchange = exchange
        self.opening = opening
        self.watch = opening.watch
        self.redaction = opening.redaction
        self.sendWatermark = configuration.limits.bounded.sendWatermark
        self.pongTimeout = configuration.timeouts.pongTimeout.bounded
        self.subprotocol = head.value(of: WebSocketConfiguration.subprotocolFieldName)
        self.isCompressed = head.isCompressed
        let names = Set(configuration.capturedFieldNames.map { $0.lowercased() })
        self.fields = head.fields.map { ($0.name.lowercased(), $0.value) }.filter { names.contains($0.0) }
    }

    deinit {
        // A closing handshake that has begun ends by itself.
        if self.state.withLock({ $0.end == nil }) { self.exchange.cancel() }
    }

    // MARK: Opening

    /// Opens a connection: looks up the server, connects, and performs the opening handshake.
    ///
    /// Cancelling the task closes the socket.
    ///
    /// - Throws: ``WebSocketError`` when the configuration cannot be used, the server refuses, or no connection can be
    ///   established; `CancellationError` when the task is cancelled.
    public static func open(_ configuration: WebSocketConfiguration) async throws -> WebSocketConnection {
        let transport = LibwebsocketsTransport(
            tls: configuration.tls, proxies: .policy(configuration.proxy),
            serviceThreadCount: min(max(1, configuration.serviceThreadCount), 64))
        return try await Self.open(configuration) { transport.openWebSocket($0) }
    }

    /// Opens a connection over another transport.
    static func open(
        _ configuration: WebSocketConfiguration, over connect: (TransportRequest) -> any OwnedWebSocket
    ) async throws -> WebSocketConnection {
        let opening = WebSocketOpening(configuration)
        return try await opening.open(over: connect)
    }

    // MARK: The end

    /// Ends the connection at once: with close code 1001, and without waiting for the server.
    ///
    /// Messages that wait to be sent are dropped, and a task that receives ends with `CancellationError`.
    public func cancel() {
        self.note(.cancelled)
        self.exchange.cancel()
    }

    /// The end of the connection; nil until a task has received it, or `close(code:reason:)` has returned it, and for a
    /// failure.
    public var closed: WebSocketClose? {
        guard case .closed(let close) = self.state.withLock({ $0.end }) else { return nil }
        return close
    }

    /// The timings and counts so far.
    public var report: WebSocketReport {
        var report = WebSocketReport(connectionID: self.watch.requestID)
        report.take(self.exchange.statistics)
        report.isCompressed = self.isCompressed
        let state = self.state.withLock { $0 }
        report.firstMessage = state.firstMessage?.seconds
        report.receivedMessageCount = self.receivedMessageCount.load(ordering: .relaxed)
        report.sentMessageCount = self.sentMessageCount.load(ordering: .relaxed)
        report.outcome = state.end?.outcome
        return report
    }

    /// Waits until the closing handshakes of the process's connections are over, for a program that ends.
    ///
    /// Their sockets are closed after `duration`. A process that ends earlier resets the sockets that have unread
    /// bytes.
    public static func finishClosing(within duration: Duration) async {
        await LibwebsocketsTransport.finishClosing(within: duration.bounded)
    }

    /// Takes the end that the transport has reported; returns the first that was noted.
    func end(_ end: TransportEnd) -> End {
        switch end {
        case .closed(let code, let reason):
            return self.note(
                .closed(
                    WebSocketClose(
                        code: Int(code), reason: self.redaction.words(reason), initiator: self.initiator)))
        case .failed(let failure) where failure.cause == .cancelled: return self.note(.cancelled)
        case .failed(let failure): return self.note(.failed(self.error(failure)))
        // Only a body ends so.
        case .complete: return self.note(.cancelled)
        }
    }

    /// Takes the end that stands behind the last message.
    func endMessages(_ end: TransportEnd) {
        if case .failed(let failure) = end, failure.cause != .cancelled { return self.failMessages(failure) }
        _ = self.end(end)
        self.changeEnd { $0.isDrained = true }
    }

    /// Fails the connection with 1007 because a message is text that is not UTF-8 (RFC 6455 section 8.1).
    @inline(never)
    func failForUnreadableMessage() {
        self.exchange.fail(code: 1007)
        self.failMessages(TransportFailure(phase: .stream, cause: .protocolViolation(closeCode: 1007)))
    }

    /// Notes that a message cannot be received.
    ///
    /// No message behind it is received, and no close frame: the message would be missing silently.
    private func failMessages(_ failure: TransportFailure) {
        let error = self.error(failure)
        self.note(.failed(error))
        self.changeEnd { state in
            state.isDrained = true
            // `close(code:reason:)` may have noted a close frame that has arrived behind the message.
            if case .closed = state.end { state.end = .failed(error) }
        }
    }

    func error(_ failure: TransportFailure) -> WebSocketError {
        let hasMessages = self.receivedMessageCount.load(ordering: .relaxed) > 0
        let hasSent = self.sentMessageCount.load(ordering: .relaxed) > 0
        let safety: ChappieReplaySafety = hasMessages ? .outputDelivered : hasSent ? .sentNoOutput : .notSent
        return self.opening.error(failure, self.exchange.statistics, safety, hasMessages: hasMessages)
    }

    private var initiator: WebSocketClose.Initiator {
        switch self.exchange.statistics.peerBeganClosing {
        case true?: .server
        case false?: .client
        case nil: self.state.withLock { $0.hasClosed } ? .client : .network
        }
    }

    /// Notes the end and reports it to the program's sinks, unless one was noted before; returns the first.
    @discardableResult
    private func note(_ end: End) -> End {
        let (first, isNew) = self.changeEnd { state in
            if let first = state.end { return (first, false) }
            state.end = end
            return (end, true)
        }
        if isNew { self.opening.reportEnd(first) }
        return first
    }

    /// Changes the end in the state, or the knowledge of what is left before it.
    private func changeEnd<Result>(_ change: (inout State) -> Result) -> Result {
        self.state.withLock { state in
            defer {
                if state.end != nil { self.allowsSending.store(false, ordering: .relaxed) }
                if state.endOfMessages != nil { self.hasEndOfMessages.store(true, ordering: .relaxed) }
            }
            return change(&state)
        }
    }
}

extension WebSocketConnection.End {
    /// The stable tag, or a fixed word.
    var outcome: String {
        switch self {
        case .closed(let close): close.isNormal ? "completed" : WebSocketError.closed(close).tag
        case .failed(let error): error.tag
        case .cancelled: "cancelled"
        }
    }

    /// The error that receiving ends with; nil for a normal end.
    var error: (any Error)? {
        switch self {
        case .closed(let close): close.isNormal ? nil : WebSocketError.closed(close)
        case .failed(let error): error
        case .cancelled: CancellationError()
        }
    }
}

extension WebSocketReport {
    /// Takes the times and counts of the transport.
    mutating func take(_ statistics: TransportStatistics) {
        self.resolved = statistics.resolved?.seconds
        self.tcpConnected = statistics.tcpConnected?.seconds
        self.connected = statistics.connected?.seconds
        self.opened = statistics.opened?.seconds
        self.lastReceived = statistics.lastReceived?.seconds
        self.isTLSResumed = statistics.isTLSResumed
        self.receivedByteCount = statistics.receivedByteCount
        self.inflatedByteCount = statistics.inflatedByteCount
        self.sentByteCount = statistics.sentByteCount
    }
}
