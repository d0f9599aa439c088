// Lines of JSON, read back by another implementation.
import Foundation
import Testing

@testable import ChappieCommand

private func line(_ fill: (inout JSONLineWriter) -> Void) -> String {
    var writer = JSONLineWriter()
    fill(&writer)
    return writer.line
}

@Suite struct JSONLineWriterTests {
    @Test func fieldsKeepTheirOrderAndAbsentOnesAreLeftOut() {
        let text = line { writer in
            writer.add("z", "1")
            writer.add("gone", nil as String?)
            writer.add("gone", nil as Int?)
            writer.add("gone", nil as Double?)
            writer.add("gone", nil as Bool?)
            writer.add("gone", nil as Date?)
            writer.add("a", 2)
            writer.add("b", true)
            writer.addObject("o") { $0.add("x", 1.5) }
            writer.addObject("empty") { _ in }
        }
        #expect(text == #"{"z":"1","a":2,"b":true,"o":{"x":1.5},"empty":{}}"# + "\n")
    }

    @Test func everyScalarBelowAHundredAndOthersComeBack() throws {
        let scalars = (0..<0x100).compactMap { Unicode.Scalar($0) } + ["\u{2028}", "\u{FEFF}", "\u{FFFF}", "\u{1F600}"]
        for scalar in scalars {
            let value = "a\(Character(scalar))b"
            let text = line { $0.add("v", value) }
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 2)
            let object = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
            #expect(object["v"].map { Array($0.unicodeScalars) } == Array(value.unicodeScalars))
        }
    }

    @Test func theEscapesAreTheShortOnes() {
        let text = line { $0.add("v", "\"\\\n\r\t\u{0}\u{1F}/é") }
        #expect(text == #"{"v":"\"\\\n\r\t\u0000\u001f/é"}"# + "\n")
    }

    /// U+009B is what ESC and a bracket are together.
    @Test func textHasNoCharactersThatATerminalInterprets() {
        #expect(
            line { $0.add("v", "\u{1B}[m\u{7F}\u{80}\u{9B}31m\u{9F}\u{A0}") }
                == #"{"v":"\u001b[m\u007f\u0080\u009b31m\u009f\#u{A0}"}"# + "\n")
    }

    @Test func everyKindOfLineEndIsEscaped() {
        let text = line { $0.add("v", "a\u{85}b\u{2028}c\u{2029}\u{202E}\u{61C}") }
        #expect(text == #"{"v":"a\u0085b\u2028c\u2029\u202e\u061c"}"# + "\n")
    }

    @Test(
        arguments: [
            (42, "42"), (0.012, "0.012"), (1e300, "1e+300"), (-0.5, "-0.5"), (1e15, "1000000000000000"),
        ] as [(Double, String)]
    ) func numbersAreJSON(value: Double, expected: String) {
        #expect(line { $0.add("v", value) } == "{\"v\":\(expected)}\n")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity]) func nonFiniteNumbersAreLeftOut(_ value: Double) {
        #expect(line { $0.add("v", value) } == "{}\n")
    }

    @Test func timesAreInUTCAndImpossibleOnesAreLeftOut() {
        let time = Date(timeIntervalSince1970: 1_795_256_523)
        #expect(line { $0.add("v", time) } == "{\"v\":\"2026-11-21T10:22:03Z\"}\n")
        #expect(
            line { $0.add("v", Date(timeIntervalSince1970: 253_402_300_799)) } == "{\"v\":\"9999-12-31T23:59:59Z\"}\n")
        #expect(
            line { $0.add("v", Date(timeIntervalSince1970: 0)) } == "{\"v\":\"1970-01-01T00:00:00Z\"}\n")
        for seconds in [253_402_300_800, -1, 1e300, .infinity, -.infinity, .nan] {
            #expect(line { $0.add("v", Date(timeIntervalSince1970: seconds)) } == "{}\n")
        }
    }
}
