// `chappie serve`: the test server, the fault proxy, or both, until a signal ends them.
import ChappieTestServer
import PlatformC

/// Runs the test server or the fault proxy on loopback.
struct ServeCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "serve",
        summary: "Runs a test server on 127.0.0.1, of the Responses API, Chat Completions and Messages at once, or a "
            + "proxy in front of any server, and injects faults.",
        options: [
            .init("port", "N", "the TCP port; default 0: any free one"),
            .init("recording", "FILE", "events to serve, one JSON object a line; several are served in turn"),
            .init("text", "FILE", "answer every request with the text of this file, without reasoning and calls"),
            .init(
                "scenario", "NAME|FILE", "the faults and expectations: a built-in scenario, or a file with one as JSON",
                values: ChappieTestServer.builtInScenarios.map(\.name)),
            .init("upstream", "URL", "relay to this server instead: a URL (http, https, ws, wss) or HOST:PORT"),
            .init("fault", "SPEC", "a fault of the connection, at an exact byte; may be given several times"),
            .init("list-scenarios", "print the built-in scenarios by subject, and exit"),
            .init("rate", "N", "events a second; default unlimited"),
            .init("compress", "accept permessage-deflate, and gzip event streams"),
            .init("tls", "serve over TLS with a certificate that is generated at the start"),
            .init("ca-out", "FILE", "where the CA of that certificate is written; needs --tls"),
            .init("pending", "N|page", "polls of a device before its sign-in; page: until a person agrees; default 1"),
            .init("token-lifetime", "N", "the seconds after which access tokens expire; default 3600"),
            .init("guard", "refuse requests without a valid access token of this server"),
            .init("probe", "run a probe server instead: the far end of 'chappie doctor'"),
            .init("listen", "ADDRESS", "the numeric address of the probe server; default 127.0.0.1; needs --probe"),
            .init("log", "log as JSON lines on standard error"),
        ],
        notes: [
            "The first line of standard output is 'listening on' and the base URL. Without a recording or a "
                + "text, a built-in scripted model answers, the same for the same seed; a request for JSON (text.format) "
                + "with JSON that fits its schema.",
            "An authorization server is there as well, at the base URL without its path, and knows every client. "
                + "With --pending page, browsers are asked too, and devices on the page /codex/device.",
            "With --upstream, every connection is relayed to that server as it is, TLS included, and the URL's path "
                + "is part of the base URL. Of a scenario file, its 'proxy' member counts then. The server may "
                + "start later; --log has the end of each connection. Without --upstream, the faults are those of a "
                + "proxy in front of the test server.",
            "With --probe, no API is served: messages of WebSockets come back, event streams are sent at a pace, and "
                + "answers come after a silence, all within fixed limits. It sends data to the client of a connection, "
                + "and to no other machine. With --listen it can be reached from other machines.",
        ],
        sections: [ServeFault.help]
    )

    /// The console for the output.
    let console: Console

    /// Serves until SIGINT or SIGTERM.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard !arguments.has("list-scenarios") else { return try self.listScenarios() }
        if arguments.has("probe") { return try await self.probe(arguments) }
        if arguments.has("listen") { throw UsageError("option --listen needs --probe") }
        let options = try ServeOptions(arguments)
        var logLine: (@Sendable (String) -> Void)?
        if arguments.has("log") {
            let console = self.console
            logLine = { console.note($0) }
        }
        let authorityFile = try arguments.text("ca-out").map { path throws(UsageError) in try OutputFile(path: path) }
        let end = EndSignal()
        let service: ServeService
        do {
            service = try ServeService(options, logLine: logLine)
        } catch {
            return try self.complain(error, port: options.configuration.port)
        }
        defer { service.stop() }
        try authorityFile?.finish(service.caPEM ?? "")
        try self.console.write("listening on \(service.baseURL)\n")
        await end.wait()
        return .success
    }

    /// Runs the probe server.
    private func probe(_ arguments: ParsedArguments) async throws -> ExitCode {
        var configuration = try ProbeOptions(arguments).configuration
        if arguments.has("log") {
            let console = self.console
            configuration.logLine = { console.note($0) }
        }
        let authorityFile = try arguments.text("ca-out").map { path throws(UsageError) in try OutputFile(path: path) }
        let end = EndSignal()
        let server: ProbeServer
        do {
            server = try ProbeServer(configuration: configuration)
        } catch {
            return try self.complain(error, port: configuration.port)
        }
        defer { server.stop() }
        try authorityFile?.finish(server.caPEM ?? "")
        try self.console.write("listening on \(server.baseURL)\n")
        await end.wait()
        return .success
    }

    private func complain(_ error: any Error, port: UInt16) throws -> ExitCode {
        if let shortage = ResourceShortage(error) { throw shortage }
        switch error {
        case ChappieTestServer.StartError.cannotListen(let code):
            let reason = DescriptorError.failed(code: code).message
            self.console.complain("cannot listen on port \(port): \(reason)")
        case ChappieTestServer.StartError.noCertificate: self.console.complain("cannot make a certificate")
        default: self.console.complain("cannot start the server")
        }
        return .unavailable
    }

    private func listScenarios() throws -> ExitCode {
        let families = ChappieTestServer.builtInScenarioFamilies
        try self.console.write(ScenarioList.text(of: families, style: self.console.outputStyle))
        return .success
    }
}

/// The signals that end a server, which are awaited from the creation on.
struct EndSignal {
    private let signals: AsyncStream<Int>
    private let watcher: SignalWatcher

    /// Watches SIGINT and SIGTERM.
    init() {
        let (signals, continuation) = AsyncStream.makeStream(of: Int.self)
        self.signals = signals
        self.watcher = SignalWatcher([SIGINT, SIGTERM]) { continuation.yield($0) }
    }

    /// Waits for the first signal.
    func wait() async {
        for await _ in self.signals { break }
        withExtendedLifetime(self.watcher) {}
    }
}
