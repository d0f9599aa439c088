// The arguments of one command, and their conversion to types. Pure.
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Options and operands as they were typed.
///
/// Where an option is given more than once, the last one counts, unless all are asked for.
struct ParsedArguments: Equatable {
    /// The values of each option, in order; empty strings for options without a value.
    var values: [String: [String]] = [:]
    /// What is no option, in order.
    var operands: [String] = []

    /// Returns whether an option is given.
    func has(_ name: String) -> Bool { self.values[name] != nil }

    /// An option's value.
    func text(_ name: String) -> String? { self.values[name]?.last }

    /// All values of an option.
    func texts(_ name: String) -> [String] { self.values[name] ?? [] }

    /// An option's value as a whole number in a range.
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

    /// An option's value as a positive number.
    func positiveNumber(_ name: String) throws(UsageError) -> Double? {
        guard let text = self.text(name) else { return nil }
        guard let number = Double(text), number.isFinite, number > 0 else {
            throw UsageError("option --\(name) needs a number above 0, not '\(text)'")
        }
        return number
    }

    /// An option's value in seconds; zero is a time budget that is turned off.
    func budget(_ name: String) throws(UsageError) -> TimeBudget? {
        guard let text = self.text(name) else { return nil }
        // A thousand years: what is above overflows a clock sooner or later.
        guard let seconds = Double(text), seconds.isFinite, (0...31_536_000_000).contains(seconds) else {
            throw UsageError("option --\(name) needs a number of seconds, 0 for no limit, not '\(text)'")
        }
        return seconds == 0 ? .off : .limit(.seconds(seconds))
    }

    /// An option's value as one of several words.
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
