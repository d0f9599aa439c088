// `chappie usage`: the used part of an account's limits.
import Chappie
import ChappieSignIn
import PlatformFoundation

/// Asks the server, and prints its answer.
struct UsageCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "usage",
        summary: "Prints the used part of a signed-in account's usage limits, and the times at which they are reset.",
        options: [
            SignInOptions.accountOption,
            .init("base-url", "URL", "the server; default \(SignInOptions.defaultAddress)"),
            SignInOptions.storeOption,
        ] + SignInOptions.connectionOptions + [.init("json", "print a JSON object instead of text")],
        notes: [SignInOptions.fileNote, "When nobody is signed in, the exit code is 77."]
    )

    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Asks once.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let options = try SignInOptions(arguments, environment: self.environment)
        let address = try arguments.filledText("base-url").map { text throws(UsageError) in try BaseURL.read(text) }
        var configuration = options.configuration(of: options.account, try options.storedCredential())
        if let address { configuration.endpoint.baseURL = address }
        let client = Chappie.client(configuration: configuration)
        let usage = try await InterruptibleWork.run { try await client.usage() }
        try self.console.write(
            arguments.has("json")
                ? UsagePrinter.line(usage, account: options.account) : self.printer.text(usage))
        return .success
    }

    private var printer: UsagePrinter {
        UsagePrinter(
            style: self.console.outputStyle,
            width: self.console.terminals.output ? self.console.output.columnCount ?? 80 : nil,
            isUTF8: self.console.isUTF8, time: .current)
    }
}
