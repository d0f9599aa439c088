// Holds delays against a plain reading.

import HTTPProtocol
import Invariants
import ResponseEvents

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The delays of a header section.
struct DelayCheck {
    private let section: FieldSection

    /// Takes the fields.
    init(_ section: FieldSection) { self.section = section }

    /// Compares the delay of the fields, and looks at the range of those of messages.
    func runBare() {
        self.compare(self.section.fields, now: self.section.now)
        for case let delay? in self.section.fields.map({ RetryDelay.milliseconds(message: $0.value) }) {
            require((1...RetryDelay.maximum).contains(delay), "\(delay) ms is no delay")
        }
    }

    /// Reads the delays as they stand, those of dates made from the input, and those of messages.
    func run(_ random: inout InputHash) {
        self.compare(self.section.fields, now: self.section.now)
        for (name, value) in self.section.fields where PlainText.lowercase(name) == "retry-after" {
            self.compareAroundDate(value, now: self.section.now)
        }
        for _ in 0..<4 { self.compareAroundDate(Self.date(&random), now: Self.time(&random)) }
        for (_, value) in self.section.fields { self.compareMessage(value) }
    }

    /// A plain reading knows bytes; a value with combining characters is only read for what it must not do.
    private func compare(_ fields: [(name: String, value: String)], now: Int) {
        let delay = RetryDelay.milliseconds(headers: fields, now: now)
        if let delay { require((1...RetryDelay.maximum).contains(delay), "\(delay) ms is no delay") }
        guard fields.allSatisfy({ ($0.name + $0.value).utf8.allSatisfy { $0 < 0x80 } }) else { return }
        let expected = Self.delay(FieldSection(fields), now: now)
        require(delay == expected, "at \(now) the fields \(fields) mean \(delay as Any), and not \(expected as Any)")
    }

    /// A delay says little about a date that is long past or far ahead: the time is moved to where it says all.
    private func compareAroundDate(_ text: String, now: Int) {
        let fields = [(name: "Retry-After", value: text)]
        self.compare(fields, now: now)
        guard let seconds = PlainDate(text)?.secondsSince1970(now: now) else { return }
        for time in [seconds - 1, seconds, seconds + 1, seconds - 365 * 86_400] { self.compare(fields, now: time) }
    }

    private static func delay(_ section: FieldSection, now: Int) -> Int? {
        if let delay = section.values(named: "retry-after-ms").first.flatMap(PlainText.number), delay > 0 {
            return self.whole(delay)
        }
        guard let text = section.values(named: "retry-after").first else { return nil }
        if let seconds = PlainText.number(text) { return self.whole(seconds * 1_000) }
        guard let seconds = PlainDate(text)?.secondsSince1970(now: now) else { return nil }
        let (difference, isOverflow) = seconds.subtractingReportingOverflow(now)
        if isOverflow { return now > 0 ? nil : RetryDelay.maximum }
        return difference > 0 ? min(difference, RetryDelay.maximum / 1_000) * 1_000 : nil
    }

    /// Rounded up, to a year at most; nil where nothing is to be waited for.
    private static func whole(_ milliseconds: Double) -> Int? {
        milliseconds > 0 ? Int(min(ceil(milliseconds), Double(RetryDelay.maximum))) : nil
    }

    // MARK: Dates

    /// A date in one of the three forms, at times one that does not exist.
    private static func date(_ random: inout InputHash) -> String {
        let year = [1_600...2_400, 0...9_999, 1_969...1_971].randomElement(using: &random).map {
            Int.random(in: $0, using: &random)
        }
        let day = Int.random(in: 0...33, using: &random)
        let month = PlainDate.months[Int.random(in: 0..<12, using: &random)]
        let time = [25, 61, 62].map { self.digits(Int.random(in: 0..<$0, using: &random), 2) }.joined(separator: ":")
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return "Sun, \(self.digits(day, 2)) \(month) \(self.digits(year ?? 0, 4)) \(time) GMT"
        case 1: return "Sunday, \(self.digits(day, 2))-\(month)-\(self.digits((year ?? 0) % 100, 2)) \(time) GMT"
        default: return "Sun \(month) \(day < 10 ? " " : "")\(day) \(time) \(self.digits(year ?? 0, 4))"
        }
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    /// From before 1970 to after the year 9999, mostly near the turn of a year.
    private static func time(_ random: inout InputHash) -> Int {
        let year = Int.random(in: -5...8_040, using: &random)
        return year * 31_556_952 + Int.random(in: -86_400...86_400, using: &random)
    }

    // MARK: Messages

    private func compareMessage(_ message: String) {
        let delay = RetryDelay.milliseconds(message: message)
        if let delay { require((1...RetryDelay.maximum).contains(delay), "\(delay) ms is no delay") }
        guard message.utf8.allSatisfy({ $0 < 0x80 }) else { return }
        let expected = Self.delay(of: PlainText.lowercase(message))
        require(delay == expected, "\(message.debugDescription) means \(delay as Any), and not \(expected as Any)")
    }

    private static func delay(of message: String) -> Int? {
        guard let phrase = message.firstRange(of: "try again in") else { return nil }
        var rest = message[phrase.upperBound...]
        var total: Double?
        let quantity = #/ *([0-9]+(?:\.[0-9]+)?) *([a-z]*)/#.matchingSemantics(.unicodeScalar)
        while let match = rest.prefixMatch(of: quantity), let unit = self.unit(String(match.2)) {
            total = (total ?? 0) + strtod(String(match.1), nil) * unit
            rest = rest[match.range.upperBound...]
        }
        return total.flatMap { $0.isNaN ? RetryDelay.maximum : self.whole($0) }
    }

    private static func unit(_ word: String) -> Double? {
        switch word {
        case "ms", "millisecond", "milliseconds": 1
        case "s", "sec", "secs", "second", "seconds": 1_000
        case "m", "min", "mins", "minute", "minutes": 60 * 1_000
        case "h", "hr", "hrs", "hour", "hours": 60 * 60 * 1_000
        case "d", "day", "days": 24 * 60 * 60 * 1_000
        default: nil
        }
    }
}
