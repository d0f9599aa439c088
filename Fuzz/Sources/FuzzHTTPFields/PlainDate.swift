// Dates of header fields, read plainly: the C library has the calendar.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The parts of a date in one of the three forms of RFC 9110 section 5.6.7.
///
/// The name of the day is ignored, and any number of spaces, commas and hyphens may separate the parts.
struct PlainDate {
    /// The year, of two digits when `isShort`.
    var year: Int
    /// Indicates whether the century is left out.
    var isShort = false
    /// The month, from 0 to 11.
    var month: Int
    /// The day of the month, and the time.
    var day: Int, hour: Int, minute: Int, second: Int

    /// The names of the months.
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date.
    init?(_ text: String) {
        var words: [[UInt8]] = [[]]
        for byte in PlainText.trim(text).utf8 {
            if byte == 0x20 || byte == 0x2C || byte == 0x2D {
                words.append([])
            } else {
                words[words.count - 1].append(byte)
            }
        }
        let parts = words.filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
        let order: [Int]
        if parts.count == 6, parts[5] == "GMT", parts[1].utf8.count == 2 {
            order = [1, 2, 3, 4]
        } else if parts.count == 5 {
            order = [2, 1, 4, 3]
        } else {
            return nil
        }
        let time = parts[order[3]].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let day = Self.number(parts[order[0]], 1...2), let month = Self.months.firstIndex(of: parts[order[1]]),
            let year = Self.number(parts[order[2]], 2...2) ?? Self.number(parts[order[2]], 4...4), time.count == 3,
            let hour = Self.number(time[0], 2...2), let minute = Self.number(time[1], 2...2),
            let second = Self.number(time[2], 2...2)
        else { return nil }
        self.year = year
        self.isShort = parts[order[2]].utf8.count == 2
        (self.month, self.day, self.hour, self.minute, self.second) = (month, day, hour, minute, second)
    }

    private static func number(_ text: String, _ byteCount: ClosedRange<Int>) -> Int? {
        guard byteCount.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(strtol(text, nil, 10))
    }

    /// Seconds since 1970; a short year is the latest one that makes a date of at most 50 years after `now`.
    func secondsSince1970(now: Int) -> Int? {
        guard self.isShort else { return self.seconds(year: self.year) }
        let latest = min(max(now, 0), 253_402_300_799) + 50 * 31_556_952
        let years = stride(from: 10_099 - (99 - self.year), through: 1_900, by: -100)
        return years.lazy.compactMap { self.seconds(year: $0) }.first { $0 <= latest }
    }

    private func seconds(year: Int) -> Int? {
        guard self.hour < 24, self.minute < 60, self.second <= 60, self.day >= 1 else { return nil }
        var parts = tm()
        parts.tm_year = CInt(year - 1_900)
        parts.tm_mon = CInt(self.month)
        parts.tm_mday = CInt(self.day)
        let midnight = timegm(&parts)
        // The C library takes any day, and corrects the month.
        guard parts.tm_mday == CInt(self.day) else { return nil }
        return Int(midnight) + self.hour * 3_600 + self.minute * 60 + self.second
    }
}
