// Completions and the manual page: every command and every option is in each.
import Foundation
import Testing

@testable import ChappieCommand

@Suite struct CompletionTests {
    @Test(arguments: CompletionShell.allCases) func scriptHasEveryOption(of shell: CompletionShell) {
        for command in CommandDispatch.commands {
            let script = shell.script(for: [command])
            for option in command.allOptions {
                #expect(script.contains(shell == .fish ? " -l \(option.name) " : "--\(option.name)"))
            }
        }
    }

    /// Returns what bash offers for words of a command line.
    private static func offers(_ words: [String]) throws -> Set<String> {
        let line = words.map { "'\($0)'" }.joined(separator: " ")
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = [
            "-euc",
            CompletionShell.bash.script(for: CommandDispatch.commands) + """
                COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1)
                _chappie || true
                printf '%s\\n' "${COMPREPLY[@]}"
                """,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return Set(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    @Test func bashOffersCommandsOptionsAndValues() throws {
        #expect(try Self.offers(["chappie", "s"]) == ["stream", "serve", "sse"])
        #expect(try Self.offers(["chappie", "--v"]) == ["--version"])
        #expect(try Self.offers(["chappie", "help", "l"]) == ["login", "logout"])
        let options: Set = ["--request", "--recovery", "--retry-429", "--report"]
        #expect(try Self.offers(["chappie", "stream", "--re"]) == options)
        #expect(try Self.offers(["chappie", "stream", "--raw", "a"]) == ["all"])
        #expect(try Self.offers(["chappie", "stream", "--raw", "=", "a"]) == ["all"])
        #expect(try Self.offers(["chappie", "stream", "--raw", "="]) == ["none", "unsurfaced", "all"])
        #expect(try Self.offers(["chappie", "completion", ""]) == ["bash", "zsh", "fish"])
        #expect(try Self.offers(["chappie", "completion", "--h"]) == ["--help"])
        #expect(try Self.offers(["chappie", "serve", "--color", ""]) == ["auto", "always", "never"])
        #expect(try Self.offers(["chappie", "serve", "--scenario", "resume-cut-"]) == ["resume-cut-twice"])
        // Bash itself offers files there, and where no scenario has such a name.
        #expect(try Self.offers(["chappie", "serve", "--scenario", "./"]).isEmpty)
        #expect(try Self.offers(["chappie", "stream", "--request", ""]).isEmpty)
        #expect(try Self.offers(["chappie", "stream", "hi"]).isEmpty)
    }

    @Test func manualPageHasEveryCommandAndOption() {
        for command in CommandDispatch.commands {
            let page = ManualPage.text(for: [command])
            #expect(page.contains("\n.Ss chappie \(command.name)\n"))
            for option in command.allOptions { #expect(page.contains("\n.It Fl Fl \(option.name)")) }
        }
        let page = ManualPage.text(for: CommandDispatch.commands)
        for status in ExitCode.allCases { #expect(page.contains("\n.It \(status.rawValue)\n")) }
    }

    /// A word at the beginning of a line that looks like a request would be one.
    @Test func manualPageEscapesText() {
        let command = CommandSyntax(
            name: "x", summary: ".so file", options: [.init("a", #"V"W"#, #"'b\c"#)], notes: ["One. Two."])
        let page = ManualPage.text(for: [command])
        #expect(page.contains("\n.It Fl Fl a Ar V\\(dqW\n"))
        #expect(page.contains("\nOne.\nTwo.\n"))
        #expect(page.contains("\n\\&.so file\n"))
        #expect(page.contains("\n\\&'b\\ec\n"))
    }
}
