// The option of the command line for the language of a server.
import Chappie
import ChappieTransport

/// The language of a server, as the arguments and the environment name it.
enum DialectOption {
    /// The option.
    static let option = CommandSyntax.Option(
        "dialect", "WHICH",
        "what the server speaks: responses, chat for Chat Completions, or messages for Anthropic's Messages, both "
            + "without a WebSocket; environment CHAPPIE_DIALECT; default responses",
        values: ChappieDialect.allCases.map(\.rawValue))
    private static let variable = "CHAPPIE_DIALECT"

    /// Reads the option, or else the dialect of a known server, or else the environment; `.responses` where none names
    /// one.
    static func read(
        _ arguments: ParsedArguments, environment: [String: String], of endpoint: ChappieEndpoint? = nil
    ) throws(UsageError) -> ChappieDialect {
        if let dialect: ChappieDialect = try arguments.choice("dialect") { return dialect }
        if let endpoint { return endpoint.dialect }
        guard let word = environment[Self.variable], !word.isEmpty else { return .responses }
        guard let dialect = ChappieDialect(rawValue: word) else {
            let words = ChappieDialect.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(Self.variable) needs one of \(words), not '\(word)'")
        }
        return dialect
    }
}
