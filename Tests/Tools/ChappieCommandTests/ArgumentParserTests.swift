// The command line's words, their conversion to types, and the suggestions for wrong ones.
import ChappieTestServer
import Testing

@testable import ChappieCommand

private let syntax = CommandSyntax(
    name: "test", summary: "For tests.", operand: "PROMPT",
    options: [
        .init("model", "NAME", "a model"), .init("json", "lines"), .init("max-reconnects", "N", "a count"),
        .init("timeout", "S", "seconds"),
    ])

private func parse(_ words: String...) throws(UsageError) -> ParsedArguments { try ArgumentParser(syntax).parse(words) }

private func message(_ words: [String]) -> String? {
    do throws(UsageError) {
        _ = try ArgumentParser(syntax).parse(words)
        return nil
    } catch {
        return error.message
    }
}

@Suite struct ArgumentParserTests {
    @Test func aValueFollowsOrIsAttached() throws {
        #expect(try parse("--model", "m").text("model") == "m")
        #expect(try parse("--model=m").text("model") == "m")
        #expect(try parse("--model=").text("model") == "")
        #expect(try parse("--model=a=b").text("model") == "a=b")
        #expect(try parse("--model=--json").text("model") == "--json")
    }

    @Test func optionsAndOperandsMix() throws {
        let parsed = try parse("--json", "hello", "--model", "m")
        #expect(parsed == ParsedArguments(values: ["json": [""], "model": ["m"]], operands: ["hello"]))
    }

    @Test func aHyphenIsAnOperand() throws {
        #expect(try parse("-").operands == ["-"])
        #expect(try parse("--model", "-").text("model") == "-")
    }

    @Test func twoHyphensEndTheOptions() throws {
        #expect(try parse("--", "--json").operands == ["--json"])
    }

    @Test func theLastOfRepeatedOptionsCounts() throws {
        let parsed = try parse("--model", "a", "--model", "b")
        #expect(parsed.text("model") == "b")
        #expect(parsed.texts("model") == ["a", "b"])
    }

    @Test func helpIsAnOptionOfEveryCommand() throws {
        #expect(try parse("--help").has("help"))
        #expect(try parse("-h").has("help"))
    }

    @Test(
        arguments: [
            (["--modle", "m"], "unknown option --modle; did you mean --model?"),
            (["--max"], "unknown option --max; did you mean --max-reconnects?"),
            (["--jsno=1"], "unknown option --jsno; did you mean --json?"),
            (["-j"], "unknown option -j; did you mean --json?"),
            (["--model"], "option --model needs a value: --model NAME"),
            (["--model", "--json"], "option --model needs a value: --model NAME"),
            (["--json=1"], "option --json takes no value"),
            (["a", "b"], "only one PROMPT is possible; quote it if it has several words"),
        ] as [([String], String)]
    ) func wrongWordsAreExplained(words: [String], expected: String) {
        #expect(message(words) == expected)
    }

    @Test func aCommandWithoutAnOperandTakesNone() {
        #expect(throws: UsageError("unexpected argument x")) {
            try ArgumentParser(SSECommand.syntax).parse(["x"])
        }
    }

    @Test func wholeNumbersAreCheckedAtTheirBounds() throws {
        #expect(try parse("--max-reconnects", "0").integer("max-reconnects", in: 0...5) == 0)
        #expect(try parse("--max-reconnects", "5").integer("max-reconnects", in: 0...5) == 5)
        #expect(try parse().integer("max-reconnects", in: 0...5) == nil)
        for text in ["6", "-1", "x", "", "1.5", "99999999999999999999"] {
            #expect(throws: UsageError("option --max-reconnects needs a whole number from 0 to 5, not '\(text)'")) {
                try parse("--max-reconnects=\(text)").integer("max-reconnects", in: 0...5)
            }
        }
    }

    @Test func timeBudgetsAreSecondsAndZeroIsOff() throws {
        #expect(try parse("--timeout", "0").budget("timeout") == .off)
        #expect(try parse("--timeout", "2.5").budget("timeout") == .limit(.milliseconds(2500)))
        #expect(try parse("--timeout", "31536000000").budget("timeout") == .limit(.seconds(31_536_000_000)))
        #expect(try parse().budget("timeout") == nil)
        for text in ["31536000001", "-1", "inf", "nan", "soon", ""] {
            #expect(throws: UsageError.self) { try parse("--timeout=\(text)").budget("timeout") }
        }
    }

    @Test func positiveNumbersAreAboveZero() throws {
        #expect(try parse("--timeout", "0.1").positiveNumber("timeout") == 0.1)
        for text in ["0", "-1", "inf", "nan", "x"] {
            #expect(throws: UsageError.self) { try parse("--timeout=\(text)").positiveNumber("timeout") }
        }
    }

    @Test func choicesNameTheirWords() throws {
        #expect(try parse("--model", "never").choice("model", of: ColorChoice.self) == .never)
        #expect(throws: UsageError("option --model needs one of auto, always, never, not 'x'")) {
            try parse("--model", "x").choice("model", of: ColorChoice.self)
        }
    }
}

@Suite struct UnknownCommandTests {
    @Test(arguments: [
        ("strem", "unknown command strem; did you mean stream?"), ("xyzzy", "unknown command xyzzy"),
        ("--verison", "unknown option --verison; did you mean --version?"),
        ("-v", "unknown option -v; did you mean --version?"), ("-V", "unknown option -V; did you mean --version?"),
        ("-x", "unknown option -x"), ("--x", "unknown option --x"),
    ])
    func nearNameIsSuggested(name: String, words: String) {
        #expect(CommandDispatch.words(forUnknown: name) == words)
    }
}

@Suite struct EditDistanceTests {
    @Test(
        arguments: [
            ("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3),
            ("modle", "model", 1), ("jsn", "json", 1), ("jsson", "json", 1),
        ] as [(String, String, Int)]
    ) func distanceCountsLetters(first: String, second: String, distance: Int) {
        #expect(EditDistance.between(first, second) == distance)
        #expect(EditDistance.between(second, first) == distance)
    }

    @Test func theNearestIsSuggestedAndACompletionFirst() {
        #expect(EditDistance.nearest(to: "srve", among: ["stream", "serve", "sse"]) == "serve")
        #expect(EditDistance.nearest(to: "str", among: ["sse", "stream"]) == "stream")
        #expect(EditDistance.nearest(to: "frobnicate", among: ["stream", "serve", "sse"]) == nil)
        #expect(EditDistance.nearest(to: "foo", among: ["sse"]) == nil)
        #expect(EditDistance.nearest(to: "x", among: []) == nil)
        #expect(EditDistance.nearest(to: String(repeating: "x", count: 1_000_000), among: ["sse"]) == nil)
    }
}
