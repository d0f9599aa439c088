/// Opens connections to one kind of server, over one kind of socket.
///
/// A transport has no policy: it makes one attempt and reports what happened. Retrying, falling back and giving up
/// are decided above it. It belongs to nobody: it is immutable and may be used from any task.
package protocol StreamTransport: Sendable {
    /// Starts one exchange and returns at once; everything that happens to it is read from the connection.
    func connect(_ request: TransportRequest) -> any TransportConnection

    /// Suspends until one of the connections has something to return, `duration` is over or the task is cancelled.
    ///
    /// For the moment in which two connections race; each of them belongs to the caller.
    func wait(for connections: [any TransportConnection], atMost duration: Duration?) async -> TransportWaitOutcome
}

extension StreamTransport {
    /// Waits for each connection in a task of its own; the first outcome counts.
    package func wait(
        for connections: [any TransportConnection], atMost duration: Duration?
    ) async -> TransportWaitOutcome {
        await withTaskGroup(of: TransportWaitOutcome.self) { group in
            for connection in connections { group.addTask { await connection.wait(for: duration) } }
            defer { group.cancelAll() }
            return await group.next() ?? .deadlinePassed
        }
    }
}

/// One exchange: a WebSocket, or a POST whose response streams.
///
/// `next()` and `wait(for:)` belong to the connection's one consumer. The other methods may be called from any thread.
/// Dropping the last reference does not close the socket: whoever opened it calls `cancel()` or reads to the end.
package protocol TransportConnection: AnyObject, Sendable {
    /// The next thing that has arrived, or nil when nothing has.
    ///
    /// Never suspends, and never blocks for long.
    ///
    /// After `.ended` it returns nil for ever.
    func next() -> TransportEvent?

    /// Suspends until `next()` has something to return, `duration` is over (nil: no limit) or the task is cancelled.
    func wait(for duration: Duration?) async -> TransportWaitOutcome

    /// Sends one message, after `.opened` with an established WebSocket.
    ///
    /// Otherwise it does nothing.
    func send(_ message: [UInt8], as kind: OutboundKind)

    /// Lets a held request go (`TransportRequest.isHeld`): what is missing of it is sent.
    ///
    /// Before `ready` it is remembered. A request that was released, or is not held, is left as it is.
    func release()

    /// Sends a ping on an established WebSocket; `TransportEvent.pong` follows when it is answered.
    ///
    /// Otherwise it does nothing.
    func ping()

    /// Starts the closing handshake with status code 1000, and drops the connection when the peer does not answer.
    func close()

    /// Fails the WebSocket with a close code (RFC 6455 section 7.1.7): what the peer sent cannot be processed.
    func fail(code: UInt16)

    /// Ends the exchange.
    ///
    /// An established WebSocket is closed with status code 1001. What still arrives is dropped, and the socket is
    /// closed when the peer closes its end, after 500 ms at the latest; a closing handshake that has begun already gets
    /// as long. Any other socket, and one that takes no more bytes, is closed at once. `next()` then reports
    /// `.ended(.failed)` with cause `.cancelled`, or an earlier end.
    func cancel()

    /// Counters so far.
    var statistics: TransportStatistics { get }

    /// The socket underneath: connections that share one have the same.
    var socketIdentity: ObjectIdentifier { get }
}

extension TransportConnection {
    /// A connection has a socket of its own, unless it says otherwise.
    package var socketIdentity: ObjectIdentifier { ObjectIdentifier(self) }
}

/// What a message to a WebSocket's peer is.
package enum OutboundKind: Sendable, Equatable {
    /// UTF-8, which is the caller's promise.
    case text
    /// Any bytes.
    case binary
}

/// Why `TransportConnection.wait(for:)` returned.
package enum TransportWaitOutcome: Sendable, Equatable {
    /// `next()` has something.
    case ready
    /// The duration is over.
    case deadlinePassed
    /// The waiting task was cancelled.
    case cancelled
}
