import StreamTransport

/// The part of an event source that any task may touch.
///
/// Behind a lock that is held for a few lines.
struct EventSourceSharedState: Sendable {
    /// Indicates whether a consumer reads.
    var isReading = false
    /// Indicates whether an iterator was made.
    var hasIterator = false
    /// Indicates whether `close()` was called.
    var isClosed = false
    /// Indicates whether `reconnect()` was called.
    var isReconnecting = false
    /// Indicates whether the request may be repeated at the program's wish.
    var canReconnect = false
    var readyState = EventSource.ReadyState.connecting
    var lastEventID: String
    var reconnectionTime: Duration
    var response: EventSourceResponse?
    var report = EventSourceReport()
    /// The open connection.
    var connection: (any TransportConnection)?
    /// The task that waits for the next attempt.
    var sleeper: Task<Void, any Error>?

    /// Changes the state, unless the program has closed the event source.
    mutating func advance(to state: EventSource.ReadyState) {
        if !self.isClosed { self.readyState = state }
    }

    /// Ends whatever the consumer waits for, and returns the connection that is to be cancelled.
    func interrupt() -> (any TransportConnection)? {
        self.sleeper?.cancel()
        return self.connection
    }
}
