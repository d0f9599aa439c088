// Numbers keep their value, whatever it is, and lose what does not belong to it.

import Testing

@testable import ResponseEvents

@Suite struct CanonicalJSONNumberTests {
    static let spellings: [(written: String, canonical: String)] = [
        ("0", "0"), ("-0", "0"), ("0.0", "0"), ("-0.000e5", "0"), ("0e99999999999999999999999", "0"),
        ("1", "1"), ("1.0", "1"), ("1e0", "1"), ("10E-1", "1"), ("0.1e1", "1"), ("0.01E+2", "1"), ("100e-2", "1"),
        ("1e00000000000000000000000000", "1"), ("-1", "-1"), ("-1.50", "-1.5"), ("1e1", "10"), ("12e3", "12000"),
        ("1.25e1", "12.5"), ("1.25e2", "125"), ("1.25e3", "1250"), ("0.5", "0.5"), ("5e-1", "0.5"),
        ("0.000001", "0.000001"), ("1e-6", "0.000001"), ("1.5e-6", "0.0000015"), ("0.0000001", "1e-7"),
        ("1.5e-7", "1.5e-7"), ("1e20", "100000000000000000000"), ("1e21", "1e+21"), ("1.5e21", "1.5e+21"),
        ("123456789e12", "123456789000000000000"), ("123456789e13", "1.23456789e+21"),
        ("999999999999999999999", "999999999999999999999"),
        ("9999999999999999999999", "9.999999999999999999999e+21"), ("1E+5", "100000"), ("1e-05", "0.00001"),
        // More than a double holds.
        ("9007199254740993", "9007199254740993"), ("9007199254740992", "9007199254740992"),
        ("18446744073709551615", "18446744073709551615"), ("18446744073709551616", "18446744073709551616"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"), ("1e400", "1e+400"),
        ("-1e-400", "-1e-400"), ("10e399", "1e+400"), ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        // RFC 8785 appendix B.
        ("4.9E-324", "4.9e-324"), ("9007199254740994.0", "9007199254740994"),
        ("9.999999999999997e22", "9.999999999999997e+22"),
        ("1E23", "1e+23"), ("0.00000999999999999999700", "0.000009999999999999997"),
        ("333333333.3333332", "333333333.3333332"),
        // The exponent's own limit.
        ("1e999999999999999999", "1e+999999999999999999"), ("1e-999999999999999999", "1e-999999999999999999"),
        ("1E9999999999999999999", "1E9999999999999999999"),
        ("-1.50E-9999999999999999999", "-1.50E-9999999999999999999"),
        ("1e000999999999999999999", "1e+999999999999999999"), ("0.01e999999999999999999", "1e+999999999999999997"),
    ]

    @Test(arguments: spellings)
    func aNumberHasOneSpelling(written: String, canonical: String) {
        #expect(CanonicalJSON.text(of: written) == canonical)
        #expect(CanonicalJSON.text(of: canonical) == canonical)
        #expect(CanonicalJSON.text(of: "[\(written), \(written) ]") == "[\(canonical),\(canonical)]")
        #expect(CanonicalJSON.text(of: "{\"a\": \(written) }") == "{\"a\":\(canonical)}")
    }

    /// Every integer of 64 bits is itself.
    @Test func integersKeepEveryDigit() {
        for base in [Int64.min, -1 << 53, -1, 0, 1 << 53, 1 << 62, Int64.max - 200] {
            for offset in 0...200 as ClosedRange<Int64> {
                let text = String(base + offset)
                #expect(CanonicalJSON.text(of: text) == text)
            }
        }
    }

    @Test func everyDoubleKeepsItsValue() {
        var state: UInt64 = 42
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let value = Double(bitPattern: state)
            guard value.isFinite else { continue }
            let canonical = CanonicalJSON.text(of: "\(value)")
            #expect(Double(canonical) == value)
            #expect(!canonical.contains("E") && !canonical.hasSuffix(".0"))
        }
    }

    /// A number moved through every exponent is the same number.
    @Test func theDecimalPointMayStandAnywhere() {
        let digits = "1234567890123456789012345"
        for point in -30...30 {
            let expected = CanonicalJSON.text(of: "0.\(digits)e\(point)")
            for position in 1..<digits.count {
                let written = "\(digits.prefix(position)).\(digits.dropFirst(position))e\(point - position)"
                #expect(CanonicalJSON.text(of: written) == expected)
            }
            #expect(CanonicalJSON.text(of: "\(digits)000e\(point - digits.count - 3 + 3)") != expected)
            #expect(CanonicalJSON.text(of: "\(digits)000e\(point - digits.count - 3)") == expected)
            #expect(CanonicalJSON.text(of: "0.000\(digits)e\(point + 3)") == expected)
        }
    }
}
