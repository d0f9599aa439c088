// Any value, spelled in any two ways, and any size.

import PlatformC
import Testing

@testable import ResponseEvents

@Suite struct CanonicalJSONRandomTests {
    /// A value of which a random spelling can be written.
    indirect enum Value: Equatable {
        case object([(name: String, value: Value)])
        case array([Value])
        case string(String)
        case integer(Int)
        case literal(String)

        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.object(let left), .object(let right)):
                let left = left.sorted { $0.name < $1.name }
                let right = right.sorted { $0.name < $1.name }
                return left.count == right.count
                    && zip(left, right).allSatisfy { $0.name == $1.name && $0.value == $1.value }
            case (.array(let left), .array(let right)): return left == right
            case (.string(let left), .string(let right)): return left == right
            case (.integer(let left), .integer(let right)): return left == right
            case (.literal(let left), .literal(let right)): return left == right
            case (.object, _), (.array, _), (.string, _), (.integer, _), (.literal, _): return false
            }
        }
    }

    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var value = self.state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }

        mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    }

    private static let scalars: [Unicode.Scalar] = [
        "a", "b", "\"", "\\", "/", "\n", "\u{1}", "é", "\u{E000}", "😀", "0",
    ]

    private static func string(_ dice: inout Dice) -> String {
        var string = ""
        for _ in 0..<dice.below(5) { string.unicodeScalars.append(self.scalars[dice.below(self.scalars.count)]) }
        return string
    }

    private static func value(_ dice: inout Dice, depth: Int) -> Value {
        switch dice.below(depth > 3 ? 3 : 5) {
        case 0: return .string(self.string(&dice))
        case 1: return .integer(Int.random(in: -2_000...2_000, using: &dice))
        case 2: return .literal(["true", "false", "null"][dice.below(3)])
        case 3: return .array((0..<dice.below(4)).map { _ in self.value(&dice, depth: depth + 1) })
        default:
            let names = Set((0..<dice.below(6)).map { _ in self.string(&dice) })
            return .object(names.sorted().map { ($0, self.value(&dice, depth: depth + 1)) })
        }
    }

    private static func space(_ dice: inout Dice) -> String { ["", "", " ", "\n", "\t \r"][dice.below(5)] }

    private static func written(_ string: String, _ dice: inout Dice) -> String {
        var output = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\n" where dice.below(2) == 0: output += "\\n"
            case "\"" where dice.below(2) == 0, "\\" where dice.below(2) == 0, "/" where dice.below(2) == 0:
                output += "\\\(scalar)"
            default:
                let mayStand = scalar.value >= 0x20 && scalar != "\"" && scalar != "\\"
                if mayStand, dice.below(2) == 0 {
                    output.unicodeScalars.append(scalar)
                } else {
                    for unit in String(scalar).utf16 {
                        let digits = String(unit, radix: 16, uppercase: dice.below(2) == 0)
                        output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    }
                }
            }
        }
        return output + "\""
    }

    private static func written(_ value: Value, _ dice: inout Dice) -> String {
        let text: String
        switch value {
        case .string(let string): text = self.written(string, &dice)
        case .integer(let integer):
            text = ["\(integer)", "\(integer).0", "\(integer)0e-1", "\(integer)E+0"][dice.below(4)]
        case .literal(let literal): text = literal
        case .array(let values):
            text = "[" + values.map { self.written($0, &dice) }.joined(separator: ",") + self.space(&dice) + "]"
        case .object(let members):
            let pieces = members.shuffled(using: &dice).map { member in
                self.space(&dice) + self.written(member.name, &dice) + self.space(&dice) + ":"
                    + self.written(member.value, &dice)
            }
            text = "{" + pieces.joined(separator: ",") + self.space(&dice) + "}"
        }
        return self.space(&dice) + text + self.space(&dice)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func valuesAreEqualExactlyWhenTheirCanonicalFormsAre(seed: UInt64) {
        var dice = Dice(state: seed)
        var forms: [(value: Value, text: String)] = []
        for _ in 0..<60 {
            let value = Self.value(&dice, depth: 0)
            let first = CanonicalJSON.text(of: Self.written(value, &dice))
            let second = CanonicalJSON.text(of: Self.written(value, &dice))
            #expect(first.utf8.elementsEqual(second.utf8))
            #expect(CanonicalJSON.text(of: first).utf8.elementsEqual(first.utf8))
            for other in forms { #expect((other.value == value) == other.text.utf8.elementsEqual(first.utf8)) }
            forms.append((value, first))
        }
    }

    /// Shapes that a careless algorithm takes quadratic time for.
    static let shapes: [(name: String, text: @Sendable (Int) -> String)] = [
        (
            "members",
            { count in "{" + (0..<count).map { "\"name \(($0 * 7_919) % count)\":\($0)" }.joined(separator: ",") + "}" }
        ),
        ("equal names", { count in "{" + repeatElement("\"a\":1", count: count).joined(separator: ",") + "}" }),
        (
            "elements",
            { count in "[" + repeatElement("{\"b\":[],\"a\":{}}", count: count).joined(separator: ",") + "]" }
        ),
        ("escapes", { count in "\"" + String(repeating: "\\ud83d\\ude00\\n", count: count) + "\"" }),
        ("digits", { count in String(repeating: "1234567890", count: count) + ".5e7" }),
        ("zeroes", { count in "1" + String(repeating: "0000000000", count: count) }),
        (
            "white space",
            { count in
                "[" + String(repeating: " ", count: count * 10) + "[ ]" + String(repeating: "\n", count: count) + "]"
            }
        ),
        ("not JSON", { count in String(repeating: "[1,", count: count) }),
    ]

    /// The processor time of the thread, which does not grow with what else the machine has to do.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test(arguments: shapes.indices)
    func theTimeIsLinear(shape: Int) {
        let text = Self.shapes[shape].text
        func time(_ count: Int) -> Duration {
            let text = Array(text(count).utf8)
            let times = (0..<3).map { _ in
                let start = Self.processorTime
                #expect(!CanonicalJSON.bytes(of: text).isEmpty)
                return Self.processorTime - start
            }
            return times.min() ?? .zero
        }
        // Sixteen times as much: in quadratic time it would take 256 times as long.
        #expect(time(8_000) < time(500) * 80 + .milliseconds(50), "\(Self.shapes[shape].name)")
    }
}
