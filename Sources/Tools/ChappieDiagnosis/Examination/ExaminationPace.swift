import PathDiagnosis

/// The time limits of an examination.
struct ExaminationPace: Sendable {
    /// The time after which nothing goes on but an answer's margins, which are less than half a second.
    let total: Duration
    /// The limit of one step.
    ///
    /// A step is begun only while that much is left, so that a step without an answer has waited for all of it.
    let step: Duration
    /// The limit of the first answer of a server, which may be slow; later ones may take twice its time.
    let answer: Duration
    /// The number of pings.
    let pingCount: Int
    /// The number of paced events.
    let eventCount: Int
    /// The time between two of them.
    let eventInterval: Duration
    /// The padding of each, in bytes.
    ///
    /// A buffer of 4 KiB, such as nginx has, must hold events for more than a second, and 8 KiB must not hold all.
    let paddingByteCount: Int

    /// The sizes of the messages that a probe server returns.
    ///
    /// The first one passes a limit of 64 KiB, with the header of its frame, and its length fits into two bytes of that
    /// (RFC 6455 section 5.2). The second one is large.
    static let messageByteCounts = [63 << 10, 1 << 20]
    /// The most time for a TLS handshake with a server whose URL has none, and for CONNECT with a proxy of another
    /// scheme.
    static let otherScheme = Duration.seconds(2)
    /// The time that may pass between the waits of successive steps.
    static let betweenSteps = Duration.milliseconds(100)
    /// The least time for the answer to a ping.
    static let pingAnswer = Duration.seconds(1)
    /// The time for the answer to a ping after a silence.
    static let holdAnswer = Duration.seconds(5)
    /// The time before a message's deadline in which arriving bytes show that it is slow, and not lost.
    static let progress = Duration.milliseconds(500)
    /// The longest silence.
    static let longestHold = Duration.seconds(600)

    /// The largest number of silences.
    private static let holdCount = 8

    /// Returns the silences that can be tried.
    static func admitted(_ holds: [Duration]) -> [Duration] {
        Array(holds.filter { (.seconds(1)...Self.longestHold).contains($0) }.prefix(Self.holdCount))
    }

    /// The time that an event stream takes, and its first event at most.
    var streamDuration: Duration { self.eventInterval * self.eventCount + self.step }

    /// Returns the time for a step, when so much is left, after a first answer that took `slow`, which is zero before
    /// it; nil when that is too little.
    func budget(withLeft left: Duration, after slow: Duration) -> Duration? {
        left < self.step ? nil : max(self.step, min(left, slow * 2))
    }

    /// Returns the time for the first answer, when so much is left: as much as the question for responses and the
    /// opening handshake do not need; nil when that is too little.
    func patience(withLeft left: Duration) -> Duration? {
        left < self.step ? nil : max(self.step, min(self.answer, left - self.step * 2 - Self.betweenSteps))
    }

    /// Returns the time for the look-up, when so much is left: as much as one step does not need; nil when that is too
    /// little.
    ///
    /// glibc asks the next name server after five seconds, and gives up a question for IPv6 addresses without an answer
    /// after fifteen.
    func lookUp(withLeft left: Duration) -> Duration? {
        left < self.step ? nil : max(self.step, left - self.step - Self.betweenSteps)
    }

    /// Returns the time for a second attempt at messages that were late, when so much is left; nil when that is too
    /// little.
    ///
    /// It is longer than the first as far as the event stream leaves time, because a processor that was busy may still
    /// be.
    func repetition(withLeft left: Duration) -> Duration? {
        guard left >= self.step else { return nil }
        return max(self.step, min(self.step * 3, left - self.streamDuration))
    }

    /// The time after an opening handshake in which an immediate close is awaited.
    static let earlyClose = Duration.milliseconds(250)
}

extension ChappieDiagnosis.Extent {
    /// The time limits.
    var pace: ExaminationPace {
        switch self {
        case .fast:
            ExaminationPace(
                total: .milliseconds(4_600), step: .milliseconds(1_500), answer: .milliseconds(1_500), pingCount: 3,
                eventCount: 15,
                eventInterval: .milliseconds(100), paddingByteCount: 200)
        case .whole:
            ExaminationPace(
                total: .milliseconds(19_600), step: .seconds(4), answer: .seconds(11), pingCount: 10, eventCount: 40,
                eventInterval: .milliseconds(75), paddingByteCount: 200)
        }
    }
}
