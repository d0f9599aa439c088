// The requests of the turn's state machine to its driver, as values, so that a test can compare them.

extension TurnStateMachine {
    /// The availability of a WebSocket for a turn.
    package enum WebSocketAvailability: Sendable, Equatable, CaseIterable {
        /// There is no known obstacle.
        case available
        /// An earlier turn of the instance has found that it does not work here.
        case condemned
        /// This turn's request is larger than a message may be.
        case requestTooLarge
        /// This turn's response is made in the background, which can be requested over HTTP only.
        case background
    }

    /// The treatment of an event, by its number.
    package enum NumberedEvent: Equatable, Sendable {
        /// Read it.
        case read
        /// Read it, and report that numbers are missing before it.
        case readBehindGap
        /// Ignore it: it has come before.
        case skip
        /// Ignore it: the attempt has ended with it, for this reason, and the action follows.
        case end(AttemptFailure?, Action)
    }

    /// The driver's task after one input.
    ///
    /// Cases with more than a number are indirect, because most answers are one: that a delta is to be delivered.
    package enum Action: Equatable, Sendable {
        /// Start this attempt.
        indirect case open(Opening)
        /// Start this attempt beside the current one, with a held request.
        indirect case openHedge(Opening)
        /// Release the held request.
        case release
        /// The WebSocket has opened too late for this turn: keep it for a later one.
        case park
        /// Write the request to the WebSocket that is open.
        case send
        /// Read the response; the request was sent at the attempt's start.
        case receive
        /// Deliver the delta's bytes from this offset on, or the whole tool call or raw event.
        case deliver(from: Int)
        /// Wait for this duration, then report `timerFired` with the opening's attempt.
        indirect case wait(Duration, then: Opening)
        /// Have the credential replaced, then report `credentialRefreshed` with the opening's attempt.
        indirect case refreshCredential(then: Opening)
        /// Report this text as a delta of the same slot, which was withheld before, and then the same input again.
        indirect case deliverWithheld(String)
        /// Tell the consumer that another answer replaces this text, deliver what of the answer has come
        /// (`Delivery.deliveredOutput`), and report the same input again.
        indirect case restart(deliveredText: String)
        /// Report to the consumer that the response is complete.
        case finish
        /// Cancel the current attempt, and end the stream with an error.
        indirect case fail(TurnFailure)
        /// Do nothing.
        case ignore
    }

    /// One attempt to be started.
    package struct Opening: Equatable, Sendable {
        /// The attempt's number; counts from 1 over the whole turn, for either transport.
        package let attempt: Int
        /// The transport to use.
        package let transport: ChappieTransportKind
        /// The reason for the attempt.
        package let reason: Reason
        /// The recovery step of the attempt.
        package let step: RecoveryStep

        /// Creates an opening.
        package init(attempt: Int, transport: ChappieTransportKind, reason: Reason, step: RecoveryStep = .first) {
            self.attempt = attempt
            self.transport = transport
            self.reason = reason
            self.step = step
        }

        /// Creates the first opening of a turn that continues a response; nil for any other turn.
        init?(first cursor: ResumeCursor?) {
            guard let cursor else { return nil }
            self.init(attempt: 1, transport: .httpSSE, reason: .first, step: .resume(cursor))
        }

        /// The recovery step that an attempt performs.
        package enum RecoveryStep: Equatable, Sendable {
            /// None: no attempt has failed after the request was sent.
            case first
            /// The request is sent again; no output was delivered.
            case again(carrying: Int = 0)
            /// The rest of the response is requested.
            case resume(ResumeCursor)
            /// The request is sent again, and the delivered output is compared.
            case verify(carrying: Int = 0)

            /// The number of finished items of the attempt before that go into the request's input.
            package var carriedItemCount: Int {
                switch self {
                case .first, .resume: 0
                case .again(let count), .verify(let count): count
                }
            }
        }

        /// The reason for an attempt.
        package enum Reason: Equatable, Sendable {
            /// The turn begins.
            case first
            /// The last one failed: a retry, with its number and the maximum on this transport.
            case reconnect(retry: Int, limit: Int, AttemptFailure)
            /// The turn left the WebSocket.
            case fallBack(AttemptFailure)
            /// The upgrade takes long.
            case hedge
            /// The connection that was lent had died: a fresh one takes its place, in the same attempt.
            case replacement
            /// The last one came too soon.
            case rateLimit(retry: Int, limit: Int, AttemptFailure)
            /// The last one's credential was not accepted, and there is a new one.
            case credential

            /// The failure of the last attempt, where it is the reason.
            package var failure: AttemptFailure? {
                switch self {
                case .reconnect(_, _, let failure), .fallBack(let failure), .rateLimit(_, _, let failure): failure
                case .first, .hedge, .replacement, .credential: nil
                }
            }
        }
    }
}

/// The reason for a turn's failure, by which the engine's public errors are chosen.
package enum TurnFailure: Error, Equatable, Sendable {
    /// The consumer has gone.
    case cancelled
    /// A replay contradicts the delivered output.
    case diverged
    /// The complete response is contradictory in itself.
    case rejected
    /// The last attempt has failed, and none follows it; the failure's class says what the caller can do.
    case failed(AttemptFailure)

    /// The last attempt's failure; nil for any other reason.
    package var cause: AttemptFailure? { if case .failed(let failure) = self { failure } else { nil } }
}
