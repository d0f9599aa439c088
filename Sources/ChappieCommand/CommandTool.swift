// `--tool NAME=COMMAND`: a command of the shell that the model may call.
import Chappie

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A command of the shell as a tool.
struct CommandTool: Equatable {
    /// What the model calls it.
    let name: String
    /// What the shell runs.
    let command: String

    /// How much of a command's output goes back to the model, in bytes.
    static let outputLimit = 1 << 20
    /// What becomes of that at most: U+FFFD is three bytes for one, and a note follows.
    static let textLimit = 3 * outputLimit + 256

    /// Reads `NAME=COMMAND`.
    init(_ text: String) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[1].isEmpty else {
            throw UsageError("option --tool needs NAME=COMMAND, not '\(text)'")
        }
        guard (1...64).contains(parts[0].utf8.count), parts[0].utf8.allSatisfy(Self.isAllowed) else {
            throw UsageError("a tool's name has 1 to 64 letters, digits, '_' and '-', not '\(parts[0])'")
        }
        self.name = parts[0]
        self.command = parts[1]
    }

    /// The Responses API's rule for names of functions.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// What a run tells the model: the output, and how it ended if it did not end well.
    ///
    /// What is not UTF-8 becomes U+FFFD.
    static func text(of outcome: ShellCommand.Outcome) -> (text: String, isSuccess: Bool) {
        let text = String(decoding: outcome.output, as: UTF8.self)
        let note: String
        switch outcome.ending {
        case _ where outcome.isCut: note = "[the command printed more than \(Self.outputLimit) bytes and was killed]"
        case .exited(status: 0): return (text, true)
        case .exited(let status): note = "[the command ended with status \(status)]"
        case .killed(let signal): note = "[the command was ended by signal \(signal)]"
        }
        return (text.isEmpty || text.hasSuffix("\n") ? text + note : text + "\n" + note, false)
    }
}

extension CommandTool {
    /// The tool as the client takes it.
    ///
    /// The model is not told the command, which may hold what is nobody's business.
    func hostTool(_ approval: ToolApprovalChoice, in surroundings: ShellCommand.Surroundings) -> ChappieHostTool {
        let command = self.command
        return ChappieHostTool(
            name: self.name, description: "A program on the user's machine. It reads the arguments, a JSON object.",
            inputSchema: ["type": "object", "properties": [:], "additionalProperties": true],
            policy: approval.policy
        ) { call in
            try await Self.result(of: command, call, in: surroundings)
        }
    }

    /// What a command says to a call; one that cannot be started is a failure that the model may know of.
    static func result(
        of command: String, _ call: ChappieToolCall, in surroundings: ShellCommand.Surroundings
    ) async throws -> ChappieToolResult {
        let outcome: ShellCommand.Outcome
        do {
            outcome = try await ShellCommand.run(
                command, input: Array(call.arguments.utf8), limit: Self.outputLimit, in: surroundings)
        } catch let error as DescriptorError {
            return .failed("[the command could not be started: \(error.message)]")
        }
        let (text, isSuccess) = Self.text(of: outcome)
        return isSuccess ? ChappieToolResult(output: text) : .failed(text)
    }
}

/// Indicates whether tools run when the model calls them.
enum ToolApprovalChoice: String, CaseIterable {
    /// At once.
    case always
    /// Never; the model is told so.
    case never
    /// A person is asked on the terminal.
    case ask

    /// The same, for the client.
    var policy: ChappieToolPolicy {
        switch self {
        case .always: .automatic
        case .never: .deny
        case .ask: .ask
        }
    }
}

extension TerminalQuestion.Answer {
    /// The same, for the client and for the model.
    var approval: ChappieToolApproval {
        switch self {
        case .yes: .approved()
        case .no: .denied("The user does not want it.")
        case .nobody: .denied("There is nobody at a terminal who could be asked.")
        }
    }
}
