// The arguments of one command, and their conversion to types. Pure.
import PlatformFoundation

/// Options and operands as they were typed.
///
/// Where an option is given more than once, the last value is used, unless all are asked for.
struct ParsedArguments: Equatable {
    /// The values of each option, in order; empty strings for options without a value.
    var values: [String: [String]] = [:]
    /// The words that are not options, in order.
    var operands: [String] = []

    /// Returns whether an option is given.
    func has(_ name: String) -> Bool { self.values[name] != nil }

    /// Returns an option's value.
    func text(_ name: String) -> String? { self.values[name]?.last }

    /// Returns all values of an option.
    func texts(_ name: String) -> [String] { self.values[name] ?? [] }

    /// Returns an option's value as a whole number in a range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self.text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            let bounds =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("option --\(name) needs a whole number \(bounds), not '\(text)'")
        }
        return number
    }

    /// Returns an option's value as a positive number.
    func positiveNumber(_ name: String) throws(UsageError) -> Double? {
        guard let text = self.text(name) else { return nil }
        guard let number = Double(text), number.isFinite, number > 0 else {
            throw UsageError("option --\(name) needs a number above 0, not '\(text)'")
        }
        return number
    }

    /// Returns an option's value as a number in a range.
    func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = self.text(name) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw UsageError(
                "option --\(name) needs a number from \(Int(range.lowerBound)) to \(Int(range.upperBound)), not '\(text)'"
            )
        }
        return number
    }

    /// Returns an option's value in seconds; zero disables the time budget.
    func budget(_ name: String) throws(UsageError) -> TimeBudget? {
        guard let text = self.text(name) else { return nil }
        // A thousand years: a longer time would overflow a clock.
        guard let seconds = Double(text), seconds.isFinite, (0...31_536_000_000).contains(seconds) else {
            throw UsageError("option --\(name) needs a number of seconds, 0 for no limit, not '\(text)'")
        }
        return seconds == 0 ? .off : .limit(.seconds(seconds))
    }

    /// Returns an option's value as one of several words.
    func choice<Value: RawRepresentable & CaseIterable>(
        _ name: String, of _: Value.Type = Value.self
    ) throws(UsageError) -> Value? where Value.RawValue == String {
        guard let text = self.text(name) else { return nil }
        guard let value = Value(rawValue: text) else {
            let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("option --\(name) needs one of \(words), not '\(text)'")
        }
        return value
    }
}

/// A time budget as it can be given on a command line.
enum TimeBudget: Equatable {
    /// No limit.
    case off
    /// A limit.
    case limit(Duration)

    /// The limit; nil when there is none.
    var duration: Duration? {
        switch self {
        case .off: nil
        case .limit(let duration): duration
        }
    }
}
