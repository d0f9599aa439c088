import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// One attempt of a turn: its connection, and how far it has come.
///
/// It belongs to the turn's driver.
struct Attempt {
    /// What the payloads are.
    enum Stage: Equatable {
        /// There is no answer yet.
        case opening
        /// The answer is the response: messages, or an event stream.
        case streaming
        /// The answer is a refusal, whose body is collected.
        case refused
    }

    /// Counts from 1 over the whole turn.
    let number: Int
    let transport: ChappieTransportKind
    let connection: any TransportConnection
    /// What is asked for.
    let rung: TurnStateMachine.Opening.Rung
    /// When the connection was asked for, or taken.
    let startedAt: Duration
    /// The WebSocket that an earlier turn has left, if it is one.
    let kept: KeptConnection?
    var stage = Stage.opening
    var head: ResponseHead?
    /// Whether the connection closes by itself: it has ended, or was failed with a close code for the peer.
    ///
    /// To cancel it then would cut a closing handshake off.
    var closesByItself = false
    /// When the request was given to the connection.
    var requestedAt: Duration?
    /// When the head of a refusal came.
    var refusedAt: Duration?
    /// When the newest event came.
    var lastEvent: Duration?
    /// When the newest event that is progress came.
    var lastProgress: Duration?
    /// When the process went on after it was stopped for longer than a budget.
    var wentOn: Duration?
    /// Whether the consumer knows that there is no progress.
    var isKnownToStall = false
    /// The body of a refusal, or of an answer that does not look like an event stream, as much as is kept.
    var refusal: [UInt8] = []
    /// Whether the answer is a page for a browser, whatever its content type is.
    var isPage = false
    /// What the connection has reported behind a batch of payloads, if it is not handled yet.
    var unhandled: TransportEvent?

    init(of opening: TurnStateMachine.Opening, on connection: any TransportConnection, at now: Duration) {
        self.number = opening.attempt
        self.transport = ChappieTransportKind(opening.transport)
        self.connection = connection
        self.rung = opening.rung
        self.startedAt = now
        self.kept = nil
    }

    /// An attempt on a connection that an earlier turn has left.
    init(of opening: TurnStateMachine.Opening, on kept: KeptConnection, at now: Duration) {
        self.number = opening.attempt
        self.transport = .webSocket
        self.connection = kept.connection
        self.rung = opening.rung
        self.startedAt = now
        self.kept = kept
        self.stage = .streaming
    }

    /// When the connection was asked for: its statistics count from then.
    var connectionStart: Duration { self.kept?.startedAt ?? self.startedAt }

    /// Whether any event came.
    var hasEvents: Bool { self.lastEvent != nil }

    /// How the attempt goes on after a failed one.
    var recoveryRung: ChappieRecoveryRung? { ChappieRecoveryRung(self.rung) }

    /// Whether the response goes on where it broke, and does not begin again.
    var continuesResponse: Bool {
        guard case .resume(let cursor) = self.rung else { return false }
        return cursor.lastSequenceNumber != nil
    }

    /// Whether the rest of a response is read.
    var isResumed: Bool {
        guard case .resume = self.rung else { return false }
        return true
    }
}

/// What a failed attempt leaves for the error that may be made of it.
///
/// It holds the server's words and is not logged.
struct FailureEvidence {
    /// The body of an HTTP error, or the text of an error event.
    var body = ""
    /// Whether the newest attempt of which something came ended in order, without its terminal event.
    var endedInOrder = false
    /// Whether an event came before the attempt was over.
    var hasEvents = false
    /// The response that failed or is incomplete.
    var response: ChappieResponse?
    /// The usage limit that was reached.
    var usageLimit: ChappieUsageLimit?
    /// The server's name for the request.
    var requestID: String?
    /// The peer's close reason.
    var closeReason: String?
    /// The status code of the answer.
    var statusCode: Int?
    /// The age at which two connections of the turn were cut.
    var pathTimeLimit: Duration?
}
