// Dates in header fields, read and written without a calendar library. Pure.

/// The three forms of a date in RFC 9110 section 5.6.7.
package enum HTTPDate {
    /// Returns seconds since 1970, or nil for a text that is not a date.
    ///
    /// `now` determines the century of a two-digit year: the latest in which the date is at most 50 years ahead.
    package static func secondsSince1970(_ text: String, now: Int) -> Int? {
        let words = text.split { " ,-".contains($0) }
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT
        case 6 where words[5] == "GMT":
            guard words[1].utf8.count == 2 else { return nil }
            return self.seconds(day: words[1], month: words[2], year: words[3], time: words[4], now: now)
        // Sun Nov  6 08:49:37 1994
        case 5:
            return self.seconds(day: words[2], month: words[1], year: words[4], time: words[3], now: now)
        default:
            return nil
        }
    }

    /// Returns the text of a date in the form that is sent, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// `seconds` is since 1970, and not negative.
    package static func text(secondsSince1970 seconds: Int) -> String {
        precondition(seconds >= 0, "a date before 1970 is not sent")
        let days = seconds / 86_400
        let time = seconds % 86_400
        // The calendar that begins in March, in eras of 400 years.
        let shifted = days + 719_468
        let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = (monthFromMarch + 2) % 12
        let year = yearOfEra + era * 400 + (month < 2 ? 1 : 0)
        let weekday = Self.weekdays[(days + 4) % 7]
        let clock = [time / 3_600, time / 60 % 60, time % 60].map(Self.twoDigits).joined(separator: ":")
        return "\(weekday), \(Self.twoDigits(day)) \(Self.months[month]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func seconds(
        day: Substring, month: Substring, year: Substring, time: Substring, now: Int
    ) -> Int? {
        guard let month = self.months.firstIndex(of: String(month)), let day = self.number(day, digits: 1...2),
            let time = self.timeOfDay(time)
        else { return nil }
        let seconds = { (year: Int) -> Int? in
            guard (1...self.dayCount(month: month + 1, year: year)).contains(day) else { return nil }
            return self.days(year: year, month: month + 1, day: day) * 86_400 + time
        }
        if let year = self.number(year, digits: 4...4) { return seconds(year) }
        // RFC 9110 section 5.6.7: a date that seems more than 50 years ahead means the most recent such year in the
        // past.
        let latest = min(max(now, 0), 253_402_300_799) + 50 * 31_556_952
        let latestYear = 1970 + latest / 31_556_952 + 1
        guard let short = self.number(year, digits: 2...2) else { return nil }
        let candidate = latestYear - (latestYear - short) % 100
        // Three consecutive centuries at most begin without a leap day.
        return stride(from: candidate, through: candidate - 400, by: -100).lazy.compactMap(seconds).first {
            $0 <= latest
        }
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Returns the time of day in seconds; a leap second is allowed, as in the grammar.
    private static func timeOfDay(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = self.number(parts[0], digits: 2...2),
            let minute = self.number(parts[1], digits: 2...2), let second = self.number(parts[2], digits: 2...2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }

    private static func isLeap(_ year: Int) -> Bool {
        (year.isMultiple(of: 4) && !year.isMultiple(of: 100)) || year.isMultiple(of: 400)
    }

    private static func dayCount(month: Int, year: Int) -> Int {
        switch month {
        case 2: self.isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the number of days from 1970-01-01 in the proleptic Gregorian calendar.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        // The calendar repeats after 400 years, and the year before 0 must not be negative.
        let before = year + 399
        let leapDays = before / 4 - before / 100 + before / 400 - 574
        let monthDays = (1..<month).reduce(0) { $0 + self.dayCount(month: $1, year: year) }
        return (year - 1970) * 365 + leapDays + monthDays + day - 1
    }
}
