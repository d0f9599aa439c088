import LibwebsocketsTransport
package import StreamTransport
import TransportSurface

/// Streams responses: WebSocket first, HTTP/SSE when that fails, with every piece of output delivered exactly once.
///
/// An instance remembers when WebSockets do not work, and keeps one connection for its next turn. It may be used from
/// any task; concurrent turns use connections of their own.
public final class ChappieStreamingTransport: Sendable {
    let engine: Engine

    /// The settings, within their ranges.
    package var configuration: ChappieTransportConfiguration { self.engine.configuration }

    /// Creates an instance; no connection is made before the first stream is read.
    public convenience init(configuration: ChappieTransportConfiguration) {
        let configuration = configuration.bounded
        let transport = LibwebsocketsTransport(
            tls: configuration.tls, proxies: ProxyPolicy.policy(configuration.proxy),
            serviceThreadCount: configuration.serviceThreadCount)
        let clock = ClientClock.system
        let maximumAge = configuration.policy.maximumConnectionAge
        self.init(
            configuration: configuration,
            transport: configuration.usesLanes
                ? LaneTransport(transport, clock: clock, maximumAge: maximumAge) : transport,
            clock: clock)
    }

    /// Creates an instance over another transport and with another clock.
    package init(configuration: ChappieTransportConfiguration, transport: any StreamTransport, clock: ClientClock) {
        self.engine = Engine(configuration: configuration, transport: transport, clock: clock)
    }

    /// An executor for tasks that read streams: a service thread, which runs them between its sockets' events.
    ///
    /// An event then wakes no other thread: it is received, decoded and consumed by one.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(transport.executor) {
    ///     for try await event in transport.events(request) {
    ///         if case .textDelta(let text) = event { append(text) }
    ///     }
    /// }
    /// ```
    ///
    /// While such a task computes, the thread serves no socket, of any instance: after 1 ms of work in a round the
    /// sockets come first, and a task is interrupted only where it suspends. Tasks that compute for longer belong on
    /// the global executor, and a task must not block here, least of all to wait for another stream. A debug
    /// build writes a warning to standard error about the first task that holds the thread for 100 ms.
    ///
    /// With `serviceThreadCount` above 1 each access returns the next thread's, and a connection that is opened there
    /// stays there. The thread starts with the first access or connection. May be used from any task.
    public var executor: any TaskExecutor { self.engine.transport.consumerExecutor ?? globalConcurrentExecutor }

    /// Waits until the WebSockets of all instances that are being closed are closed, for at most 500 ms.
    ///
    /// For a program that is about to exit: the system resets sockets on which unread bytes lie.
    package static func finishClosing() async {
        await LibwebsocketsTransport.finishClosing(within: .milliseconds(500))
    }

    /// Ends the instance: refuses new turns, and lets running ones end.
    ///
    /// A turn that begins after this call ends with `ChappieClientError.transport` and the tag `engine.shut-down`, and
    /// so does a fetch. Turns that still run after the grace period end with the same error, whose
    /// `details.deliveredText` is the text that their consumers have, and `CancellationError` stays the error of those
    /// that the program itself cancels; a client's turn may make its remaining requests until then. Kept WebSockets are
    /// closed with their closing handshake (RFC 6455 section 7), for which this waits up to 500 ms beyond the grace
    /// period: then the instance has no socket left, and its service threads are idle.
    ///
    /// When the task is cancelled, the grace period is over at once. May be called from any task, and more than once.
    ///
    /// - Parameter gracePeriod: the time for running turns; default 5 s, and not below zero.
    public func shutdown(gracePeriod: Duration = .seconds(5)) async {
        await self.engine.shutDown(within: gracePeriod)
        await Self.finishClosing()
    }

    /// Admits a turn of several responses, which `shutDown` ends when the engine's grace period is over, and whose
    /// requests are marked as admitted.
    package func admit(
        _ traceContext: ChappieTraceContext?, of requestID: String?, shutDown: @escaping @Sendable () -> Void
    ) throws(ChappieClientError) -> TurnAdmission {
        guard let admission = self.engine.gate.admit(shutDown) else {
            throw ChappieClientError(
                shutDown: self.engine.configuration.policy.prefersWebSocket ? .webSocket : .httpSSE,
                of: RequestIdentity(requestID: requestID, traceContext: traceContext))
        }
        return admission
    }

    /// Returns the events of one response.
    ///
    /// No request is sent before the stream is read. Dropping the stream, or cancelling the task that reads it, closes
    /// the connection. A stream cancelled while its consumer waits throws `CancellationError`; a task that is cancelled
    /// between two elements may see the stream end without an error, which the standard library causes.
    public func stream(_ request: ChappieTransportRequest) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(request).events
    }

    /// Returns the events of one response, like `stream(_:)`, as a sequence whose elements cost less.
    ///
    /// No request is sent before it is read.
    public func events(_ request: ChappieTransportRequest) -> ChappieEventSequence {
        ChappieEventSequence(self.reader(of: request))
    }

    /// Returns the events of one response in batches: those that are ready, in order, and at least one.
    ///
    /// A batch costs as much as a single element of `stream(_:)`; otherwise they behave the same.
    public func batches(_ request: ChappieTransportRequest) -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        self.reader(of: request).batches()
    }

    /// Returns the events, with a handle that can cancel the stream and report on it.
    public func streamHandle(_ request: ChappieTransportRequest) -> ChappieStreamHandle {
        ChappieStreamHandle(turn: self.turn(request))
    }

    /// Opens the WebSocket for the next turn of the request's lane, and lets the server prepare the request's content:
    /// no output is generated (`generate: false`).
    ///
    /// A turn that begins with this request's input sends only the rest. It has no effect where WebSockets do not work
    /// or are not preferred. A failure is not reported and has no consequences: the next turn meets it again. When the
    /// task is cancelled it returns, and the connection is closed.
    public func prewarm(_ request: ChappieTransportRequest) async {
        guard self.engine.configuration.policy.prefersWebSocket else { return }
        var request = request
        request.isWarmUp = true
        let turn = self.turn(request)
        do {
            while try await turn.next(for: .batches) != nil {}
        } catch {
            // A failure is not reported.
        }
    }

    /// Fetches a document beside `/responses`, such as `/models`: with the transport, credential, time limits and
    /// errors of a turn.
    ///
    /// The path begins with a slash, or with `/../` for a sibling of the base URL, and may have a query. A status code
    /// other than 2xx is thrown as `ChappieClientError.httpError`; a 401 has the credential replaced, once. `limit` is a
    /// time limit in all, beside those of the configuration.
    package func fetch(path: String, limit: Duration? = nil) async throws -> FetchedDocument {
        try await DocumentFetch(engine: self.engine, path: path, limit: limit).document()
    }

    /// Makes one exchange with any server, over the same transport and within the same limits; no credential is sent.
    ///
    /// The answer is returned with any status code. Throws `ChappieClientError.transport` for failures below HTTP, and
    /// `CancellationError`.
    package func exchange(_ request: DocumentRequest) async throws -> FetchedDocument {
        try await DocumentFetch(engine: self.engine, path: "").answer(to: request)
    }

    /// Creates the turn itself, for a consumer that reads it without a stream around it, and closes it by `cancel()`.
    package func turn(_ request: ChappieTransportRequest) -> TurnDriver {
        TurnDriver(engine: self.engine, request: request)
    }

    /// Creates the reader of a turn, whose end is the turn's.
    @usableFromInline
    func reader(of request: ChappieTransportRequest) -> TurnReader { TurnReader(self.turn(request)) }
}
