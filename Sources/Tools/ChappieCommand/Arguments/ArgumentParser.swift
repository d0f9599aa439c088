// Parses the words of a command line into options and operands. Pure.
import ChappieTestServer

/// Reads a command's arguments by its syntax.
///
/// `--name value` and `--name=value` mean the same; `--` ends the options; `-` is an operand.
struct ArgumentParser {
    private let syntax: CommandSyntax

    /// Creates a parser for one command.
    init(_ syntax: CommandSyntax) { self.syntax = syntax }

    /// Returns the options and operands, or throws the fault of the command line.
    func parse(_ words: [String]) throws(UsageError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                parsed.operands += rest
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                parsed.operands.append(word)
                continue
            }
            try self.parseOption(word, &rest, into: &parsed)
        }
        try self.checkOperands(of: parsed)
        return parsed
    }

    private func parseOption(
        _ word: String, _ rest: inout ArraySlice<String>, into parsed: inout ParsedArguments
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let spelling = parts[0] == "-h" ? "--help" : parts[0]
        guard let option = self.syntax.allOptions.first(where: { "--\($0.name)" == spelling }) else {
            throw self.unknownOption(parts[0])
        }
        let attached = parts.count > 1 ? parts[1] : nil
        guard let valueName = option.valueName else {
            if attached != nil { throw UsageError("option --\(option.name) takes no value") }
            parsed.values[option.name, default: []].append("")
            return
        }
        // A word that looks like an option is seldom a value; `--name=--value` marks it as one.
        guard let value = attached ?? rest.first, attached != nil || !value.hasPrefix("--") else {
            throw UsageError("option --\(option.name) needs a value: --\(option.name) \(valueName)")
        }
        if attached == nil { rest.removeFirst() }
        parsed.values[option.name, default: []].append(value)
    }

    private func unknownOption(_ word: String) -> UsageError {
        let name = String(word.drop { $0 == "-" })
        let nearest = EditDistance.nearest(to: name, among: self.syntax.allOptions.map(\.name))
        return UsageError("unknown option \(word)" + (nearest.map { "; did you mean --\($0)?" } ?? ""))
    }

    private func checkOperands(of parsed: ParsedArguments) throws(UsageError) {
        let limit = self.syntax.operand == nil ? 0 : 1
        guard parsed.operands.count > limit, !parsed.has("help") else { return }
        let name = self.syntax.operand ?? "operand"
        throw UsageError(
            limit == 0
                ? "unexpected argument \(parsed.operands[0])"
                : "only one \(name) is possible; quote it if it has several words")
    }
}
