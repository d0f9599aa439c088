/// Opens connections to one kind of server, over one kind of socket.
///
/// A transport has no policy: it makes one attempt and reports its outcome. Retries, fallbacks and giving up are
/// decided above it. It is immutable and may be used from any task.
package protocol StreamTransport: Sendable {
    /// Starts one exchange and returns at once; all of its events are read from the connection.
    func connect(_ request: TransportRequest) -> any TransportConnection

    /// Suspends until one of the connections has an event, `duration` is over or the task is cancelled.
    ///
    /// It serves a race between two connections, each of which belongs to the caller.
    func wait(for connections: [any TransportConnection], atMost duration: Duration?) async -> TransportWaitOutcome

    /// An executor on which a consumer's tasks run beside the sockets of its connections; nil when there is none.
    ///
    /// Where the transport has several, each access returns the next one.
    var consumerExecutor: (any TaskExecutor)? { get }
}

extension StreamTransport {
    /// By default there is none.
    package var consumerExecutor: (any TaskExecutor)? { nil }

    /// Waits for each connection in a task of its own; the first outcome is returned.
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

/// One exchange: a WebSocket, or a request whose response streams.
///
/// `next()` and `wait(for:)` belong to the connection's one consumer. The other methods may be called from any thread.
/// Dropping the last reference does not close the socket: the opener calls `cancel()` or reads to the end.
package protocol TransportConnection: AnyObject, Sendable {
    /// Returns the next event that has arrived, or nil when there is none.
    ///
    /// Never suspends, and never blocks for long.
    ///
    /// After `.ended` it always returns nil.
    func next() -> TransportEvent?

    /// Suspends until `next()` has an event, `duration` is over (nil: no limit) or the task is cancelled.
    ///
    /// It runs where its caller does, so that it needs no change of executors.
    nonisolated(nonsending) func wait(for duration: Duration?) async -> TransportWaitOutcome

    /// Suspends like `wait(for:)`, with the duration in nanoseconds: no event computes with a `Duration`.
    nonisolated(nonsending) func wait(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome

    /// Suspends like `wait(forNanoseconds:)`, for a caller that has a cancellation handler of its own in place, which
    /// calls `cancel()`: none has to be added and removed for this wait.
    nonisolated(nonsending) func waitInScope(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome

    /// Sends one message, after `.opened` with an established WebSocket.
    ///
    /// In any other state it has no effect.
    func send(_ message: [UInt8], as kind: OutboundKind)

    /// Releases a held request (`TransportRequest.isHeld`): the missing part of it is sent.
    ///
    /// A call before `ready` takes effect at `ready`. It has no effect on a request that was released or is not held.
    func release()

    /// Sends a ping on an established WebSocket; `TransportEvent.pong` follows when it is answered.
    ///
    /// In any other state it has no effect.
    func ping()

    /// Starts the closing handshake with status code 1000, and drops the connection when the peer does not answer.
    ///
    /// Reading does not pause any more: messages above the high watermark are dropped, up to the end.
    func close()

    /// Fails the WebSocket with a close code (RFC 6455 section 7.1.7), because a received message cannot be processed.
    func fail(code: UInt16)

    /// Ends the exchange.
    ///
    /// An established WebSocket is closed with status code 1001. Bytes that still arrive are dropped, and the socket is
    /// closed when the peer closes its end, after 500 ms at the latest; a closing handshake that has begun already gets
    /// as long. Any other socket, and one that takes no more bytes, is closed at once. `next()` then reports
    /// `.ended(.failed)` with cause `.cancelled`, or an earlier end.
    func cancel()

    /// The counters so far.
    var statistics: TransportStatistics { get }

    /// The identity of the underlying socket: connections that share a socket have the same.
    var socketIdentity: ObjectIdentifier { get }
}

extension TransportConnection {
    /// The identity of the connection: by default it has its own socket.
    package var socketIdentity: ObjectIdentifier { ObjectIdentifier(self) }

    nonisolated(nonsending) package func wait(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome {
        await self.wait(for: nanoseconds.map { .nanoseconds($0) })
    }

    /// Waits with a handler of its own, which changes nothing but the cost.
    nonisolated(nonsending) package func waitInScope(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome {
        await self.wait(forNanoseconds: nanoseconds)
    }
}

/// The type of a message to a WebSocket's peer.
package enum OutboundKind: Sendable, Equatable {
    /// Text, which the caller guarantees to be UTF-8.
    case text
    /// A binary message.
    case binary
}

/// The reason for which `TransportConnection.wait(for:)` returned.
package enum TransportWaitOutcome: Sendable, Equatable {
    /// `next()` has an event.
    case ready
    /// The duration is over.
    case deadlinePassed
    /// The waiting task was cancelled.
    case cancelled
}
