// The canonical form of a JSON text, written from the plain reader's values. It shares no code with the product.

import Invariants

/// Writes the form that `CanonicalJSON` promises: RFC 8785, but for numbers, which keep all their digits.
struct CanonicalOracle {
    private let bytes: [UInt8]

    /// Writes values that were read from `bytes`.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func text(of node: JSONNode) -> String {
        switch node.kind {
        case .object(let members):
            // Swift's sort is stable: of members with the same name the first in the text comes first.
            "{"
                + members.sorted { $0.name.lexicographicallyPrecedes($1.name) }
                .map { self.string($0.name) + ":" + self.text(of: $0.value) }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map { self.text(of: $0) }.joined(separator: ",") + "]"
        case .string(let units): self.string(units)
        case .number: self.number(String(decoding: self.bytes[node.range], as: UTF8.self))
        case .bool(let isTrue): isTrue ? "true" : "false"
        case .null: "null"
        }
    }

    private func string(_ units: [UInt16]) -> String {
        var output = "\""
        var index = 0
        while index < units.count {
            let pair = units[index...].prefix(2)
            if pair.count == 2, UTF16.isLeadSurrogate(units[index]), UTF16.isTrailSurrogate(units[index + 1]) {
                output += String(decoding: pair, as: UTF16.self)
                index += 2
                continue
            }
            output += self.unit(units[index])
            index += 1
        }
        return output + "\""
    }

    private func unit(_ unit: UInt16) -> String {
        let short: [UInt16: String] = [
            0x22: "\\\"", 0x5C: "\\\\", 0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r",
        ]
        if let escape = short[unit] { return escape }
        guard unit >= 0x20, let scalar = Unicode.Scalar(unit) else {
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return String(Character(scalar))
    }

    /// ECMA-262's Number::toString, from decimal digits and a power of ten.
    private func number(_ written: String) -> String {
        let parts = written.split(whereSeparator: { $0 == "e" || $0 == "E" })
        let mantissa = parts[0].drop { $0 == "-" }
        let fraction = mantissa.split(separator: ".").dropFirst().first ?? ""
        var digits = String(mantissa.filter { $0 != "." }.drop { $0 == "0" })
        if digits.isEmpty { return "0" }
        let exponent = parts.dropFirst().first ?? "0"
        let exponentDigits = exponent.drop { $0 == "+" || $0 == "-" || $0 == "0" }
        guard exponentDigits.count <= 18, let power = Int(exponent) else { return written }
        let point = digits.count - fraction.count + power
        while digits.last == "0" { digits.removeLast() }
        let sign = written.hasPrefix("-") ? "-" : ""
        let zeroes = { (count: Int) in String(repeating: "0", count: count) }
        switch point {
        case -5...0: return sign + "0." + zeroes(-point) + digits
        case 1...21 where point < digits.count: return sign + digits.prefix(point) + "." + digits.dropFirst(point)
        case 1...21: return sign + digits + zeroes(point - digits.count)
        default:
            let rest = digits.dropFirst()
            return sign + digits.prefix(1) + (rest.isEmpty ? "" : "." + rest) + (point > 0 ? "e+" : "e-")
                + "\((point - 1).magnitude)"
        }
    }
}
