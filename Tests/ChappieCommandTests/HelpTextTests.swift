// Every command's help.
import Testing

@testable import ChappieCommand

@Suite struct HelpTextTests {
    @Test(arguments: CommandDispatch.commands.map(\.name)) func everyOptionIsInTheHelp(of name: String) throws {
        let syntax = try #require(CommandDispatch.commands.first { $0.name == name })
        let text = HelpText.text(for: syntax)
        for option in syntax.allOptions { #expect(text.contains("  \(option.spelling)")) }
        #expect(text.hasPrefix("Usage: chappie \(name) "))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func everyCommandAndExitCodeIsInTheHelpOfTheProgram() {
        let text = HelpText.text(for: CommandDispatch.commands)
        for command in CommandDispatch.commands { #expect(text.contains("\n  \(command.name) ")) }
        for status in ExitCode.allCases { #expect(text.contains("\n  \(status.rawValue) ")) }
    }

    @Test func theVersionNamesThePackageAndItsLibraries() {
        let text = PackageVersion.text(libraries: [("libwebsockets", "4.1.6"), ("zlib", "1.2.13")])
        #expect(text == "chappie \(PackageVersion.current)\nlibwebsockets 4.1.6\nzlib 1.2.13\n")
    }
}
