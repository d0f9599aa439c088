// The option of the command line for a server that is known by name.
import Chappie

/// A server of models by its name: its address, its API, and where its key is.
enum EndpointOption {
    /// The option.
    static let option = CommandSyntax.Option(
        "endpoint", "NAME",
        "a known server, in place of its address and --dialect: "
            + ChappieEndpoint.named.map(\.name).joined(separator: ", ")
            + "; its key is --api-key, or in the server's own variable, such as ANTHROPIC_API_KEY",
        values: ChappieEndpoint.named.map(\.name))

    /// Reads the option; nil where it is not given.
    static func read(_ arguments: ParsedArguments) throws(UsageError) -> ChappieEndpoint? {
        guard let name = arguments.text("endpoint") else { return nil }
        for option in ["account", "demo"] where arguments.has(option) {
            throw UsageError("--endpoint and --\(option) exclude each other")
        }
        guard let known = ChappieEndpoint.named.first(where: { $0.name == name.lowercased() }) else {
            let names = ChappieEndpoint.named.map(\.name).joined(separator: ", ")
            throw UsageError("--endpoint needs one of \(names), not '\(name)'")
        }
        return known.endpoint
    }

    /// The environment variables with the key of a server, in the order of their precedence; a known server gets no key
    /// of another one.
    static func keyVariables(of endpoint: ChappieEndpoint?) -> [String] {
        guard let endpoint else { return ["CHAPPIE_API_KEY", "OPENAI_API_KEY"] }
        return ["CHAPPIE_API_KEY"] + (endpoint.apiKeyVariable.map { [$0] } ?? [])
    }
}
