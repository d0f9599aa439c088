/// Streams responses: WebSocket first, HTTP/SSE when that fails, exactly once whatever the network does.
///
/// An instance remembers when WebSockets do not work and keeps one connection for its next turn. It may be used from
/// any task; turns that run at the same time use connections of their own.
public final class ChappieStreamingTransport: Sendable {
    /// An instance; no connection is made before the first stream is read.
    public init(configuration: ChappieTransportConfiguration) {
    }

    /// The events of one response.
    ///
    /// Nothing is sent before the stream is read. Dropping the stream, and cancelling the task that reads it, close the
    /// connection. A stream cancelled while its consumer waits throws `CancellationError`; a task that is cancelled
    /// between two elements may see the stream end without an error, which is the standard library's doing.
    public func stream(_ request: ChappieTransportRequest) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(request).events
    }

    /// The same, with a handle that can stop it and report on it.
    public func streamHandle(_ request: ChappieTransportRequest) -> ChappieStreamHandle {
        let turn = TurnDriver()
        return ChappieStreamHandle(events: AsyncThrowingStream { try await turn.next() }, turn: turn)
    }
}
