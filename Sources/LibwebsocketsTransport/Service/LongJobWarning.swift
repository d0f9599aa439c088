// A warning for the developer of a program: a task blocks or computes on a service thread. Debug builds only.

#if DEBUG
    import PlatformC
    import StreamTransport

    /// The warning about a task that holds a service thread for long, given once in a process.
    struct LongJobWarning: Sendable {
        /// The shortest duration of a job, in nanoseconds, that is reported.
        ///
        /// A hundred times the time for which a round runs jobs: a thread that waits for a core seldom takes as long.
        static let limit: Int64 = 100 * Service.jobNanoseconds

        /// The process's warning.
        private static let shared = LockedValue(LongJobWarning())

        private var isGiven = false

        /// Writes the warning to standard error, in one piece, if a job that began at `start` is the first long one.
        static func jobEnded(begunAt start: Moment) {
            let duration = Moment.now.nanoseconds(since: start)
            guard duration >= Self.limit, let text = Self.shared.withLock({ $0.text(after: duration) }) else { return }
            let bytes = Array(text.utf8)
            bytes.withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }

        /// Returns the text about a job with a duration in nanoseconds; nil for a short one, and for all but the first.
        mutating func text(after duration: Int64) -> String? {
            guard duration >= Self.limit, !self.isGiven else { return nil }
            self.isGiven = true
            return """
                ChappieTransport: a task held a service thread for \(duration / 1_000_000) ms, in which the thread served \
                no connection. Tasks that block or compute for long should not prefer the transport's executor. Further \
                ones are not reported.

                """
        }
    }
#endif
