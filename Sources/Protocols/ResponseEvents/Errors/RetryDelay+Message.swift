// The delay that a server asks for in the text of an ordinary rate limit. Pure.
package import HTTPProtocol

extension RetryDelay {
    /// Reads "try again in 7m12s" and the like: numbers with units from milliseconds to days, added up.
    package static func milliseconds(message: String) -> Int? {
        var rest = message.lowercased().utf8[...]
        guard let phrase = rest.firstIndex(ofSequence: "try again in".utf8) else { return nil }
        rest = rest[phrase...].dropFirst("try again in".utf8.count)
        return self.takeQuantities(&rest).flatMap { self.positive(Double($0)) }
    }

    /// Reads a duration such as `6m0s`, or a number of seconds; nil for any other text.
    package static func milliseconds(duration text: String) -> Int? {
        if let seconds = Double(finite: text) { return self.clamped(seconds * 1_000) }
        let lowercased = text.lowercased()
        var rest = lowercased.utf8[...]
        guard let milliseconds = self.takeQuantities(&rest), rest.isEmpty else { return nil }
        return milliseconds
    }

    private static func takeQuantities(_ rest: inout Substring.UTF8View) -> Int? {
        var total: Double?
        while let (number, unit) = self.takeQuantity(&rest) { total = (total ?? 0) + number * unit }
        return total.flatMap(self.clamped)
    }

    /// Takes a number and its unit, in milliseconds; leaves `rest` unchanged when there is none.
    private static func takeQuantity(_ rest: inout Substring.UTF8View) -> (number: Double, unit: Double)? {
        var text = rest.drop { $0 == UInt8(ascii: " ") }
        var digits = text.prefix { $0.isDigit }
        guard !digits.isEmpty else { return nil }
        let fraction = text[digits.endIndex...].dropFirst().prefix { $0.isDigit }
        if text[digits.endIndex...].first == UInt8(ascii: "."), !fraction.isEmpty {
            digits = text[digits.startIndex..<fraction.endIndex]
        }
        text = text[digits.endIndex...].drop { $0 == UInt8(ascii: " ") }
        let word = text.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        guard let number = Double(String(Substring(digits))), let unit = self.units[String(Substring(word))] else {
            return nil
        }
        rest = text[word.endIndex...]
        return (number, unit)
    }

    private static let units: [String: Double] = [
        "ms": 1, "millisecond": 1, "milliseconds": 1,
        "s": 1_000, "sec": 1_000, "secs": 1_000, "second": 1_000, "seconds": 1_000,
        "m": 60_000, "min": 60_000, "mins": 60_000, "minute": 60_000, "minutes": 60_000,
        "h": 3_600_000, "hr": 3_600_000, "hrs": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
        "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
    ]
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension Substring.UTF8View {
    fileprivate func firstIndex(ofSequence needle: String.UTF8View) -> Index? {
        self.indices.first { self[$0...].starts(with: needle) }
    }
}
