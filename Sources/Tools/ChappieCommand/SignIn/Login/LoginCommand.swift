// `chappie login`: signs a user in, with a code on another device or in a browser on this one.
import Chappie
import ChappieSignIn
import PlatformFoundation

/// Signs a user in, and stores the credential.
struct LoginCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "login",
        summary: "Signs a person in: shows a code to enter in a browser on any device, and waits.",
        options: [
            .init("browser", "sign in with a browser on this machine, which returns the result to this program"),
            .init("no-open", "print the address of the page instead of opening the browser"),
            SignInOptions.accountOption,
        ] + SignInOptions.serverOptions + [SignInOptions.storeOption] + SignInOptions.connectionOptions + [
            .init("json", "print one JSON object a line instead of text")
        ],
        notes: [
            "A client ID belongs to the program that is registered with the server; none is built in.",
            SignInOptions.fileNote,
            "--token-endpoint, with --issuer and --device-endpoint or --authorization-endpoint, is for any other server "
                + "that keeps to the standards. No token is printed, and none is an argument.",
        ]
    )

    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Signs in; Ctrl-C cancels it.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let options = try SignInOptions(arguments, environment: self.environment)
        let configuration = try options.configuration(signingInWith: self.environment)
        let session = Chappie.authSession(configuration: configuration)
        let timeout = configuration.signIn.callbackTimeout
        let usesBrowser = arguments.has("browser")
        if arguments.has("no-open"), !usesBrowser { throw UsageError("--no-open needs --browser") }
        if usesBrowser, configuration.signIn.server.authorization == nil {
            throw UsageError("--browser needs --authorization-endpoint URL at such a server")
        }
        if !usesBrowser, configuration.signIn.server.deviceGrant == nil {
            throw UsageError("a code needs --device-endpoint URL at such a server; --browser does without")
        }
        let opener = BrowserOpener(environment: arguments.has("no-open") ? [:] : self.environment)
        let printsJSON = arguments.has("json")
        do {
            let account = try await InterruptibleWork.run {
                usesBrowser
                    ? try await self.signInByBrowser(session, opener, timeout: timeout, printsJSON: printsJSON)
                    : try await self.signInByCode(session, printsJSON: printsJSON)
            }
            try self.console.write(printsJSON ? AccountPrinter.line(account) : self.words(for: account))
            return .success
        } catch let error as any LibraryError {
            if printsJSON { try self.console.write(Self.line(error)) }
            guard let error = error as? ChappieAuthError else { throw error }
            return self.report(error)
        }
    }

    private func signInByCode(_ session: ChappieAuthSession, printsJSON: Bool) async throws -> ChappieAccount {
        let signIn = try await session.startDeviceCodeSignIn()
        if printsJSON {
            try self.console.write(Self.line(signIn))
            return try await signIn.complete()
        }
        self.show(
            self.screen.deviceCode(
                signIn.userCode, page: signIn.verificationURL, completePage: signIn.completeVerificationURL,
                lifetime: signIn.lifetime))
        return try await self.counting(down: signIn.lifetime) { try await signIn.complete() }
    }

    /// Shows the remaining time on a terminal.
    private func counting(
        down lifetime: Duration, _ body: () async throws -> ChappieAccount
    ) async throws -> ChappieAccount {
        guard self.console.terminals.errorOutput else { return try await body() }
        let countdown = LoginCountdown(
            console: self.console, width: self.console.errorOutput.columnCount ?? 80, lifetime: lifetime)
        return try await countdown.run(body)
    }

    private func signInByBrowser(
        _ session: ChappieAuthSession, _ opener: BrowserOpener, timeout: Duration, printsJSON: Bool
    ) async throws -> ChappieAccount {
        let signIn = try await session.startBrowserSignIn()
        let page = signIn.authorizationURL
        let isOpened = opener.open(page.absoluteString)
        if printsJSON {
            var writer = JSONLineWriter()
            writer.add("type", "browser")
            writer.add("authorizationURL", page.absoluteString)
            writer.add("opened", isOpened)
            try self.console.write(writer.line)
            return try await signIn.complete()
        }
        self.show(self.screen.browser(page, isOpened: isOpened))
        return try await self.counting(down: timeout) { try await signIn.complete() }
    }

    private var screen: LoginScreen {
        LoginScreen(
            style: self.console.errorStyle,
            width: self.console.terminals.errorOutput ? self.console.errorOutput.columnCount : nil)
    }

    private func show(_ text: String) { try? self.console.errorOutput.write(text) }

    private func words(for account: ChappieAccount) -> String {
        let style = self.console.outputStyle
        let printer = AccountPrinter(style: style, time: .current, width: self.console.outputWidth)
        return style.green("Signed in.") + "\n" + printer.text(account)
    }

    /// Reports the reason for which the sign-in failed; a user who has pressed Ctrl-C needs no advice.
    private func report(_ error: ChappieAuthError) -> ExitCode {
        guard error == .cancelledSignIn else { return self.console.report(error, command: Self.syntax.name) }
        self.console.complain("the sign-in was cancelled")
        return ExitCode(error)
    }

    private static func line(_ signIn: ChappieDeviceCodeSignIn) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "deviceCode")
        writer.add("userCode", signIn.userCode)
        writer.add("verificationURL", signIn.verificationURL.absoluteString)
        writer.add("completeVerificationURL", signIn.completeVerificationURL?.absoluteString)
        writer.add("expiresIn", Int(signIn.lifetime.components.seconds))
        return writer.line
    }

    private static func line(_ error: any LibraryError) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "error")
        writer.add("tag", error.tag)
        writer.add("category", error.category.rawValue)
        writer.add("retryable", error.isRetryable)
        writer.add("safeDescription", error.safeDescription)
        writer.add("requiresReauthentication", (error as? ChappieAuthError)?.requiresReauthentication ?? false)
        return writer.line
    }
}
