// Time, repetitions, and the core of the thread.

import CMachine

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Times passes by the processor time of the thread, which does not run while another program has the core.
struct Stopwatch {
    /// The least number of passes.
    let least: Int

    /// The seconds for which passes are repeated beyond that, and the most passes.
    private static let (duration, most) = (0.1, 60)

    /// Returns the speed of each pass over `byteCount` bytes, in bytes a second; a pass returns its seconds.
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

    /// Returns the time of an action in seconds.
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

/// Keeps the thread on one core: the wanted one, or the one that it is on.
func pinToCore(_ wanted: Int?) {
    cmachine_pin_to_core(wanted.flatMap { CInt(exactly: $0) } ?? -1)
}
