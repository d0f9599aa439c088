// Time, repetitions, and the core that they run on.

import CMachine

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Times passes by the processor time of the thread, which does not run while another program has the core.
struct Stopwatch {
    /// How many passes there are at least.
    let least: Int

    /// How long passes are repeated beyond that, in seconds, and how many there are at most.
    private static let (duration, most) = (0.1, 60)

    /// The speed of each pass over so many bytes, in bytes a second; a pass says its seconds.
    func speeds(of byteCount: Int, _ pass: () throws -> Double) rethrows -> [Double] {
        var speeds: [Double] = []
        var sum = 0.0
        while speeds.count < self.least || speeds.count < Self.most && sum < Self.duration {
            let seconds = try pass()
            sum += seconds
            speeds.append(Double(byteCount) / seconds)
        }
        return speeds
    }

    /// How long an action takes, in seconds.
    static func measure<Failure: Error>(_ action: () throws(Failure) -> Void) throws(Failure) -> Double {
        let start = self.now
        try action()
        return self.now - start
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Keeps the thread on one core: the one that is named, or the one it is on.
func pinToCore(_ wanted: Int?) {
    cmachine_pin_to_core(wanted.flatMap { CInt(exactly: $0) } ?? -1)
}
