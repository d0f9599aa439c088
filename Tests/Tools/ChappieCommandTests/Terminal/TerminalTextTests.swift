// Text from outside on a terminal.
import Foundation
import Testing

@testable import ChappieCommand

@Suite(.timeLimit(.minutes(10))) struct EscapedTextTests {
    @Test(arguments: [
        ("", ""), (#"{"city":"Oslo"}"#, #"{"city":"Oslo"}"#), ("Zürich 東京 №1 😀 €", "Zürich 東京 №1 😀 €"),
        ("a\nb\tc\rd", #"a\u{A}b\u{9}c\u{D}d"#), ("\u{1B}]0;x\u{7}", #"\u{1B}]0;x\u{7}"#), ("\u{9B}1m", #"\u{9B}1m"#),
        ("a\u{202E}b\u{2066}c\u{200F}", #"a\u{202E}b\u{2066}c\u{200F}"#),
        ("a\u{200B}b\u{200D}c\u{FEFF}d\u{2060}e\u{AD}f", #"a\u{200B}b\u{200D}c\u{FEFF}d\u{2060}e\u{AD}f"#),
        ("a\u{2028}b\u{2029}c\u{85}d", #"a\u{2028}b\u{2029}c\u{85}d"#),
        ("a\u{A0}b\u{3000}c", #"a\u{A0}b\u{3000}c"#), ("\u{2800}\u{3164}\u{115F}", #"\u{2800}\u{3164}\u{115F}"#),
        ("\u{E0041}\u{E000}\u{378}", #"\u{E0041}\u{E000}\u{378}"#), ("…", #"\u{2026}"#),
        // Languages have up to two marks on a letter; more are escaped, and so is one on another character.
        ("e\u{301}\u{323}x", "e\u{301}\u{323}x"), ("e\u{301}\u{323}\u{304}", "e\u{301}\u{323}\\u{304}"),
        ("हिन्दी", "हिन्दी"), ("1\u{301}", #"1\u{301}"#), ("\u{301}a", #"\u{301}a"#), ("a\u{20DD}", #"a\u{20DD}"#),
    ])
    func invisibleAndAmbiguousCharactersAreEscaped(text: String, escaped: String) {
        #expect(text.escaped(columns: 200).unicodeScalars.elementsEqual(escaped.unicodeScalars))
    }

    @Test func middleOfALongTextIsLeftOut() {
        let text = "begin" + String(repeating: "x", count: 10_000) + "the end"
        let escaped = text.escaped(columns: 60)
        #expect(escaped == "begin" + String(repeating: "x", count: 14) + "…(10012 characters)…xxxxxxxxxxxxthe end")
        #expect(String(repeating: "x", count: 60).escaped(columns: 60) == String(repeating: "x", count: 60))
        #expect(String(repeating: "x", count: 61).escaped(columns: 60).contains("…(61 characters)…"))
    }

    @Test(arguments: ["x", "東", "\u{202E}", "\u{301}", "e\u{301}", "\n"], [20, 24, 40, 61, 80, 200])
    func noTextIsWiderThanItsColumns(piece: String, columns: Int) {
        for count in [0, 1, 5, 20, 41, 1_000] {
            let escaped = String(repeating: piece, count: count).escaped(columns: columns)
            let width = escaped.unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : 2) }
            #expect(width <= max(columns, "……(1000 characters)".count + 2), "\(escaped)")
            #expect(!escaped.contains("\n"))
        }
    }

    @Test func hugeTextIsEscapedAtOnce() {
        let text = String(repeating: "a\u{301}\n", count: 100_000)
        #expect(text.escaped(columns: 2_000).hasPrefix("a\u{301}\\u{A}"))
        #expect(text.escaped(columns: 2_000).contains("…(300000 characters)…"))
    }

    @Test(arguments: [
        ("plain", "plain"), ("a\tb\nc", "a b c"), ("a\r\u{1B}[31mb\u{7F}\u{85}", "a[31mb"), ("a\u{2028}b", "a b"),
        ("\u{202E}a\u{2066}b\u{200F}", "ab"), ("ä€😀", "ä€😀"), ("", ""), ("a\u{200B}b\u{A0}c\u{E0041}", "ab c"),
        ("a\u{301}\u{302}\u{303}\u{304}", "a\u{301}\u{302}"),
    ])
    func textHasNoCharactersThatATerminalInterprets(text: String, line: String) {
        #expect(text.onOneLine().unicodeScalars.elementsEqual(line.unicodeScalars))
    }

    @Test(arguments: [
        ("", ""), ("Zürich 東京 😀 a\tb\nc", "Zürich 東京 😀 a\tb\nc"), ("a\u{1B}[2Jb\r", #"a\u{1B}[2Jb\u{D}"#),
        ("\u{0}\u{7F}\u{9B}", #"\u{0}\u{7F}\u{9B}"#),
        ("\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}", #"\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}"#),
        ("\u{2066}\u{2067}\u{2068}\u{2069}", #"\u{2066}\u{2067}\u{2068}\u{2069}"#),
        ("\u{200E}\u{200F}\u{61C}", #"\u{200E}\u{200F}\u{61C}"#),
        // A family is letters that are joined, and is shown as it is.
        ("👩\u{200D}👧 e\u{301}\u{A0}\u{2028}", "👩\u{200D}👧 e\u{301}\u{A0}\u{2028}"),
    ])
    func controlCharactersAreEscapedWhereTextKeepsItsLines(text: String, escaped: String) {
        #expect(text.withEscapedControlCharacters.unicodeScalars.elementsEqual(escaped.unicodeScalars))
    }

    @Test func textOverTheLimitIsCut() {
        #expect("12345".onOneLine(limit: 5) == "12345")
        #expect("123456".onOneLine(limit: 5) == "1234…")
        #expect(String(repeating: "a", count: 1_000_000).onOneLine().count == 2_000)
    }
}

@Suite struct ApprovalQuestionTests {
    private static func words(_ arguments: String, tool: String = "delete_files", columns: Int = 80) -> String {
        TerminalQuestion.words(tool: tool, arguments: arguments, columns: columns)
    }

    @Test func shortCallIsShownWhole() {
        #expect(
            Self.words(#"{"path":"/tmp/x"}"#) == #"Run delete_files with {"path":"/tmp/x"}? [y/N]"#)
    }

    @Test(arguments: [
        String(repeating: "\n", count: 500), String(repeating: "x", count: 5_000), String(repeating: " ", count: 5_000),
        String(repeating: "\u{202E}", count: 500), "a" + String(repeating: "\u{301}", count: 5_000),
        String(repeating: "東", count: 5_000), "\u{1B}[2J\u{1B}[H",
        "{}? [y/N] \n" + String(repeating: "\n", count: 100) + "Run harmless with {}",
    ])
    func toolsNameAndTheEndOfTheQuestionStayOnTheLine(arguments: String) {
        for columns in [60, 80, 132] {
            let words = Self.words(arguments, columns: columns)
            #expect(words.hasPrefix("Run delete_files with ") && words.hasSuffix("? [y/N]"))
            let width = words.unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : 2) }
            // Behind it there is room for the answer.
            #expect(width + " yes ".count <= columns, "\(words)")
            #expect(words.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        }
    }

    @Test func longCallShowsItsCharacterCountInTheMiddle() {
        let words = Self.words(#"{"command":"rm -rf /"# + String(repeating: " ", count: 3_000) + #"; echo hi"}"#)
        #expect(words.hasPrefix(#"Run delete_files with {"comm"#))
        #expect(words.contains("…(3031 characters)…"))
        #expect(words.hasSuffix(#"hi"}? [y/N]"#))
    }

    /// The longest name of a tool leaves little room, and is never cut itself.
    @Test func longToolNameIsNotCut() {
        let name = String(repeating: "n", count: 64)
        #expect(Self.words("{}", tool: name) == "Run \(name) with {}? [y/N]")
        #expect(Self.words(String(repeating: "x", count: 500), tool: name).count <= 64 + 18 + 24)
    }
}
