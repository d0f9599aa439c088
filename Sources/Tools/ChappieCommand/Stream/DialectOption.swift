// The option of the command line for the language of a server.
import Chappie
import ChappieTransport

/// The language of a server, as the arguments and the environment name it.
enum DialectOption {
    /// The option.
    static let option = CommandSyntax.Option(
        "dialect", "WHICH",
        "what the server speaks: responses, or chat for Chat Completions, which has no WebSocket; "
            + "environment CHAPPIE_DIALECT; default responses",
        values: ChappieDialect.allCases.map(\.rawValue))
    private static let variable = "CHAPPIE_DIALECT"

    /// Reads the option, or else the environment; `.responses` where neither names one.
    static func read(
        _ arguments: ParsedArguments, environment: [String: String]
    ) throws(UsageError) -> ChappieDialect {
        if let dialect: ChappieDialect = try arguments.choice("dialect") { return dialect }
        guard let word = environment[Self.variable], !word.isEmpty else { return .responses }
        guard let dialect = ChappieDialect(rawValue: word) else {
            let words = ChappieDialect.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(Self.variable) needs one of \(words), not '\(word)'")
        }
        return dialect
    }
}
