// `--tool NAME=COMMAND`: a command of the shell that the model may call.
import Chappie
import PlatformFoundation

/// A shell command as a tool.
struct CommandTool: Equatable {
    /// The model's name for it.
    let name: String
    /// The shell command.
    let command: String

    /// The most bytes of a command's output that are sent to the model.
    static let outputLimit = 1 << 20
    /// The most bytes of the text made of that: U+FFFD is three bytes for one, and a note follows.
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

    /// Returns the text of a run for the model: the output, and the exit status if it is not a success.
    ///
    /// Bytes that are not UTF-8 become U+FFFD.
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
    /// Returns the tool for the client.
    ///
    /// The model is not told the command, which may contain secrets.
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

    /// Returns the result of a call; a command that cannot be started is a failure that the model reads.
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

/// The user's choice about running tools that the model calls.
enum ToolApprovalChoice: String, CaseIterable {
    /// They run at once.
    case always
    /// They never run, and the model is told so.
    case never
    /// The user is asked on the terminal.
    case ask

    /// The choice as the client's policy.
    var policy: ChappieToolPolicy {
        switch self {
        case .always: .automatic
        case .never: .deny
        case .ask: .ask
        }
    }
}

extension TerminalQuestion.Answer {
    /// The choice as an approval for the client and the model.
    var approval: ChappieToolApproval {
        switch self {
        case .yes: .approved()
        case .no: .denied("The user does not want it.")
        case .nobody: .denied("There is nobody at a terminal who could be asked.")
        }
    }
}
