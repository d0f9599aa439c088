import StreamTransport

/// Counts what a hub has journaled and taken over, for its operator.
///
/// May be used from any task.
package final class HubMeter: Sendable {
    /// The counts at one moment, since the hub was made.
    package struct Counts: Sendable, Equatable {
        /// The upper bounds of the ranges of durations, in milliseconds; the last range has none.
        package static let bounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

        /// The number of appends in each range of durations, the last one without a bound.
        package var appends = [Int](repeating: 0, count: Self.bounds.count + 1)
        /// The time of all appends together.
        package var appendTime = Duration.zero
        /// The number of streams that were taken from another process, or from this one before it was started.
        package var takeovers = 0

        package var appendCount: Int { self.appends.reduce(0, +) }

        /// Counts an append.
        mutating func appended(in duration: Duration) {
            let range = Self.bounds.firstIndex { duration <= .milliseconds($0) } ?? Self.bounds.count
            self.appends[range] += 1
            self.appendTime += duration
        }

        /// Returns the bound of the range that a share of all appends is not above, in milliseconds; nil without an
        /// append, and where that range has no bound.
        package func bound(ofShare share: Double) -> Int? {
            let wanted = (Double(self.appendCount) * share).rounded(.up)
            var count = 0
            for (bound, appends) in zip(Self.bounds, self.appends) {
                count += appends
                if count > 0, Double(count) >= wanted { return bound }
            }
            return nil
        }
    }

    private let state = LockedValue(Counts())

    var counts: Counts { self.state.withLock { $0 } }

    func appended(in duration: Duration) { self.state.withLock { $0.appended(in: duration) } }

    func tookOver() { self.state.withLock { $0.takeovers += 1 } }
}

extension ChappieHub {
    /// A stream that this process makes, for its operator.
    package struct RunningStream: Sendable {
        package var id: ChappieStreamID
        /// The time since this process has begun to make it.
        package var age: Duration
        /// The position of the newest record that readers can have.
        package var lastPosition: Int
        /// The number of readers in this process.
        package var readerCount: Int
        /// The time for which the oldest record has waited that the upstream has sent and the journal does not have.
        package var lag: Duration
    }

    /// The counts of the journal and of takeovers.
    package var counts: HubMeter.Counts { self.parts.meter.counts }

    /// The streams that this process makes now, the oldest first.
    package var runningStreams: [RunningStream] {
        let running = self.state.withLock { state in state.producers.map { ($0.value, state.tails[$0.key]) } }
        return running.map { producer, tail in
            RunningStream(
                id: producer.id, age: producer.start.duration(to: .now), lastPosition: tail?.last ?? 0,
                readerCount: tail?.readerCount ?? 0, lag: producer.lag)
        }.sorted { $0.age > $1.age }
    }
}
