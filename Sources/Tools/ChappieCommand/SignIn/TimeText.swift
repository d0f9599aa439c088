// Durations and points in time as text. Pure.
import PlatformFoundation

/// Formats times for people.
struct TimeText {
    /// The current time.
    let now: Date
    /// The time zone of the clock.
    let timeZone: TimeZone

    /// The time of this machine.
    static var current: TimeText { TimeText(now: Date(), timeZone: .current) }

    private static let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]

    /// Returns a duration in its two largest units: `2 h 2 min`, `14 min 52 s`, `45 s`.
    static func length(seconds: Int) -> String {
        guard seconds > 0, let first = Self.units.firstIndex(where: { seconds >= $0.1 }) else { return "0 s" }
        let (name, size) = Self.units[first]
        let text = "\(seconds / size) \(name)"
        guard first + 1 < Self.units.count else { return text }
        let (nextName, nextSize) = Self.units[first + 1]
        let rest = seconds % size / nextSize
        return rest == 0 ? text : text + " \(rest) \(nextName)"
    }

    /// Returns the time until a date; nil when the date is implausibly far away.
    func untilWords(_ date: Date) -> String? {
        let seconds = date.timeIntervalSince(self.now)
        guard (0..<Self.horizon).contains(seconds) else { return nil }
        // From a minute on, seconds are left out.
        let whole = Int(seconds.rounded(.up))
        return Self.length(seconds: whole < 60 ? whole : whole / 60 * 60)
    }

    /// Returns the time of day, with the date where that is another day: `10:00`, `2026-11-24 10:00`; nil as above.
    func clockWords(_ date: Date) -> String? {
        guard abs(date.timeIntervalSince(self.now)) < Self.horizon else { return nil }
        let (then, today) = (self.fields(date), self.fields(self.now))
        let clock = Self.padded(then.hour) + ":" + Self.padded(then.minute)
        guard then.year != today.year || then.month != today.month || then.day != today.day else { return clock }
        return "\(then.year ?? 0)-\(Self.padded(then.month))-\(Self.padded(then.day)) \(clock)"
    }

    /// A hundred years.
    private static let horizon = 3_155_760_000.0

    private func fields(_ date: Date) -> DateComponents {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = self.timeZone
        return calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
    }

    private static func padded(_ number: Int?) -> String {
        let digits = String(number ?? 0)
        return digits.count < 2 ? "0" + digits : digits
    }
}
