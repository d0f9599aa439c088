// Numbers of a caller's, brought into the range in which the arithmetic of time and memory cannot overflow. Pure.

extension Duration {
    /// The longest time that anything waits: 100 years.
    ///
    /// Sums of such times with the time since the start of the process, in nanoseconds too, stay far below their types'
    /// limits.
    package static let longestWait: Duration = .seconds(3_155_760_000)

    /// The duration, at least zero and at most `longestWait`.
    package var bounded: Duration { min(max(.zero, self), .longestWait) }
}

extension Int {
    /// The largest count of bytes that a limit can mean: 1 TiB.
    package static let largestByteCount = 1 << 40

    /// The number, at least zero and at most `largestByteCount`.
    package var boundedByteCount: Int { Swift.min(Swift.max(0, self), .largestByteCount) }
}
