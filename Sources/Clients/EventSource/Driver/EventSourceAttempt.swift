import StreamTransport

/// One attempt of an event source: its connection and what has come of it.
///
/// It belongs to the driver.
struct EventSourceAttempt {
    /// The meaning of the payloads.
    enum Stage: Equatable {
        /// There is no answer yet.
        case opening
        /// The answer is an event stream.
        case streaming
        /// The answer is a refusal, whose beginning is kept.
        case refused
    }

    /// The connection of the newest request.
    var connection: any TransportConnection
    /// The time at which the attempt began.
    let startedAt: Duration
    /// The time at which the newest request was made.
    var requestedAt: Duration
    var stage = Stage.opening
    /// The head of the newest answer.
    var head: ResponseHead?
    /// The time of the answer's head, or of the newest piece of the stream.
    var heardAt: Duration
    /// The kept beginning of a refusal.
    var refusal: [UInt8] = []

    init(_ connection: any TransportConnection, at now: Duration) {
        self.connection = connection
        self.startedAt = now
        self.requestedAt = now
        self.heardAt = now
    }

    /// Begins the request to which a redirect leads.
    mutating func redirect(to connection: any TransportConnection, at now: Duration) {
        self.connection = connection
        self.requestedAt = now
        self.heardAt = now
        self.stage = .opening
    }

    /// Keeps a piece of a refusal's content, up to a limit in bytes.
    ///
    /// - Returns: whether no more will be kept.
    mutating func collect(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        let room = max(0, limit - self.refusal.count)
        unsafe self.refusal.append(contentsOf: bytes.prefix(room))
        return bytes.count >= room
    }
}
