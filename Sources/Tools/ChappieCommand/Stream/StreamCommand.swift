// `chappie stream`: one turn, printed as it arrives.
import Chappie
import ChappieSignIn
import ChappieTestServer
import Dispatch
import PlatformC
import PlatformFoundation

/// The error of a stream without a key, an account and an address, or without the key of a known server.
struct NoServerError: Error {
    /// The environment variable of the known server's key; nil without such a server.
    var keyVariable: String?

    /// The problem, and the advice.
    var message: String {
        if let keyVariable { return "there is no key for this server: set \(keyVariable), or give --api-key" }
        return
            "there is no key and no account: set OPENAI_API_KEY or CHAPPIE_API_KEY, sign in by 'chappie login', or name a "
            + "server that needs none by CHAPPIE_BASE_URL, --base-url or --endpoint; --demo streams made-up text"
    }
}

/// Streams one turn.
struct StreamCommand {
    /// The console for the output.
    let console: Console
    /// The process's environment.
    let environment: [String: String]

    /// Streams to the end of the turn; throws what prevents the stream from beginning.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        var options = try StreamOptions(
            arguments, environment: self.environment, pipesInput: isatty(STDIN_FILENO) == 0)
        let reportFile = try options.reportPath.map { path throws(UsageError) in try OutputFile(path: path) }
        if options.prompt != .argument {
            let prompt = try DescriptorReader.standardInput.readToEnd()
            // A program that is started by another one may have no input, which is no prompt.
            if prompt.isEmpty, options.prompt == .pipe { throw StreamOptions.noPrompt }
            options.request.messages = [.user(String(decoding: prompt, as: UTF8.self))]
        }
        if let variable = options.missingKey { throw NoServerError(keyVariable: variable) }
        let account = try self.account(arguments, options)
        let server = options.endpoint == .embedded ? try ChappieTestServer() : nil
        defer { server?.stop() }
        if server != nil { self.console.note("This is the embedded server: its text is made up.") }
        let patience = OutputPatience(limit: options.timeLimit)
        let screen = StreamScreen(
            console: self.console.waiting { patience.error },
            question: TerminalQuestion(environment: self.environment) { patience.error })
        let settings: ChappieConfiguration
        if let account {
            settings = options.configuration(account: account)
        } else if let url = server?.url ?? options.url {
            settings = options.configuration(baseURL: url)
        } else {
            throw NoServerError()
        }
        let client = Chappie.client(configuration: self.configuration(options, screen, settings))
        let handle = client.streamHandle(options.request)
        let proof: StreamFailure.Proof = account != nil ? .account : options.credential != nil ? .key : .none
        let status = await self.read(
            handle,
            StreamReading(screen: screen, printer: self.printer(options), proof: proof, dialect: options.dialect),
            patience)
        do {
            try reportFile?.finish(report: handle.report)
        } catch {
            // The output has its last line.
            return self.console.report(error, command: Self.syntax.name)
        }
        return status
    }

    /// Returns the account that is named, or the one that is signed in where there is neither a key nor an address: a
    /// token must not go to a server that it was not meant for.
    private func account(_ arguments: ParsedArguments, _ options: StreamOptions) throws -> ChappieConfiguration? {
        guard arguments.has("account") || options.endpoint == .account else { return nil }
        return try SignInOptions.account(arguments, environment: self.environment)
    }

    private func configuration(
        _ options: StreamOptions, _ screen: StreamScreen, _ settings: ChappieConfiguration
    ) -> ChappieConfiguration {
        var configuration = settings
        let approval = options.approval ?? (self.console.terminals.errorOutput ? .ask : .never)
        let environment = ChildEnvironment.forTools(self.environment)
        configuration.tools = options.tools.map { tool in
            tool.hostTool(
                approval, in: .init(environment: environment, errorLine: screen.errorLine(of: tool.name)))
        }
        let question = screen.question
        configuration.toolApprovalHandler = { request in
            await question.ask(callID: request.callID, tool: request.name, arguments: request.arguments).approval
        }
        return configuration
    }

    private func printer(_ options: StreamOptions) -> any StreamPrinter {
        options.printsJSON
            ? StreamJSONPrinter()
            : StreamTextPrinter(
                terminals: self.console.terminals, style: self.console.errorStyle, width: self.console.errorWidth,
                size: { [output = self.console.output] in output.size })
    }

    /// Reads the stream to its end and prints it; SIGINT cancels it, a second one ends the process.
    ///
    /// So does SIGTERM: commands that run for tools are in groups of their own, and would not be ended otherwise.
    private func read(
        _ handle: ChappieStreamHandle, _ reading: StreamReading, _ patience: OutputPatience
    ) async -> ExitCode {
        let watcher = SignalWatcher(interrupting: patience) { handle.cancel() }
        var reading = reading
        let status = await reading.readToEnd(handle, wasInterrupted: { patience.isInterrupted })
        withExtendedLifetime(watcher) {}
        return status
    }
}
