// `--tool` and what a command's run tells the model.
import Chappie
import Foundation
import Testing

@testable import ChappieCommand

@Suite struct CommandToolTests {
    @Test func firstEqualsSignEndsTheName() throws {
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

    @Test func failedCommandReportsHowItEnded() {
        let status = CommandTool.text(of: .init(output: Array("x".utf8), ending: .exited(status: 3)))
        #expect(status.text == "x\n[the command ended with status 3]" && !status.isSuccess)
        let signal = CommandTool.text(of: .init(ending: .killed(signal: 11)))
        #expect(signal.text == "[the command was ended by signal 11]" && !signal.isSuccess)
        let cut = CommandTool.text(of: .init(output: Array("y\n".utf8), isCut: true, ending: .killed(signal: 9)))
        #expect(cut.text == "y\n[the command printed more than 1048576 bytes and was killed]" && !cut.isSuccess)
    }

    @Test func bytesThatAreNotUTF8AreReplaced() {
        let result = CommandTool.text(of: .init(output: [0x61, 0xFF, 0xE2, 0x82, 0x62]))
        #expect(result.text == "a\u{FFFD}\u{FFFD}b" && result.isSuccess)
    }

    @Test(arguments: [
        ("y\n", true), ("YES\n", true), (" y \r\n", true), ("\n", false), ("n\n", false), ("", false), ("yo\n", false),
    ])
    func onlyYOrYesApproves(_ line: String, _ isYes: Bool) {
        #expect(TerminalQuestion.isYes(line) == isYes)
    }

    /// Text that the client cuts would lose the note about the end of the command.
    @Test func aCutOutputAndItsNoteFitTheClientsLimit() throws {
        let worst = ShellCommand.Outcome(
            output: [UInt8](repeating: 0xFF, count: CommandTool.outputLimit), isCut: true, ending: .killed(signal: 9))
        let options = try StreamOptions(
            ArgumentParser(StreamCommand.syntax).parse(["--tool", "t=cat", "hi"]), environment: [:])
        let url = try #require(URL(string: "http://127.0.0.1:1/v1"))
        let limit = options.configuration(baseURL: url).limits.toolOutputByteCount
        #expect(CommandTool.text(of: worst).text.utf8.count <= limit)
    }

    @Test func theCommandReadsTheArgumentsAndItsOutputIsTheResult() async throws {
        signal(SIGPIPE, SIG_IGN)
        let call = ChappieToolCall(callID: "c", name: "t", arguments: #"{"city":"Oslo"}"#)
        let surroundings = ShellCommand.Surroundings(environment: [:])
        #expect(
            try await CommandTool.result(of: "cat", call, in: surroundings)
                == ChappieToolResult(output: call.arguments))
        #expect(
            try await CommandTool.result(of: "cat; exit 3", call, in: surroundings)
                == .failed(call.arguments + "\n[the command ended with status 3]"))
        #expect(
            try await CommandTool.result(of: #"printf 'a\377b'"#, call, in: surroundings)
                == ChappieToolResult(output: "a\u{FFFD}b"))
    }

    @Test func commandThatCannotBeStartedIsAFailedResult() async throws {
        // One word of a command line may have 128 KiB on Linux, and all of them together 1 MiB on macOS.
        let command = String(repeating: "x", count: 2 << 20)
        let result = try await CommandTool.result(
            of: command, .init(callID: "c", name: "t", arguments: "{}"), in: .init(environment: [:]))
        #expect(result == .failed("[the command could not be started: Argument list too long]"))
    }

    @Test func denialWithoutATerminalDiffersFromTheUsersDenial() {
        #expect(TerminalQuestion.Answer.yes.approval == .approved())
        #expect(TerminalQuestion.Answer.no.approval == .denied("The user does not want it."))
        #expect(
            TerminalQuestion.Answer.nobody.approval == .denied("There is nobody at a terminal who could be asked."))
    }
}
