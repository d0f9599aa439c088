// One value, one spelling; two values, two spellings.

import Testing

@testable import ResponseEvents

@Suite struct CanonicalJSONTests {
    static let spellings: [(written: String, canonical: String)] = [
        ("{}", "{}"), (" { } ", "{}"), ("[]", "[]"), ("\t[\r\n ] ", "[]"), (#""""#, #""""#), ("null", "null"),
        (" true ", "true"), ("false", "false"), ("0", "0"),
        (#"{"city":"Oslo"}"#, #"{"city":"Oslo"}"#),
        (#" { "b" : 1 , "a" : [ 1 , 2 ] } "#, #"{"a":[1,2],"b":1}"#),
        (
            #"{"b":{"d":1,"c":2},"a":{"f":[{"h":1,"g":2}],"e":{}}}"#,
            #"{"a":{"e":{},"f":[{"g":2,"h":1}]},"b":{"c":2,"d":1}}"#
        ),
        // A name that others begin with comes first.
        (#"{"ab":1,"a":2,"":3,"abc":4,"aa":5}"#, #"{"":3,"a":2,"aa":5,"ab":1,"abc":4}"#),
        // Elements keep their order, and so do members with the same name.
        ("[3,1,2]", "[3,1,2]"),
        (#"{"b":1,"a":2,"b":0,"a":1}"#, #"{"a":2,"a":1,"b":1,"b":0}"#),
        (#"{"\u0061":1,"b":2,"a":3}"#, #"{"a":1,"a":3,"b":2}"#),
        // RFC 8785 section 3.2.3, with values of our own.
        (
            #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#,
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{F6}\":7,\"\u{20AC}\":1,\"\u{1F600}\":5,\"\u{FB33}\":3}"
        ),
        // RFC 8785 section 3.2.2, but for the digits that a double has no room for.
        (
            #"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"# + "\n"
                + #""string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
            #"{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"#
                + "\"string\":\"\u{20AC}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        ),
    ]

    @Test(arguments: spellings)
    func aValueHasOneSpelling(written: String, canonical: String) {
        #expect(CanonicalJSON.text(of: written) == canonical)
        #expect(CanonicalJSON.bytes(of: Array(written.utf8)) == Array(canonical.utf8))
        #expect(CanonicalJSON.bytes(of: Array(canonical.utf8)) == Array(canonical.utf8))
    }

    // MARK: Strings

    static let strings: [(written: String, canonical: String)] = [
        (#""\/""#, #""/""#), (#""\u002f""#, #""/""#), (#""\u0022\u005C""#, #""\"\\""#),
        (#""\u0008\u0009\u000A\u000c\u000D""#, #""\b\t\n\f\r""#), (#""\b\t\n\f\r""#, #""\b\t\n\f\r""#),
        (#""\u0000\u001F\u000B\u007f""#, "\"\\u0000\\u001f\\u000b\u{7F}\""),
        (#""\u00e9\u00E9é""#, "\"ééé\""), (#""e\u0301""#, "\"e\u{301}\""), (#""\u20AC""#, "\"€\""),
        (#""\uD83D\uDE00""#, "\"😀\""), (#""\ud83d\ude00""#, "\"😀\""), (#""\uDBFF\uDFFF""#, "\"\u{10FFFF}\""),
        (#""\uD800\uDC00""#, "\"\u{10000}\""), (#""\uFFFF""#, "\"\u{FFFF}\""), (#""\uFFFD""#, "\"\u{FFFD}\""),
        (#""\uD7FF\uE000""#, "\"\u{D7FF}\u{E000}\""), (#""\u2028\u2029""#, "\"\u{2028}\u{2029}\""),
        // Half a pair.
        (#""\uD83D""#, #""\ud83d""#), (#""\uDE00""#, #""\ude00""#), (#""\uDE00\uD83D""#, #""\ude00\ud83d""#),
        (#""\uD83D\uD83D\uDE00""#, "\"\\ud83d😀\""), (#""\uD83Dx""#, #""\ud83dx""#), (#""\uD83D\n""#, #""\ud83d\n""#),
        (#""\uD83D\u0041""#, #""\ud83dA""#), (#""a\uDFFFé""#, #""a\udfffé""#), (#""\uD800\uDBFF""#, #""\ud800\udbff""#),
        (#""\u0041\uD83D""#, #""A\ud83d""#),
    ]

    @Test(arguments: strings)
    func aStringHasOnlyTheEscapesItNeeds(written: String, canonical: String) {
        #expect(Array(CanonicalJSON.text(of: written).utf8) == Array(canonical.utf8))
        #expect(Array(CanonicalJSON.text(of: canonical).utf8) == Array(canonical.utf8))
        let member = Array(CanonicalJSON.text(of: "{\(written):\(written)}").utf8)
        #expect(member == Array("{\(canonical):\(canonical)}".utf8))
    }

    @Test func everyScalarIsWrittenOneWayWhetherEscapedOrNot() {
        for value in 0...0x10FFFF as ClosedRange<UInt32> where value < 0x300 || value % 509 == 0 || value & 0xFF > 0xFD
        {
            guard let scalar = Unicode.Scalar(value), value >= 0x20, scalar != "\"", scalar != "\\" else { continue }
            let plain = "[\"\(Character(scalar))\"]"
            let escapes = UTF16.encode(scalar).map { $0.map { "\\u" + Self.hexadecimal($0) }.joined() } ?? ""
            #expect(CanonicalJSON.bytes(of: "[\"\(escapes)\"]".utf8) == Array(plain.utf8))
        }
    }

    @Test func unpairedSurrogatesAreDistinct() {
        let units = (0xD800...0xDFFF).map { CanonicalJSON.text(of: "[\"\\u\(Self.hexadecimal(UInt16($0)))\"]") }
        #expect(Set(units).count == 2_048)
        #expect(!units.contains("[\"\u{FFFD}\"]"))
    }

    private static func hexadecimal(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    @Test func membersAreOrderedByUTF16CodeUnits() {
        let names = [
            "", "a", "a\u{0}", "é", "\u{D7FF}", "\u{10000}", "\u{10FFFF}", "\u{E000}", "\u{EFFF}", "\u{F000}",
            "\u{FFFD}",
        ]
        for left in names {
            for right in names where left != right {
                let isBefore = left.utf16.lexicographicallyPrecedes(right.utf16)
                #expect(CanonicalJSON.order(Array(left.utf8), Array(right.utf8)) == isBefore)
            }
            #expect(CanonicalJSON.order(Array(left.utf8), Array(left.utf8)) == nil)
        }
    }

    @Test func namesWithUnpairedSurrogatesAreOrderedByUTF16() {
        let names: [[UInt16]] = [
            [], [0x61], [0xD7FF], [0xD800], [0xD800, 0x61], [0xD800, 0xD800, 0xDC00], [0xD800, 0xDC00],
            [0xD800, 0xDC00, 0xD800], [0xD800, 0xE000], [0xD83D], [0xD83D, 0xDE00], [0xDBFF], [0xDBFF, 0xDFFF],
            [0xDC00],
            [0xDC00, 0xD800], [0xDFFF], [0xE000], [0xFFFF],
        ]
        for left in names {
            for right in names where left != right {
                let members = [left, right].map { name in
                    "\"\(name.map { "\\u" + Self.hexadecimal($0) }.joined())\":0"
                }
                let isBefore = left.lexicographicallyPrecedes(right)
                let sorted = isBefore ? members : members.reversed()
                #expect(
                    CanonicalJSON.text(of: "{\(members.joined(separator: ","))}")
                        == CanonicalJSON.text(of: "{\(sorted.joined(separator: ","))}"))
                let first = CanonicalJSON.text(of: "{\(isBefore ? members[0] : members[1])}").dropLast()
                #expect(CanonicalJSON.text(of: "{\(members.joined(separator: ","))}").utf8.starts(with: first.utf8))
            }
        }
    }

    // MARK: What is not JSON

    static let others = [
        "", " ", "{", "}", "[", "[1,]", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "+1", "1.", ".5", "1e", "-",
        "--1",
        "0x10", "NaN", "Infinity", "tru", "True", "nul", "nulll", "1 2", "{} {}", "[]]", "{}}", "1,\"b\":2", "1}",
        "\"a\":1",
        "1,2", "\"a", "a\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\\"", "\"\n\"", "\"\u{1F}\"", "\u{FEFF}{}",
        "{}//x",
        "/**/{}", "select 1;", "1,\"a\":2", "}{", "[1}", "{\"a\":1]",
    ]

    @Test(arguments: others)
    func textThatIsNotJSONIsUnchanged(text: String) {
        #expect(Array(CanonicalJSON.text(of: text).utf8) == Array(text.utf8))
        let spaced = " " + text + " "
        #expect(Array(CanonicalJSON.text(of: spaced).utf8) == Array(spaced.utf8))
    }

    @Test(arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xF5, 0x22],
    ])
    func bytesThatAreNotUTF8AreUnchanged(bytes: [UInt8]) {
        #expect(CanonicalJSON.bytes(of: bytes) == bytes)
    }

    @Test(arguments: [-1, 0, 1])
    func nestingHasALimit(excess: Int) {
        let depth = CanonicalJSON.maximumDepth + excess
        for (opening, inside, closing) in [("[ ", "", "]"), ("{ \"a\":", "1", "}")] {
            let text = String(repeating: opening, count: depth) + inside + String(repeating: closing, count: depth)
            let canonical = text.filter { $0 != " " }
            #expect(CanonicalJSON.text(of: text) == (excess <= 0 ? canonical : text))
        }
        #expect(CanonicalJSON.maximumDepth == 511)
    }

    @Test func nestingWithoutAnEndStaysAsItIs() {
        let text = String(repeating: "[", count: 200_000)
        #expect(CanonicalJSON.text(of: text) == text)
    }

    /// Removing or inserting a byte yields another value or none, and never traps.
    @Test func damagedTextDoesNotTrap() {
        let text = Array(#"{"b":[1,-2.5e+3,"x\n\u00e9\ud83d\ude00"],"a":{"c":null,"d":true}}"#.utf8)
        for position in text.indices {
            #expect(CanonicalJSON.bytes(of: text[..<position]) == Array(text[..<position]))
            for byte in [0x00, 0x20, 0x22, 0x2C, 0x30, 0x5C, 0x7B, 0x7D, 0x80, 0xFF] as [UInt8] {
                var damaged = text
                damaged[position] = byte
                let once = CanonicalJSON.bytes(of: damaged)
                #expect(CanonicalJSON.bytes(of: once) == once)
            }
        }
    }
}
