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
        let sockets = LibwebsocketsTransport(
            tls: TLSPolicy(configuration.tls), proxies: ProxyPolicy.policy(configuration.proxy),
            serviceThreadCount: configuration.serviceThreadCount)
        let transport: any StreamTransport =
            configuration.usesLanes
            ? LaneTransport(sockets, clock: .system, maximumAge: configuration.policy.maximumConnectionAge) : sockets
        self.init(configuration: configuration, transport: transport, clock: .system)
    }

    /// An instance over another transport, which shares sockets among lanes by itself if it can, and with another clock.
    package init(configuration: ChappieTransportConfiguration, transport: any StreamTransport, clock: TurnClock) {
        self.engine = Engine(configuration: configuration, transport: transport, clock: clock)
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

    /// The turn itself, for a consumer that reads it without a stream around it, and closes it by `cancel()`.
    package func turn(_ request: ChappieTransportRequest) -> TurnDriver {
        TurnDriver(engine: self.engine, request: request)
    }
}
