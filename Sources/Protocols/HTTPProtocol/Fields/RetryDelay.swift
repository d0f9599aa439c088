// The delay that a server asks for in header fields. Pure; time comes in.

/// The delay that a server asks for before the next attempt, in milliseconds from 1 to a year.
///
/// A delay of 0, a negative one and a time in the past ask for none, as in openai-python (`0 < retry_after`): the client's
/// own backoff is better than another request at once.
package enum RetryDelay {
    /// The longest delay; a longer one is reduced to it.
    package static let maximum = 365 * 24 * 3_600 * 1_000

    /// Reads `retry-after-ms`, or else `Retry-After` as decimal seconds or a date (RFC 9110 section 10.2.3).
    ///
    /// `now` is in seconds since 1970.
    package static func milliseconds(headers: [(name: String, value: String)], now: Int) -> Int? {
        if let delay = headers.firstValue(named: "retry-after-ms").flatMap(Double.init(finite:)).flatMap(self.positive)
        {
            return delay
        }
        guard let text = headers.firstValue(named: "retry-after") else { return nil }
        if let seconds = Double(finite: text) { return self.positive(seconds * 1_000) }
        guard let date = HTTPDate.secondsSince1970(String(text.withoutSurroundingSpace), now: now) else { return nil }
        return self.positive((Double(date) - Double(now)) * 1_000)
    }

    /// Returns a delay that asks for a wait, within the range and rounded up; nil for any other.
    package static func positive(_ milliseconds: Double) -> Int? {
        milliseconds > 0 ? self.clamped(milliseconds) : nil
    }

    /// Returns a number of milliseconds from 0 to a year, rounded up; nil for NaN.
    package static func clamped(_ milliseconds: Double) -> Int? {
        guard !milliseconds.isNaN else { return nil }
        let whole = Int(min(max(milliseconds, 0), Double(self.maximum)))
        // A delay that was rounded down would be too short.
        return Double(whole) < milliseconds ? min(whole + 1, self.maximum) : whole
    }
}
