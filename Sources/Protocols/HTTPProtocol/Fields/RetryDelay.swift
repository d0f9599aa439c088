// The delay that a server asks for in header fields. Pure; time comes in.

/// The delay that a server asks for before the next attempt, in milliseconds from 0 to a year.
package enum RetryDelay {
    /// The longest delay; a longer one is reduced to it.
    package static let maximum = 365 * 24 * 3_600 * 1_000

    /// Reads `retry-after-ms`, or else `Retry-After` as decimal seconds or a date (RFC 9110 section 10.2.3).
    ///
    /// `now` is in seconds since 1970. A time in the past, and a negative delay, are 0.
    package static func milliseconds(headers: [(name: String, value: String)], now: Int) -> Int? {
        if let text = headers.firstValue(named: "retry-after-ms"), let delay = Double(finite: text) {
            return self.clamped(delay)
        }
        guard let text = headers.firstValue(named: "retry-after") else { return nil }
        if let seconds = Double(finite: text) { return self.clamped(seconds * 1_000) }
        guard let date = HTTPDate.secondsSince1970(String(text.withoutSurroundingSpace), now: now) else { return nil }
        return self.clamped((Double(date) - Double(now)) * 1_000)
    }

    /// Returns a delay within the range, rounded up; nil for NaN.
    package static func clamped(_ milliseconds: Double) -> Int? {
        guard !milliseconds.isNaN else { return nil }
        let whole = Int(min(max(milliseconds, 0), Double(self.maximum)))
        // A delay that was rounded down would be too short.
        return Double(whole) < milliseconds ? min(whole + 1, self.maximum) : whole
    }
}
