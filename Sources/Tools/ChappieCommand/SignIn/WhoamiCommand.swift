// `chappie whoami`: the signed-in accounts, from the stored credentials; no request is sent.
import Chappie
import ChappieSignIn

/// Prints accounts.
struct WhoamiCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "whoami",
        summary: "Prints the signed-in account, as the stored tokens describe it, and sends no request.",
        options: [
            SignInOptions.accountOption, .init("all", "print every account"), SignInOptions.storeOption,
            .init("json", "print one JSON object a line instead of text"),
        ],
        notes: [SignInOptions.fileNote, "When nobody is signed in, the exit code is 77."]
    )

    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Prints the account, or all of them.
    func run(_ arguments: ParsedArguments) throws -> ExitCode {
        let options = try SignInOptions(arguments, environment: self.environment)
        let printer = AccountPrinter(
            style: self.console.outputStyle, time: .current, width: self.console.outputWidth)
        let accounts = try Self.accounts(options, all: arguments.has("all"))
        try self.console.write(
            accounts.map { arguments.has("json") ? AccountPrinter.line($0) : printer.text($0) }.joined())
        return .success
    }

    private static func accounts(_ options: SignInOptions, all: Bool) throws -> [ChappieAccount] {
        let session = Chappie.authSession(configuration: options.configurationForLooking)
        guard all else {
            guard let account = try session.account() else { throw SignedOutError(account: options.account) }
            return [account]
        }
        let accounts = try session.accounts()
        guard !accounts.isEmpty else { throw SignedOutError() }
        return accounts
    }
}
