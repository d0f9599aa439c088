// The closing handshake of a client (RFC 6455 sections 5.5.1 and 7.1).
// The owner is the owner of the connection, which performs the actions.

/// Decides which close frames are sent, and which side ends the connection.
///
/// It performs no I/O and reads no clock: the driver limits the wait for the peer when it has sent a close frame.
package struct ClosingHandshake: Sendable {
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
        /// No action is needed.
        case ignore
    }

    private enum State {
        case open
        case closingSent
        /// Both close frames are exchanged, or the connection was failed.
        case done
    }

    private var state: State = .open

    /// Begins with an open connection.
    package init() {}

    /// Indicates whether frames may be sent: never after a close frame (RFC 6455 section 5.5.1).
    package var allowsSending: Bool {
        switch self.state {
        case .open: true
        case .closingSent, .done: false
        }
    }

    /// Begins to close, because the owner has asked for it.
    package mutating func closeRequested(_ frame: CloseFrame) -> Action {
        switch self.state {
        case .open:
            self.state = .closingSent
            return .sendClose(frame)
        case .closingSent, .done:
            // The server's close frame, or the end of the connection, can be faster than the owner.
            return .ignore
        }
    }

    /// Handles a received close frame.
    package mutating func closeReceived(_ frame: CloseFrame) -> Action {
        switch self.state {
        case .open:
            self.state = .done
            // RFC 6455 section 5.5.1: the answer echoes the code.
            return .sendClose(CloseFrame(code: frame.code))
        case .closingSent:
            self.state = .done
            return .awaitDisconnect
        case .done:
            // These bytes were on their way when the connection was given up.
            return .ignore
        }
    }

    /// Fails the connection with a code, because the peer broke a rule.
    package mutating func connectionFailed(_ code: CloseCode) -> Action {
        switch self.state {
        case .open:
            self.state = .done
            return .sendCloseAndDisconnect(CloseFrame(code: code))
        case .closingSent:
            self.state = .done
            return .disconnect
        case .done:
            // Messages that arrived before the close frame can be judged after it.
            return .ignore
        }
    }
}
