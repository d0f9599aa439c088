// The time between pieces of output, and reports of several responses as one. Values.

extension ChappieStreamReport {
    /// The time from one batch of output to the next, in seconds.
    ///
    /// A batch is the result of one read of the connection: one delta of a slow model, and many of a fast one. The time
    /// that the consumer takes for a batch does not count; a reconnection does.
    public struct OutputGaps: Sendable, Equatable, Codable {
        /// The number of gaps.
        public let count: Int
        /// The longest gap.
        public let longest: Double
        /// The mean gap.
        public let mean: Double
        /// The median gap, rounded up to a bound of the histogram.
        public let p50: Double
        /// The 99th percentile of the gaps, rounded up to a bound of the histogram.
        public let p99: Double
        /// The number of gaps up to each of `bounds` and above the one before; at the end, the longer ones.
        public let histogram: [Int]

        /// The bounds of the histogram.
        public static let bounds = [
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60,
        ]

        init(histogram: [Int], total: Double, longest: Double) {
            let count = histogram.reduce(0, +)
            self.count = count
            self.longest = longest
            self.mean = count == 0 ? 0 : total / Double(count)
            self.p50 = Self.quantile(0.5, of: histogram, longest: longest)
            self.p99 = Self.quantile(0.99, of: histogram, longest: longest)
            self.histogram = histogram
        }

        /// Returns the bound below which a fraction of the gaps lies.
        private static func quantile(_ part: Double, of histogram: [Int], longest: Double) -> Double {
            let wanted = (part * Double(histogram.reduce(0, +))).rounded(.up)
            var seen = 0
            for (count, bound) in zip(histogram, Self.bounds) {
                seen += count
                if Double(seen) >= wanted { return min(bound, longest) }
            }
            return longest
        }

        /// Returns the gaps of both together.
        func adding(_ other: Self) -> Self {
            let length = max(self.histogram.count, other.histogram.count)
            let sums = (0..<length).map { index in
                (index < self.histogram.count ? self.histogram[index] : 0)
                    + (index < other.histogram.count ? other.histogram[index] : 0)
            }
            return Self(
                histogram: sums,
                total: self.mean * Double(self.count) + other.mean * Double(other.count),
                longest: max(self.longest, other.longest))
        }
    }

    /// Appends the report of the next response to this one.
    ///
    /// Numbers of attempts continue. The names of the request are this report's, if it has one.
    package mutating func append(_ other: Self) {
        let count = self.attempts.map(\.number).max() ?? 0
        self.replaySafety = self.isBlank ? other.replaySafety : self.replaySafety.followed(by: other.replaySafety)
        if self.requestID.isEmpty { self.requestID = other.requestID }
        self.attempts += other.attempts.map { attempt in
            var attempt = attempt
            attempt.number += count
            return attempt
        }
        self.reconnects += other.reconnects
        self.fallbackReason = self.fallbackReason ?? other.fallbackReason
        self.pathTimeLimit = self.pathTimeLimit ?? other.pathTimeLimit
        self.endedWithoutTerminalEvent = other.endedWithoutTerminalEvent
        self.verifiedReplayByteCount += other.verifiedReplayByteCount
        self.gaps = self.gaps.map { gaps in other.gaps.map(gaps.adding) ?? gaps } ?? other.gaps
    }

    /// Indicates whether the report is empty.
    private var isBlank: Bool { self.attempts.isEmpty && self.replaySafety == .notSent }
}

extension ChappieReplaySafety {
    /// Returns the safety of sending a turn again after this state and then another one.
    ///
    /// After a complete response, output was delivered; the turn is complete with its last response.
    fileprivate func followed(by next: Self) -> Self {
        switch (self, next) {
        case (_, .completed): .completed
        case (.completed, _), (.outputDelivered, _), (_, .outputDelivered): .outputDelivered
        case (.sentNoOutput, _), (_, .sentNoOutput): .sentNoOutput
        case (.notSent, .notSent): .notSent
        }
    }
}
