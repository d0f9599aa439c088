// Clamps a caller's numbers to ranges in which arithmetic of time and memory cannot overflow. Pure.

extension Duration {
    /// The longest time of any wait: 100 years.
    ///
    /// Sums of such times with the time since the start of the process, in nanoseconds too, stay far below their types'
    /// limits.
    package static let longestWait: Duration = .seconds(3_155_760_000)

    /// The duration, clamped to the range from zero to `longestWait`.
    package var bounded: Duration { min(max(.zero, self), .longestWait) }
}

extension Int {
    /// The largest byte count of a limit: 1 TiB.
    package static let largestByteCount = 1 << 40

    /// The number, clamped to the range from zero to `largestByteCount`.
    package var boundedByteCount: Int { Swift.min(Swift.max(0, self), .largestByteCount) }
}
