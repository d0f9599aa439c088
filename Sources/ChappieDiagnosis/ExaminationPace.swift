import PathDiagnosis

/// The time limits of an examination.
struct ExaminationPace: Sendable {
    /// The limit of the whole.
    let total: Duration
    /// The limit of one step.
    let step: Duration
    /// The number of pings.
    let pingCount: Int
    /// The number of paced events.
    let eventCount: Int
    /// The time between two of them.
    let eventInterval: Duration
    /// The padding of each, in bytes.
    let paddingByteCount: Int

    /// The sizes of the messages that a probe server returns: the length of the one fits into two bytes of a frame's
    /// header (RFC 6455 section 5.2), the other is large.
    static let messageByteCounts = [65_000, 1 << 20]
    /// The time for the answer to a ping after a silence.
    static let holdAnswer = Duration.seconds(5)
    /// The longest silence.
    static let longestHold = Duration.seconds(600)

    /// The largest number of silences.
    private static let holdCount = 8

    /// Returns the silences that can be tried.
    static func admitted(_ holds: [Duration]) -> [Duration] {
        Array(holds.filter { (.seconds(1)...Self.longestHold).contains($0) }.prefix(Self.holdCount))
    }

    /// The least time for which a step is begun.
    static let shortest = Duration.milliseconds(200)
    /// The time after an opening handshake in which an immediate close is awaited.
    static let earlyClose = Duration.milliseconds(250)
}

extension ChappieDiagnosis.Extent {
    /// The time limits.
    var pace: ExaminationPace {
        switch self {
        case .fast:
            ExaminationPace(
                total: .seconds(5), step: .milliseconds(1_500), pingCount: 3, eventCount: 15,
                eventInterval: .milliseconds(100), paddingByteCount: 200)
        case .whole:
            ExaminationPace(
                total: .seconds(20), step: .seconds(4), pingCount: 10, eventCount: 40,
                eventInterval: .milliseconds(75), paddingByteCount: 400)
        }
    }
}
