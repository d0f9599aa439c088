// Time, repetitions, and the core that they run on.

import CMachine

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Which clock the figures are of.
enum Clock: String {
    /// The processor time of the thread, which does not run while somebody else has the core.
    case thread
    /// The time of the world.
    case wall

    /// The time, in seconds.
    var now: Double {
        var time = timespec()
        clock_gettime(self == .thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How long an action takes, in seconds.
    func measure<Failure: Error>(_ action: () throws(Failure) -> Void) throws(Failure) -> Double {
        let start = self.now
        try action()
        return self.now - start
    }
}

/// The times of several repetitions of the same thing, in seconds.
struct Timing {
    /// All of them, in the order in which they were measured.
    private(set) var times: [Double] = []

    /// Adds a repetition.
    mutating func add(_ time: Double) {
        self.times.append(time)
    }

    /// The shortest.
    var best: Double { self.times.min() ?? .infinity }
}

/// Keeps the thread on one core: the one that is named, or the one it is on.
///
/// - Returns: the core; nil when there is no such core, or the system does not do it
func pinToCore(_ wanted: Int?) -> Int? {
    let core = cmachine_pin_to_core(wanted.flatMap { CInt(exactly: $0) } ?? -1)
    return core < 0 ? nil : Int(core)
}
