// `chappie serve`: the test server, the fault proxy, or both, until a signal ends them.
import ChappieTestServer

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs the test server or the fault proxy on loopback.
struct ServeCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "serve",
        summary: "Runs a test server of the Responses API on 127.0.0.1, or a proxy in front of any server, that "
            + "misbehaves where it is told to.",
        options: [
            .init("port", "N", "the TCP port; default 0: any free one"),
            .init("recording", "FILE", "events to serve, one JSON object a line; several are served in turn"),
            .init(
                "scenario", "NAME|FILE", "what goes wrong: a built-in scenario, or a file with one as JSON",
                values: ChappieTestServer.builtInScenarios.map(\.name)),
            .init("upstream", "URL", "relay to this server instead: a URL (http, https, ws, wss) or HOST:PORT"),
            .init("fault", "SPEC", "what goes wrong on the way, at an exact byte; may be given several times"),
            .init("list-scenarios", "print the built-in scenarios by subject, and exit"),
            .init("rate", "N", "events a second; default unlimited"),
            .init("compress", "accept permessage-deflate, and gzip event streams"),
            .init("tls", "serve over TLS with a certificate made on the spot"),
            .init("ca-out", "FILE", "where the CA of that certificate is written; needs --tls"),
            .init("pending", "N|page", "how often a device polls in vain; page: until somebody agrees; default 1"),
            .init("token-lifetime", "N", "the seconds after which access tokens expire; default 3600"),
            .init("guard", "answer requests with this server's good access tokens alone"),
            .init("log", "print a JSON line on standard error for everything that happens"),
        ],
        notes: [
            "The first line of standard output is 'listening on' and the base URL. Without a recording, a built-in "
                + "scripted model answers, the same for the same seed.",
            "An authorization server is there as well, at the base URL without its path, and knows every client. "
                + "With --pending page, browsers are asked too, and devices on the page /codex/device.",
            "With --upstream, every connection is relayed to that server as it is, TLS included, and the URL's path "
                + "is part of the base URL. Of a scenario file, its 'proxy' member counts then. The server need not "
                + "be there yet; what becomes of each connection is in the --log. Without --upstream, faults strike "
                + "in front of the test server.",
        ],
        sections: [ServeFault.help]
    )

    /// The console for the output.
    let console: Console

    /// Serves until SIGINT or SIGTERM.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard !arguments.has("list-scenarios") else { return try self.listScenarios() }
        let options = try ServeOptions(arguments)
        var logLine: (@Sendable (String) -> Void)?
        if arguments.has("log") {
            let console = self.console
            logLine = { console.note($0) }
        }
        let authorityFile = try arguments.text("ca-out").map { path throws(UsageError) in try OutputFile(path: path) }
        let (signals, continuation) = AsyncStream.makeStream(of: Int.self)
        let watcher = SignalWatcher([SIGINT, SIGTERM]) { continuation.yield($0) }
        defer { withExtendedLifetime(watcher) {} }
        let service: ServeService
        do {
            service = try ServeService(options, logLine: logLine)
        } catch {
            return self.complain(error, port: options.configuration.port)
        }
        defer { service.stop() }
        try authorityFile?.finish(service.caPEM ?? "")
        try self.console.write("listening on \(service.baseURL)\n")
        for await _ in signals { break }
        return .success
    }

    private func complain(_ error: any Error, port: UInt16) -> ExitCode {
        switch error {
        case ChappieTestServer.StartError.cannotListen(let code), FaultProxy.StartError.cannotListen(let code):
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
