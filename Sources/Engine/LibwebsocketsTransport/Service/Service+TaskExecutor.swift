import StreamTransport

/// The service thread as an executor: tasks that prefer it run between its rounds.
///
/// A round runs the jobs that it has made ready before it sleeps, so that an event wakes no other thread, and its
/// consumer finds the memory that the event has touched in the cache.
extension Service: TaskExecutor {
    /// The time for which a round runs jobs, in nanoseconds; then the sockets come first.
    ///
    /// A job is not interrupted, so that a round lasts as long as its last job besides; a debug build warns of a long one.
    static let jobNanoseconds: Int64 = 1_000_000

    /// Queues a job; any thread may call it.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The round that runs the current job, or has resumed a consumer, runs this one as well.
        if self.isCurrent { self.jobs.append(job) } else { self.post(.run(job)) }
    }

    /// Indicates whether a round has something to do beside its sockets.
    private var hasWork: Bool { !(self.jobs.isEmpty && self.ownCommands.isEmpty && self.waking.isEmpty) }

    /// Runs jobs, performs their commands and resumes the consumers that these have news for, until nothing is left or
    /// the time is over.
    func runJobs() {
        guard self.hasWork else { return }
        let end = Moment.now.advanced(byNanoseconds: Self.jobNanoseconds)
        repeat {
            self.perform(self.ownCommands.take())
            self.resumeWaiters()
            self.resumeCloseWaiters()
            self.runJobs(until: end)
        } while self.hasWork && Moment.now < end
        if self.hasWork { self.wakeUp() }
    }

    private func runJobs(until end: Moment) {
        var count = 0
        // Jobs may append others.
        while count < self.jobs.count {
            let job = self.jobs[count]
            count += 1
            self.run(job)
            if count < self.jobs.count, Moment.now >= end { break }
        }
        self.jobs.removeFirst(count)
    }

    @inline(__always)
    private func run(_ job: UnownedJob) {
        #if DEBUG
            let start = LongJobWarning.Time.now
            defer { LongJobWarning.jobEnded(begunAt: start) }
        #endif
        job.runSynchronously(on: self.asUnownedTaskExecutor())
    }
}
