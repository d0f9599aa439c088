import PathDiagnosis

/// The time limits of an examination.
struct ExaminationPace: Sendable {
    /// The limit of the whole.
    let total: Duration
    /// The limit of one step.
    let step: Duration
    /// The number of pings.
    let pingCount: Int

    /// The least time for which a step is begun.
    static let shortest = Duration.milliseconds(200)
    /// The time after an opening handshake in which an immediate close is awaited.
    static let earlyClose = Duration.milliseconds(250)
}

extension ChappieDiagnosis.Extent {
    /// The time limits.
    var pace: ExaminationPace {
        switch self {
        case .fast: ExaminationPace(total: .seconds(5), step: .milliseconds(1_500), pingCount: 3)
        case .whole: ExaminationPace(total: .seconds(20), step: .seconds(4), pingCount: 10)
        }
    }
}
