// `chappie logout`: removes accounts, and has their tokens revoked.
import Chappie
import ChappieSignIn

/// Signs accounts out.
struct LogoutCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "logout",
        summary: "Revokes the tokens of an account at the server, if it can be reached, and deletes them.",
        options: [SignInOptions.accountOption, .init("all", "sign out of every account"), SignInOptions.storeOption]
            + SignInOptions.connectionOptions,
        notes: [SignInOptions.fileNote]
    )

    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Signs out; an account that is not signed in is not an error.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let options = try SignInOptions(arguments, environment: self.environment)
        guard arguments.has("all") else {
            try await self.signOut(options.account, options)
            return .success
        }
        var status = ExitCode.success
        for account in try options.storage.accounts() {
            do {
                try await self.signOut(account, options)
            } catch {
                let code = self.console.report(error, command: Self.syntax.name)
                guard code != .interrupted else { return code }
                if status == .success { status = code }
            }
        }
        return status
    }

    private func signOut(_ account: String, _ options: SignInOptions) async throws {
        guard let stored = try options.storage.credential(of: account) else {
            self.console.note("Nobody was signed in as \(account.onOneLine(limit: 200)).")
            return
        }
        let session = Chappie.authSession(configuration: options.configuration(of: account, stored))
        let result = try await InterruptibleWork.run { try await session.signOutWithResult() }
        self.console.note("Signed out: \(account.onOneLine(limit: 200)).\(Self.words(about: result))")
    }

    private static func words(about result: RevocationResult) -> String {
        let rest = " The tokens are deleted here, and may be valid there until they end."
        return switch result {
        case .revoked: ""
        case .unanswered: " The server did not answer the revocation." + rest
        case .refused(let statusCode): " The server refused the revocation (status code \(statusCode))." + rest
        case .notAsked: " The server was not asked to revoke the tokens." + rest
        }
    }
}
