import LibwebsocketsTransport
public import PlatformFoundation
public import ServerSentEvents
import StreamSession
package import StreamTransport
import Synchronization
import TransportSurface

/// A connection to a server that sends events, which reconnects by itself: WHATWG HTML section 9.2.
///
/// It is a sequence of events for one consumer, and it is pulled: nothing is connected before the first event is asked
/// for, and while no event is asked for, at most ``EventSourceLimits/highWatermark`` bytes are received. It ends
/// without an error when the server answers 204, when ``close()`` is called, and when a request that must not be
/// repeated is answered; with ``EventSourceError`` when another attempt would be futile; and with `CancellationError`
/// when the task that reads is cancelled.
///
/// ```swift
/// for try await event in EventSource(url: url) {
///     print(event.type, event.data)
/// }
/// ```
///
/// When it is dropped with its iterator, its connection is closed.
public final class EventSource: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent
    /// The errors are `EventSourceError` and `CancellationError`.
    public typealias Failure = any Error

    /// The state of the connection (`EventSource.readyState`).
    public enum ReadyState: String, Sendable, Hashable, CaseIterable {
        /// No stream is open: it is being opened, or a delay is waited for, or nothing was asked for yet.
        case connecting
        /// A stream is open.
        case open
        /// The event source has ended.
        case closed
    }

    private let shared: LockedValue<EventSourceSharedState>
    /// Indicates whether `close()` was called; beside the shared state, because it is read for each event.
    private let closing = Atomic(false)
    private let driver: EventSourceDriver?
    /// The error of a request that cannot be sent.
    private let fault: EventSourceError?

    /// Creates an event source for a GET with the default configuration, or another one.
    public convenience init(url: URL, configuration: EventSourceConfiguration = EventSourceConfiguration()) {
        self.init(EventSourceRequest(url: url), configuration: configuration)
    }

    /// Creates an event source for any request.
    ///
    /// A request or a configuration that cannot be used is reported by the first `next()`, with the tag
    /// `request.invalid`.
    public convenience init(
        _ request: EventSourceRequest, configuration: EventSourceConfiguration = EventSourceConfiguration()
    ) {
        let configuration = configuration.bounded
        self.init(
            request, configuration: configuration,
            transport: LibwebsocketsTransport(
                tls: configuration.tls, proxies: .policy(configuration.proxy),
                serviceThreadCount: configuration.serviceThreadCount),
            clock: .system)
    }

    /// Creates an event source over any transport.
    package init(
        _ request: EventSourceRequest, configuration: EventSourceConfiguration, transport: any StreamTransport,
        clock: ClientClock
    ) {
        let configuration = configuration.bounded
        let shared = LockedValue(
            EventSourceSharedState(
                lastEventID: request.lastEventID, reconnectionTime: configuration.reconnection.reconnectionTime.bounded)
        )
        self.shared = shared
        let exchange = request.exchange(offersCompression: configuration.offersCompression)
        let unusable = exchange == nil ? ChappieArgumentError("url", "cannot be used") : nil
        self.fault = (request.fault ?? configuration.fault ?? unusable).map { .invalidArgument($0) }
        guard self.fault == nil, let exchange else {
            self.driver = nil
            return
        }
        var settings = EventSourceSession.Settings()
        settings.reconnection = configuration.reconnection
        settings.maximumRedirects = configuration.maximumRedirects
        settings.credentialFieldNames = Set(configuration.credentialFieldNames.map { $0.lowercased() })
        settings.eventByteCount = configuration.limits.eventByteCount
        self.driver = EventSourceDriver(
            EventSourceSession(exchange, lastEventID: request.lastEventID, settings: settings), configuration,
            redaction: SecretRedaction(fields: request.fields, proxy: configuration.proxy), transport: transport,
            clock: clock, shared: shared,
            recorder: EventSourceRecorder(
                shared, configuration, requestID: request.requestID ?? UUID().uuidString.lowercased()))
    }

    deinit {
        self.close()
    }

    // MARK: State

    /// The state of the connection.
    public var readyState: ReadyState { self.shared.withLock { $0.readyState } }

    /// The last event ID string (WHATWG HTML section 9.2.6), which a reconnection sends, and a later run of the program
    /// may begin with; empty for none.
    public var lastEventID: String { self.shared.withLock { $0.lastEventID } }

    /// The reconnection time: that of the policy, or the one that a stream has set before its connection ended.
    public var reconnectionTime: Duration { self.shared.withLock { $0.reconnectionTime } }

    /// The status code and the fields of the newest answer; nil before the first.
    public var response: EventSourceResponse? { self.shared.withLock { $0.response } }

    /// The attempts so far.
    public var report: EventSourceReport { self.shared.withLock { $0.report } }

    /// Ends the event source: events that were not taken are dropped, and the sequence ends without an error.
    ///
    /// It may be called from any task, and again.
    public func close() {
        self.closing.store(true, ordering: .relaxed)
        let connection = self.shared.withLock { state -> (any TransportConnection)? in
            state.isClosed = true
            state.readyState = .closed
            return state.interrupt()
        }
        connection?.cancel()
    }

    /// Drops the current stream and connects again at once, or ends the current delay.
    ///
    /// It has no effect before the first event is asked for, behind the end, and for a request that must not be
    /// repeated (``EventSourceReconnectionPolicy/resending``).
    public func reconnect() {
        let connection = self.shared.withLock { state -> (any TransportConnection)? in
            guard state.canReconnect, !state.isClosed else { return nil }
            state.isReconnecting = true
            return state.interrupt()
        }
        connection?.cancel()
    }

    // MARK: Reading

    /// Creates the iterator; only one may be used.
    public func makeAsyncIterator() -> Iterator {
        let isFirst = self.shared.withLock { state in
            defer { state.hasIterator = true }
            return !state.hasIterator
        }
        return Iterator(self, isFirst: isFirst)
    }

    /// The iterator, which holds the events that were read and not taken.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let source: EventSource
        @usableFromInline let isFirst: Bool
        /// The events, the next one last: it is taken out without a copy.
        @usableFromInline var batch: [ServerSentEvent] = []

        fileprivate init(_ source: EventSource, isFirst: Bool) {
            self.source = source
            self.isFirst = isFirst
        }

        /// Returns the next event, on the given actor; nil at the end.
        ///
        /// It is inlinable so that an event that was read needs no change of executors and no memory for a task.
        @inlinable @inline(__always)
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> ServerSentEvent? {
            if !self.batch.isEmpty, !self.source.isInterrupted { return self.batch.removeLast() }
            return try await self.refill(isolation: actor)
        }

        /// Reads the next batch, and returns its first event; events that were not taken are dropped.
        @usableFromInline
        mutating func refill(isolation actor: isolated (any Actor)?) async throws(any Error) -> ServerSentEvent? {
            guard self.isFirst else { throw EventSourceError.alreadyRead }
            self.batch = []
            guard var batch = try await self.source.nextBatch() else { return nil }
            batch.reverse()
            self.batch = batch
            return self.batch.popLast()
        }

        /// Returns the next event; nil at the end.
        @inlinable
        public mutating func next() async throws -> ServerSentEvent? { try await self.next(isolation: nil) }
    }

    /// Indicates whether events that were read are dropped: `close()` was called, or the task is cancelled.
    @usableFromInline var isInterrupted: Bool { self.closing.load(ordering: .relaxed) || Task.isCancelled }

    nonisolated(nonsending) private func nextBatch() async throws -> [ServerSentEvent]? {
        if let fault = self.fault {
            let isClosed = self.shared.withLock { state in
                defer {
                    state.readyState = .closed
                    state.isClosed = true
                }
                return state.isClosed
            }
            if isClosed { return nil }
            throw fault
        }
        guard let driver = self.driver else { return nil }
        let isFree = self.shared.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard isFree else { throw EventSourceError.alreadyRead }
        defer { self.shared.withLock { $0.isReading = false } }
        return try await driver.nextBatch()
    }
}
