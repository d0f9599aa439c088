import LibwebsocketsTransport
package import StreamTransport

/// Streams responses: WebSocket first, HTTP/SSE when that fails, exactly once whatever the network does.
///
/// An instance remembers when WebSockets do not work and keeps one connection for its next turn. It may be used from
/// any task; turns that run at the same time use connections of their own.
public final class ChappieStreamingTransport: Sendable {
    private let engine: Engine

    /// An instance; no connection is made before the first stream is read.
    public convenience init(configuration: ChappieTransportConfiguration) {
        let configuration = configuration.bounded
        let transport = LibwebsocketsTransport(
            tls: TLSPolicy(configuration.tls), proxies: ProxyPolicy.policy(configuration.proxy),
            serviceThreadCount: configuration.serviceThreadCount)
        let clock = TurnClock.system
        let maximumAge = configuration.policy.maximumConnectionAge
        self.init(
            configuration: configuration,
            transport: configuration.usesLanes
                ? LaneTransport(transport, clock: clock, maximumAge: maximumAge) : transport,
            clock: clock)
    }

    /// An instance over another transport and with another clock.
    package init(configuration: ChappieTransportConfiguration, transport: any StreamTransport, clock: TurnClock) {
        self.engine = Engine(configuration: configuration, transport: transport, clock: clock)
    }

    /// Waits until the WebSockets of all instances that are being closed are closed, for at most 500 ms.
    ///
    /// For a program that is about to exit: the system resets sockets on which unread bytes lie.
    package static func finishClosing() async {
        await LibwebsocketsTransport.finishClosing(within: .milliseconds(500))
    }

    /// The events of one response.
    ///
    /// Nothing is sent before the stream is read. Dropping the stream, and cancelling the task that reads it, close the
    /// connection. A stream cancelled while its consumer waits throws `CancellationError`; a task that is cancelled
    /// between two elements may see the stream end without an error, which is the standard library's doing.
    public func stream(_ request: ChappieTransportRequest) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(request).events
    }

    /// The events of one response, several at a time: those that are ready, in order, and never none.
    ///
    /// A batch costs what a single element of `stream(_:)` costs; everything else is as there.
    public func batches(_ request: ChappieTransportRequest) -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        let token = StreamToken(turn: self.turn(request))
        return AsyncThrowingStream { try await token.turn.nextBatch() }
    }

    /// The events, with a handle that can stop it and report on it.
    public func streamHandle(_ request: ChappieTransportRequest) -> ChappieStreamHandle {
        ChappieStreamHandle(turn: self.turn(request))
    }

    /// Opens the WebSocket that the next turn of the request's lane will use, and lets the server prepare what the
    /// request holds: nothing is generated (`generate: false`).
    ///
    /// A turn that begins with this request's input sends only what it adds. It does nothing where WebSockets do not
    /// work or are not preferred. A failure is told to nobody and has no consequences: the turn that follows meets it
    /// again. When the task is cancelled it returns, and the connection is closed.
    public func prewarm(_ request: ChappieTransportRequest) async {
        guard self.engine.configuration.policy.prefersWebSocket else { return }
        var request = request
        request.isWarmUp = true
        let turn = self.turn(request)
        do {
            while try await turn.next() != nil {}
        } catch {
            // There is nobody to be told.
        }
    }

    /// A document beside `/responses`, such as `/models`: over the same transport, with the same credential, limits of
    /// time and errors as a turn.
    ///
    /// The path begins with a slash, or with `/../` for what stands beside the base URL, and may have a query. Anything
    /// but 2xx is thrown as `ChappieClientError.httpError`; a 401 has the credential replaced, once.
    package func fetch(path: String) async throws -> FetchedDocument {
        try await DocumentFetch(engine: self.engine, path: path).document()
    }

    /// One exchange with any server, over the same transport and within the same limits; no credential goes with it.
    ///
    /// Whatever the status code, the answer is returned. Throws `ChappieClientError.transport` for what fails below
    /// HTTP, and `CancellationError`.
    package func exchange(_ request: DocumentRequest) async throws -> FetchedDocument {
        try await DocumentFetch(engine: self.engine, path: "").answer(to: request)
    }

    /// The turn itself, for a consumer that reads it without a stream around it, and closes it by `cancel()`.
    package func turn(_ request: ChappieTransportRequest) -> TurnDriver {
        TurnDriver(engine: self.engine, request: request)
    }
}
