import PlatformC

/// An instant of the clock that also advances while the machine is asleep, in nanoseconds.
///
/// It is what events are timed with: 8 bytes and plain arithmetic, where `ContinuousClock.Instant` and `Duration` have
/// 128 bits, and their arithmetic is a function call. Arithmetic saturates, at 292 years from the clock's zero. It is
/// comparable with other moments of the same process only.
@usableFromInline package struct Moment: Comparable, Hashable, Sendable {
    /// The time since the clock's zero, in nanoseconds.
    @usableFromInline package let nanoseconds: Int64

    /// Creates the moment that is this many nanoseconds after the clock's zero.
    @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The present time.
    package static var now: Moment {
        var time = timespec()
        // The clock of `ContinuousClock`.
        #if os(Linux)
            unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            unsafe clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #endif
        return Moment(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    @inlinable package static func < (first: Moment, second: Moment) -> Bool { first.nanoseconds < second.nanoseconds }

    /// Returns the moment that is this many nanoseconds later.
    @inlinable package func advanced(byNanoseconds nanoseconds: Int64) -> Moment {
        let (sum, overflows) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return Moment(nanoseconds: overflows ? (nanoseconds < 0 ? .min : .max) : sum)
    }

    /// Returns the time since an earlier moment, in nanoseconds; it is negative for a later one.
    @inlinable package func nanoseconds(since start: Moment) -> Int64 {
        let (difference, overflows) = self.nanoseconds.subtractingReportingOverflow(start.nanoseconds)
        return overflows ? (start.nanoseconds < 0 ? .max : .min) : difference
    }

    /// The lateness of a check that shows that the process was stopped, or the machine asleep.
    ///
    /// A process that runs is late by milliseconds, and a busy one by less than this.
    package static let latenessOfStop = Duration.seconds(1)

    /// The time since the clock's zero.
    package var sinceZero: Duration { self - Moment(nanoseconds: 0) }

    package static func + (moment: Moment, duration: Duration) -> Moment {
        moment.advanced(byNanoseconds: duration.nanoseconds)
    }

    package static func - (moment: Moment, duration: Duration) -> Moment {
        moment.advanced(byNanoseconds: (.zero - duration).nanoseconds)
    }

    package static func - (moment: Moment, start: Moment) -> Duration {
        // `Duration.nanoseconds(_:)` is generic, and not specialised.
        Duration(attoseconds: Int128(moment.nanoseconds(since: start)) * 1_000_000_000)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded up, so that no wait is too short; a longer one than 292 years is
    /// taken for that.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        // Both parts have the same sign: towards zero is up for a negative one.
        let part = attoseconds > 0 ? (attoseconds - 1) / 1_000_000_000 + 1 : attoseconds / 1_000_000_000
        let (sum, isTooLong) = whole.addingReportingOverflow(part)
        return isTooLong ? (seconds < 0 ? .min : .max) : sum
    }
}
