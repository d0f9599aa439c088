/// The durations of a measurement's rounds, and the lateness of a plain sleep behind each.
///
/// The other work of a machine changes from moment to moment: samples behind every round are of the rounds' time, and
/// samples behind the last one are not.
struct MeasuredRounds {
    private var durations: [Duration] = []
    private var lateness: [Duration] = []

    /// The shortest duration; nil before the first round.
    var shortest: Duration? { self.durations.min() }

    /// Returns the median duration without the median lateness of a number of wake-ups; there has to be a round.
    func median(withoutLatenessOf wakeUpCount: Int) -> Duration {
        let durations = self.durations.sorted()
        let lateness = self.lateness.sorted()
        return durations[durations.count / 2] - lateness[lateness.count / 2] * wakeUpCount
    }

    /// Adds a round, and measures the lateness of a sleep.
    mutating func add(_ duration: Duration) async {
        self.add(duration, lateness: await Stopwatch.lateness())
    }

    /// Adds a round with the lateness that was measured behind it.
    mutating func add(_ duration: Duration, lateness: Duration) {
        self.durations.append(duration)
        self.lateness.append(lateness)
    }
}
