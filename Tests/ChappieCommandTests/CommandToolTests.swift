// `--tool` and what a command's run tells the model.
import Testing

@testable import ChappieCommand

@Suite struct CommandToolTests {
    @Test func theFirstEqualsSignDivides() throws {
        let tool = try CommandTool("get_weather-2=FORMAT=3 curl -s x")
        #expect(tool.name == "get_weather-2")
        #expect(tool.command == "FORMAT=3 curl -s x")
    }

    @Test(arguments: [
        "", "name", "=command", "name=", "na me=x", "näme=x", String(repeating: "a", count: 65) + "=x", "a.b=x",
    ])
    func wrongToolsAreUsageErrors(_ text: String) {
        #expect(throws: UsageError.self) { try CommandTool(text) }
    }

    @Test func aSuccessIsItsOutputAlone() {
        let result = CommandTool.text(of: .init(output: Array("21 °C\n".utf8)))
        #expect(result.text == "21 °C\n" && result.isSuccess)
        #expect(CommandTool.text(of: .init()).text == "")
    }

    @Test func anythingElseSaysHowItEnded() {
        let status = CommandTool.text(of: .init(output: Array("x".utf8), ending: .exited(status: 3)))
        #expect(status.text == "x\n[the command ended with status 3]" && !status.isSuccess)
        let signal = CommandTool.text(of: .init(ending: .killed(signal: 11)))
        #expect(signal.text == "[the command was ended by signal 11]" && !signal.isSuccess)
        let cut = CommandTool.text(of: .init(output: Array("y\n".utf8), isCut: true, ending: .killed(signal: 9)))
        #expect(cut.text == "y\n[the command printed more than 1048576 bytes and was killed]" && !cut.isSuccess)
    }

    @Test func whatIsNotUTF8IsReplaced() {
        let result = CommandTool.text(of: .init(output: [0x61, 0xFF, 0xE2, 0x82, 0x62]))
        #expect(result.text == "a\u{FFFD}\u{FFFD}b" && result.isSuccess)
    }

    @Test(arguments: [
        ("y\n", true), ("YES\n", true), (" y \r\n", true), ("\n", false), ("n\n", false), ("", false), ("yo\n", false),
    ])
    func onlyYesIsYes(_ line: String, _ isYes: Bool) {
        #expect(TerminalQuestion.isYes(line) == isYes)
    }
}
