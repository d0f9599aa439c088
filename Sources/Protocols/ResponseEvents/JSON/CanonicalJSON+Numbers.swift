// Numbers as ECMAScript writes them, with all their digits. Pure.

extension CanonicalJSON {
    /// A number other than zero: 0.d₁d₂d₃… times ten to a power, without zeroes at either end.
    private struct Decimal {
        var digits: [UInt8]
        /// The position of the decimal point, counted from the first digit.
        var point: Int
        let isNegative: Bool
    }

    /// Appends a checked JSON number.
    static func appendNumber(_ written: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        guard let decimal = self.decimal(written) else {
            output += written
            return
        }
        guard !decimal.digits.isEmpty else { return output.append(UInt8(ascii: "0")) }
        if decimal.isNegative { output.append(UInt8(ascii: "-")) }
        self.append(decimal, to: &output)
    }

    /// Parses a number, of which zero has no digits; nil when the exponent is too long to be calculated with.
    private static func decimal(_ written: UnsafeBufferPointer<UInt8>) -> Decimal? {
        let isNegative = written.first == UInt8(ascii: "-")
        let mark = written.firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? written.endIndex
        let mantissa = written[(isNegative ? 1 : 0)..<mark]
        let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
        let digits = mantissa.filter { $0 != UInt8(ascii: ".") }
        let leadingZeroCount = digits.prefix { $0 == UInt8(ascii: "0") }.count
        guard leadingZeroCount < digits.count else { return Decimal(digits: [], point: 0, isNegative: isNegative) }
        guard let exponent = self.exponent(written[mark...].dropFirst()) else { return nil }
        let end = digits.lastIndex { $0 != UInt8(ascii: "0") } ?? 0
        return Decimal(
            digits: Array(digits[leadingZeroCount...end]), point: whole.count - leadingZeroCount + exponent,
            isNegative: isNegative)
    }

    private static func exponent(_ written: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        let isNegative = written.first == UInt8(ascii: "-")
        let digits = written.drop { !(UInt8(ascii: "1")...UInt8(ascii: "9") ~= $0) }
        guard digits.count <= 18 else { return nil }
        let value = digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
        return isNegative ? -value : value
    }

    /// Appends a number in the form of ECMA-262, Number::toString.
    private static func append(_ decimal: Decimal, to output: inout [UInt8]) {
        let (digits, point) = (decimal.digits, decimal.point)
        let zero = UInt8(ascii: "0")
        if point > 21 || point < -5 { return self.appendScientific(decimal, to: &output) }
        if point <= 0 {
            output += "0.".utf8
            output += repeatElement(zero, count: -point)
            output += digits
        } else if point < digits.count {
            output += digits[..<point]
            output.append(UInt8(ascii: "."))
            output += digits[point...]
        } else {
            output += digits
            output += repeatElement(zero, count: point - digits.count)
        }
    }

    private static func appendScientific(_ decimal: Decimal, to output: inout [UInt8]) {
        output.append(decimal.digits[0])
        if decimal.digits.count > 1 {
            output.append(UInt8(ascii: "."))
            output += decimal.digits[1...]
        }
        output += (decimal.point > 0 ? "e+" : "e-").utf8
        output += String((decimal.point - 1).magnitude).utf8
    }
}
