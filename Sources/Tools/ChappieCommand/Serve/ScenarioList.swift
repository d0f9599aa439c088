// The text of `chappie serve --list-scenarios`. Pure: scenarios in, text out.

import ChappieTestServer

/// Formats the list of built-in scenarios, in lines of at most 80 columns.
///
/// Every scenario begins a line with two blanks and its name; no other line begins with exactly two blanks.
enum ScenarioList {
    private static let width = 80
    private static let introduction =
        "Each scenario is run by 'chappie serve --scenario NAME'. An attempt is one request of the responses endpoint: "
        + "a WebSocket's opening handshake (upgrade), a POST, or a GET that resumes a response."

    /// Returns the list, with a heading for each family.
    static func text(of families: [ChappieTestServer.ScenarioFamily], style: TerminalStyle) -> String {
        let groups = families.map { "\n" + Self.group($0, style: style) }
        return HelpText.wrapped(Self.introduction, indentation: 0, width: Self.width) + groups.joined()
    }

    private static func group(_ family: ChappieTestServer.ScenarioFamily, style: TerminalStyle) -> String {
        let column = (family.scenarios.map(\.name.count).max() ?? 0) + 4
        let heading = style.bold(family.title) + "\n"
        let description = HelpText.wrapped(family.description, indentation: 0, width: Self.width)
        let rows = family.scenarios.map { scenario in
            let summary = HelpText.wrapped(scenario.summary, indentation: column, width: Self.width)
            return "  " + style.bold(scenario.name) + summary.dropFirst(2 + scenario.name.count)
        }
        return heading + description + rows.joined()
    }
}
