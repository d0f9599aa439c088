// What the turn's state machine asks its driver to do: values, so that a test compares them.

extension TurnStateMachine {
    /// Whether a turn may use a WebSocket.
    package enum WebSocketAvailability: Sendable, Equatable, CaseIterable {
        /// Nothing is known against it.
        case available
        /// An earlier turn of the instance has found that it does not work here.
        case condemned
        /// This turn's request is larger than a message may be.
        case requestTooLarge
        /// This turn's response is made in background, which only HTTP can ask for.
        case background
    }

    /// What to do with an event, by its number.
    package enum NumberedEvent: Equatable, Sendable {
        /// Read it.
        case read
        /// Read it, and tell that numbers are missing before it.
        case readBehindGap
        /// Nothing: it has come before.
        case skip
        /// Nothing: the attempt has ended with it, for this reason, and this follows.
        case end(AttemptFailure?, Action)
    }

    /// What the driver must do after one input.
    ///
    /// What is more than a number stands apart from it, because most answers are one: that a delta is to be delivered.
    package enum Action: Equatable, Sendable {
        /// Start this attempt.
        indirect case open(Opening)
        /// Start this attempt beside the one that runs, with a request that is held.
        indirect case openHedge(Opening)
        /// Let the held request go.
        case release
        /// The WebSocket has opened too late for this turn: keep it for a later one.
        case park
        /// Write the request to the WebSocket that is open.
        case send
        /// Read the response; the request went out with the attempt's start.
        case receive
        /// Give the consumer the delta's bytes from this offset on, or the tool call or the raw event whole.
        case deliver(from: Int)
        /// Let so much time pass, then report `timerFired` with the opening's attempt.
        indirect case wait(Duration, then: Opening)
        /// Have the credential replaced, then report `credentialRefreshed` with the opening's attempt.
        indirect case refreshCredential(then: Opening)
        /// Tell the consumer that the response is complete.
        case finish
        /// Cancel the attempt that runs, and end the stream with an error.
        indirect case fail(TurnFailure)
        /// Nothing.
        case ignore
    }

    /// One attempt to be started.
    package struct Opening: Equatable, Sendable {
        /// Counts from 1 over the whole turn, whatever the transport.
        package let attempt: Int
        /// The transport to use.
        package let transport: TransportKind
        /// Why there is an attempt.
        package let reason: Reason
        /// What is asked for.
        package let rung: Rung

        /// An attempt.
        package init(attempt: Int, transport: TransportKind, reason: Reason, rung: Rung = .first) {
            self.attempt = attempt
            self.transport = transport
            self.reason = reason
            self.rung = rung
        }

        /// The rung of the recovery ladder that an attempt stands on.
        package enum Rung: Equatable, Sendable {
            /// None: nothing has failed after the request was sent.
            case first
            /// The request is sent again; nothing was delivered.
            case again(carrying: Int = 0)
            /// The rest of the response is asked for.
            case resume(ResumeCursor)
            /// The request is sent again, and what was delivered is compared.
            case verify(carrying: Int = 0)

            /// How many finished items of the attempt before go into the request's input.
            package var carriedItemCount: Int {
                switch self {
                case .first, .resume: 0
                case .again(let count), .verify(let count): count
                }
            }
        }

        /// Why there is an attempt.
        package enum Reason: Equatable, Sendable {
            /// The turn begins.
            case first
            /// The last one failed: retry so-and-so-many of how many there may be on this transport.
            case reconnect(retry: Int, limit: Int, AttemptFailure)
            /// The WebSocket was given up.
            case fallBack(AttemptFailure)
            /// The upgrade takes long.
            case hedge
            /// The connection that was lent had died: a fresh one takes its place, in the same attempt.
            case replacement
            /// The last one came too soon.
            case rateLimit(retry: Int, limit: Int)
            /// The last one's credential was not accepted, and there is a new one.
            case credential
        }
    }
}

/// How a turn failed.
package struct TurnFailure: Error, Equatable, Sendable {
    /// What kind of end it is; the engine's public errors are chosen by it.
    package enum Kind: String, Sendable, Equatable, CaseIterable {
        /// The retries are used up.
        case exhausted
        /// A replay contradicts what was delivered.
        case diverged
        /// Another attempt would fail in the same way.
        case fatal
        /// The server still asks for fewer requests.
        case throttled
        /// The account's usage is spent.
        case usageLimit
        /// The credential is not accepted.
        case credential
        /// What could be tried is not allowed: the policy forbids to send the request again.
        case notRecovered
        /// The consumer has gone.
        case cancelled
    }

    /// What kind of end it is.
    package let kind: Kind
    /// What the last attempt ended with; nil for a divergence and for a cancelled turn.
    package let failure: AttemptFailure?

    /// A failure.
    package init(_ kind: Kind, _ failure: AttemptFailure? = nil) {
        self.kind = kind
        self.failure = failure
    }
}

/// Whether sending the request again is safe.
package enum ReplaySafety: String, Sendable, Equatable, CaseIterable {
    /// The server has not seen the whole request.
    case notSent
    /// The server may have seen it, and nothing of its answer was delivered.
    case sentNoOutput
    /// Output was delivered, or a tool has run: another answer may differ.
    case outputDelivered
    /// The response was complete.
    case completed
}
