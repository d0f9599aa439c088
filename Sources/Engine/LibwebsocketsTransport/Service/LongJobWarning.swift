// Warnings for the developer of a program: a task blocks or computes on a service thread. Debug builds only.

#if DEBUG
    import PlatformC
    import StreamTransport

    /// The warnings about tasks that hold a service thread for long: one about a task that computes and one about a
    /// task that blocks, each given once in a process.
    ///
    /// A thread that a debugger or a signal stops looks like a blocked one: no clock of the system tells them apart.
    /// Such a stop does not use up the warning about a task that computes.
    struct LongJobWarning: Sendable {
        /// A thread's time in nanoseconds: an instant, or the time between two.
        struct Time: Sendable {
            /// The time on the clock.
            var elapsed: Int64
            /// The time for which the thread has run on a processor.
            var processor: Int64

            /// The present time of the current thread.
            static var now: Self {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                return Self(
                    elapsed: Moment.now.nanoseconds,
                    processor: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
            }

            static func - (time: Self, start: Self) -> Self {
                Self(elapsed: time.elapsed &- start.elapsed, processor: time.processor &- start.processor)
            }
        }

        /// The shortest time of a job, in nanoseconds, that is reported.
        ///
        /// A hundred times the time for which a round runs jobs: a thread that waits for a core seldom takes as long.
        static let limit: Int64 = 100 * Service.jobNanoseconds

        /// The process's warnings.
        private static let shared = LockedValue(LongJobWarning())

        private var isComputingReported = false
        private var isBlockingReported = false

        /// Writes a warning to standard error, in one piece, if a job that began at `start` is the first of its kind.
        static func jobEnded(begunAt start: Time) {
            let time = Time.now - start
            guard time.elapsed >= Self.limit || time.processor >= Self.limit,
                let text = Self.shared.withLock({ $0.text(after: time) })
            else { return }
            let bytes = Array(text.utf8)
            bytes.withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }

        /// Returns the text about a job that took this time; nil for a short one, and for all but the first of a kind.
        mutating func text(after time: Time) -> String? {
            if time.processor >= Self.limit {
                guard !self.isComputingReported else { return nil }
                self.isComputingReported = true
                return Self.text("a task computed on a service thread for \(time.processor / 1_000_000) ms")
            }
            guard time.elapsed >= Self.limit, !self.isBlockingReported else { return nil }
            self.isBlockingReported = true
            let milliseconds = time.elapsed / 1_000_000
            return Self.text(
                "a task blocked a service thread for \(milliseconds) ms, unless a debugger or a signal stopped it")
        }

        private static func text(_ fact: String) -> String {
            """
            ChappieTransport: \(fact). The thread served no connection meanwhile. Tasks that block or compute for long \
            should not prefer the transport's executor. Further ones are not reported.

            """
        }
    }
#endif
