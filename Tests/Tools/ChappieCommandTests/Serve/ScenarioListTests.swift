// The list of `chappie serve --list-scenarios`.
import ChappieTestServer
import Testing

@testable import ChappieCommand

@Suite struct ScenarioListTests {
    private static let plain = ScenarioList.text(
        of: ChappieTestServer.builtInScenarioFamilies, style: TerminalStyle(isColored: false))

    @Test func everyScenarioBeginsALineWithTwoBlanksAndItsName() {
        let lines = Self.plain.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        let names = lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(names == ChappieTestServer.builtInScenarios.map(\.name))
    }

    @Test func everyFamilyHasAHeadingAfterABlankLine() {
        for family in ChappieTestServer.builtInScenarioFamilies {
            #expect(Self.plain.contains("\n\n\(family.title)\n"), "\(family.title)")
        }
    }

    @Test func linesHaveAtMost80Columns() {
        for line in Self.plain.split(separator: "\n") {
            #expect(line.count <= 80 && line.last != " ", "\(line)")
        }
    }

    @Test func coloredListHasTheSameText() {
        let colored = ScenarioList.text(
            of: ChappieTestServer.builtInScenarioFamilies, style: TerminalStyle(isColored: true))
        #expect(colored.contains("  \u{1B}[1mok\u{1B}[0m "))
        #expect(colored.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: "") == Self.plain)
    }
}
