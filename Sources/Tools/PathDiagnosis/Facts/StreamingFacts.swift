// The facts of the steps that a probe server answers. Values without an owner.

/// The facts of messages that a server returns.
package struct MessageFacts: Sendable, Equatable {
    /// The outcome of one message.
    package enum Echo: Sendable, Equatable {
        /// It came back unchanged, after this time.
        case returned(Duration)
        /// It came back changed, or could not be inflated.
        case damaged
        /// The WebSocket ended; the close code, 1006 for the end of TCP.
        case closed(code: UInt16)
        /// It did not come back in the step's time.
        case timedOut
        /// It did not come back in the step's time, for which the path is too slow: by the rate of an earlier message,
        /// or because its bytes were still arriving.
        case slow
        /// It did not come back in the step's time, and no time was left for a second attempt.
        case undecided
    }

    /// A message.
    package struct Message: Sendable, Equatable {
        /// Its size in bytes.
        package var byteCount: Int
        /// Its outcome.
        package var echo: Echo

        /// Creates a message.
        package init(byteCount: Int, echo: Echo) {
            self.byteCount = byteCount
            self.echo = echo
        }
    }

    /// The messages, in the order in which they were sent.
    package var messages: [Message]
    /// Indicates whether the WebSocket has compression.
    package var isCompressed: Bool

    /// Creates facts.
    package init(_ messages: [Message], isCompressed: Bool = false) {
        self.messages = messages
        self.isCompressed = isCompressed
    }

    /// Returns whether a message of this size may be on its way for longer than this time, at the rate of the last one.
    ///
    /// Half of the time is allowed for, because rates vary.
    package func isSlow(forMessageOf byteCount: Int, within duration: Duration) -> Bool {
        guard let last = self.messages.last, case .returned(let time) = last.echo else { return false }
        return time * byteCount / last.byteCount * 2 > duration
    }

    /// Indicates whether a message did not come back in time, for which a busy processor may be the cause as well.
    package var isLate: Bool { self.messages.contains { $0.echo == .timedOut } }

    /// Returns the facts after a second attempt, which is nil when there was no time for one.
    ///
    /// A message counts as lost when it was late twice: other programs may have had the processor during one attempt.
    /// An attempt ends with the first message that does not come back.
    package func confirmed(by second: Self?) -> Self {
        guard self.isLate else { return self }
        guard let second, second.messages.count >= self.messages.count else { return self.undecided }
        guard second.isLate else { return second }
        return second.messages.count == self.messages.count ? self : second.undecided
    }

    /// The facts with late messages as undecided ones.
    private var undecided: Self {
        var facts = self
        for index in facts.messages.indices where facts.messages[index].echo == .timedOut {
            facts.messages[index].echo = .undecided
        }
        return facts
    }
}

/// The facts of an event stream whose events are sent at a known pace.
package struct EventStreamFacts: Sendable, Equatable {
    /// One event.
    package struct Arrival: Sendable, Equatable {
        /// The time of sending by the server's clock, from that of the first event.
        package var sent: Duration
        /// The time of arrival, from the request.
        package var received: Duration
        /// The number of bytes of the stream up to the end of the event.
        package var byteCount: Int

        /// Creates an arrival.
        package init(sent: Duration, received: Duration, byteCount: Int) {
            self.sent = sent
            self.received = received
            self.byteCount = byteCount
        }
    }

    /// The end of the stream.
    package enum End: Sendable, Equatable {
        /// All events arrived.
        case complete
        /// Another status code than 200.
        case refused(statusCode: Int)
        /// Another content type than that of event streams; whether it is that of a page for a browser.
        case otherType(isPage: Bool)
        /// More arrived than was asked for.
        case excessive
        /// The connection was cut.
        case cut
        /// The step's time was over.
        case timedOut
    }

    /// The time from the request to the head; nil when none arrived.
    package var head: Duration?
    /// The events that arrived.
    package var arrivals: [Arrival]
    /// The end.
    package var end: End
    /// The number of events that were asked for; nil when it is not known.
    package var askedCount: Int?
    /// The general content type of a stream that was recognised by its beginning, such as `text/plain`; nil for one with
    /// its own type.
    package var generalType: String?
    /// The time between the last bytes and the end of the step's time; zero where the stream has ended before.
    package var silence = Duration.zero

    /// Creates facts.
    package init(head: Duration?, arrivals: [Arrival], end: End, askedCount: Int? = nil) {
        self.head = head
        self.arrivals = arrivals
        self.end = end
        self.askedCount = askedCount
    }

    /// Indicates whether no event is missing.
    ///
    /// The end of the connection ends the stream, so that a cut looks like its end, and an end without TLS's
    /// `close_notify` like a cut: the number of events decides where it is known.
    package var isComplete: Bool {
        self.askedCount.map { self.arrivals.count >= $0 } ?? (self.end == .complete)
    }
}

/// The facts of idle connections.
package struct IdleFacts: Sendable, Equatable {
    /// One idle connection.
    package struct Hold: Sendable, Equatable {
        /// The time for which it was to be held.
        package var asked: Duration
        /// Indicates whether it is a WebSocket, or an HTTP exchange otherwise.
        package var isWebSocket: Bool
        /// The time after which it was cut; nil when it lived.
        package var cut: Duration?
        /// The answer that came before the silence was over; nil for none.
        package var answer: EarlyAnswer?

        /// Creates a hold.
        package init(asked: Duration, isWebSocket: Bool, cut: Duration? = nil) {
            self.asked = asked
            self.isWebSocket = isWebSocket
            self.cut = cut
        }

        /// The time by which an answer may come before the end of its silence.
        private static let tolerance = Duration.milliseconds(100)
        /// The time from which another status code than 200 is that of a gateway that has given up.
        private static let patience = Duration.seconds(1)

        /// Notes an answer, with the time since the request; the probe server counts in whole seconds.
        ///
        /// An answer that comes at once tells nothing about silences.
        package mutating func noteAnswer(statusCode: Int, after time: Duration) {
            let isEarly = time + Self.tolerance < .seconds(self.asked.components.seconds)
            if statusCode != 200, time >= Self.patience {
                self.cut = time
            } else if statusCode != 200 || isEarly {
                self.answer = EarlyAnswer(statusCode: statusCode, time: time)
            }
        }
    }

    /// An answer to an HTTP exchange before its silence was over.
    package struct EarlyAnswer: Sendable, Equatable {
        /// The status code.
        package var statusCode: Int
        /// The time since the request.
        package var time: Duration
    }

    /// The connections.
    package var holds: [Hold]

    /// Creates facts.
    package init(_ holds: [Hold]) {
        self.holds = holds
    }
}
