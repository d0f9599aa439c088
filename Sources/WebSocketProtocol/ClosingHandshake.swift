// The closing handshake of a client (RFC 6455 sections 5.5.1 and 7.1).
// The owner is the owner of the connection, which performs the actions.

/// Decides which side closes, which frames are sent, and which code is reported.
///
/// It performs no I/O and reads no clock: the driver arms a timer when it has sent a close frame, and reports
/// `timedOut` when the peer does not end the connection.
package struct ClosingHandshake: Sendable {
    /// The side that ended the connection.
    package enum Initiator: Equatable, Sendable {
        /// The client: a close that the owner requested, or a failed connection.
        case client
        /// The server, with a close frame.
        case server
        /// Neither side: the connection was lost.
        case network
    }

    /// The way in which the connection ended.
    package struct Outcome: Equatable, Sendable {
        /// The side that began to close.
        package let initiator: Initiator
        /// The code that was received: 1005 when the close frame had none, 1006 when there was no close frame
        /// (RFC 6455 section 7.1.5).
        package let code: CloseCode
        /// The reason that was received; empty when there is none.
        package let reason: String
        /// The code that was sent; nil when no close frame was sent, or one without a code.
        package let sentCode: CloseCode?
        /// Indicates whether both sides sent a close frame (RFC 6455 section 7.1.4).
        package let isClean: Bool

        /// Makes an outcome; the defaults are those of a lost connection.
        package init(
            initiator: Initiator = .network, code: CloseCode = .abnormalClosure, reason: String = "",
            sentCode: CloseCode? = nil, isClean: Bool = false
        ) {
            self.initiator = initiator
            self.code = code
            self.reason = reason
            self.sentCode = sentCode
            self.isClean = isClean
        }
    }

    /// The driver's task after one input.
    package enum Action: Equatable, Sendable {
        /// Send the frame, no frame after it, and arm the timer. The server ends the connection
        /// (RFC 6455 section 7.1.1); until then keep reading.
        case sendClose(CloseFrame)
        /// Send the frame and end the connection without waiting (RFC 6455 section 7.1.7).
        case sendCloseAndDisconnect(CloseFrame)
        /// Both close frames are exchanged: leave the timer armed, the server ends the connection.
        case awaitDisconnect
        /// End the connection.
        case disconnect
        /// The connection has ended.
        case finish(Outcome)
        /// No action is needed.
        case ignore
    }

    private enum State {
        case open
        case closingSent(CloseFrame)
        case closeReceived(CloseFrame, sent: CloseFrame, initiator: Initiator)
        case failed(sent: CloseFrame)
        case closed
    }

    private var state: State = .open

    /// Begins with an open connection.
    package init() {}

    /// Indicates whether frames may be sent: never after a close frame (RFC 6455 section 5.5.1).
    package var allowsSending: Bool {
        switch self.state {
        case .open: true
        case .closingSent, .closeReceived, .failed, .closed: false
        }
    }

    /// Begins to close, because the owner has asked for it.
    package mutating func closeRequested(_ frame: CloseFrame) -> Action {
        switch self.state {
        case .open:
            self.state = .closingSent(frame)
            return .sendClose(frame)
        case .closingSent, .closeReceived, .failed, .closed:
            // The server's close frame, or the end of the connection, can be faster than the owner.
            return .ignore
        }
    }

    /// Handles a received close frame.
    package mutating func closeReceived(_ frame: CloseFrame) -> Action {
        switch self.state {
        case .open:
            // RFC 6455 section 5.5.1: the answer echoes the code.
            let reply = CloseFrame(code: frame.code)
            self.state = .closeReceived(frame, sent: reply, initiator: .server)
            return .sendClose(reply)
        case .closingSent(let sent):
            self.state = .closeReceived(frame, sent: sent, initiator: .client)
            return .awaitDisconnect
        case .closeReceived, .failed, .closed:
            // These bytes were on their way when the connection was given up.
            return .ignore
        }
    }

    /// Fails the connection with a code, because the peer broke a rule.
    package mutating func connectionFailed(_ code: CloseCode) -> Action {
        switch self.state {
        case .open:
            let frame = CloseFrame(code: code)
            self.state = .failed(sent: frame)
            return .sendCloseAndDisconnect(frame)
        case .closingSent(let sent):
            self.state = .failed(sent: sent)
            return .disconnect
        case .closeReceived, .failed, .closed:
            // Messages that arrived before the close frame can be judged after it.
            return .ignore
        }
    }

    /// Ends the connection, because the peer has not done so in time.
    package mutating func timedOut() -> Action {
        switch self.state {
        case .closingSent, .closeReceived: .disconnect
        // The timer can fire while the connection ends.
        case .open, .failed, .closed: .ignore
        }
    }

    /// Handles the end of the connection, by either side.
    package mutating func connectionEnded() -> Action {
        let state = self.state
        self.state = .closed
        switch state {
        case .open:
            return .finish(Outcome())
        case .closingSent(let sent), .failed(let sent):
            return .finish(Outcome(initiator: .client, sentCode: sent.code))
        case .closeReceived(let received, let sent, let initiator):
            return .finish(
                Outcome(
                    initiator: initiator, code: received.code ?? .noStatusReceived, reason: received.reason,
                    sentCode: sent.code, isClean: true))
        case .closed:
            return .ignore
        }
    }
}
