// Every command's help.
import Testing

@testable import ChappieCommand

@Suite struct HelpTextTests {
    @Test(arguments: CommandDispatch.commands.map(\.name)) func everyOptionIsInTheHelp(of name: String) throws {
        let syntax = try #require(CommandDispatch.commands.first { $0.name == name })
        let text = HelpText().text(for: syntax)
        for option in syntax.allOptions { #expect(text.contains("  \(option.spelling)")) }
        #expect(text.hasPrefix("Usage: chappie \(name) "))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    /// A line is wider only where one word is: an option's spelling, or an address.
    @Test(arguments: CommandDispatch.commands.map(\.name), [40, 60, 80])
    func helpFitsTheTerminal(of name: String, width: Int) throws {
        let syntax = try #require(CommandDispatch.commands.first { $0.name == name })
        let spellings = syntax.allOptions.map(\.spelling) + syntax.sections.flatMap { $0.rows.map(\.name) }
        for text in [
            HelpText(columnCount: width).text(for: syntax),
            HelpText(columnCount: width).text(for: CommandDispatch.commands),
        ] {
            for line in text.split(separator: "\n") where line.count > width {
                let words = String(line.drop { $0 == " " })
                #expect(!words.contains(" ") || spellings.contains(words) || words.hasPrefix("Usage:"), "\(line)")
            }
        }
    }

    @Test func everyCommandAndExitCodeIsInTheHelpOfTheProgram() {
        let text = HelpText().text(for: CommandDispatch.commands)
        for command in CommandDispatch.commands { #expect(text.contains("\n  \(command.name) ")) }
        for status in ExitCode.allCases { #expect(text.contains("\n  \(status.rawValue) ")) }
    }

    @Test func theVersionNamesThePackageAndItsLibraries() {
        let text = PackageVersion.text(libraries: [("libwebsockets", "4.1.6"), ("zlib", "1.2.13")])
        #expect(text == "chappie \(PackageVersion.current)\nlibwebsockets 4.1.6\nzlib 1.2.13\n")
    }
}
