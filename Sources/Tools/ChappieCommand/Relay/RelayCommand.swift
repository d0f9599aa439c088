// `chappie relay`: a server in front of a server of models, whose answers outlive their readers and the process.
import Chappie
import ChappieRelay
import ChappieTransport
import PlatformC
import PlatformFoundation
import RelayHTTPServer
import RelayService

/// Runs a relay until SIGINT or SIGTERM; SIGHUP reads its keys again.
struct RelayCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "relay",
        summary:
            "Runs a server in front of a server of models: answers are journaled, read by any number of clients from "
            + "any position, and go on when a client or the process is gone.",
        options: [
            .init("port", "N", "the TCP port; default 8080, 0: any free one"),
            .init("listen", "ADDRESS", "the numeric address; default 127.0.0.1; another one needs --keys"),
            .init(
                "journal", "WHERE",
                "where answers are kept: a file for SQLite, redis://HOST:PORT or rediss:// for several machines, or "
                    + "'memory'; default chappie-relay.sqlite in this folder"),
            .init(
                "synchronous", "WHEN", "when the file is written to the disk: off, normal or full; default normal",
                values: ChappieSQLiteJournal.Synchronous.allCases.map(\.rawValue)),
            .init("retention", "S", "seconds for which an answer is kept behind its last event; default 3600"),
            .init(
                "lease", "S",
                "seconds after which another process takes the answers of one that is silent; default 6, 0.3 or more"),
            .init(
                "stop-without-readers", "S",
                "end an answer that no client has read for so many seconds, at least the lease; default never"),
            .init("keys", "FILE", "who may use it: a name and a key of 16 or more characters in each line"),
            .init("streams", "N", "answers that this process makes at a time; default 1000"),
            .init("streams-per-key", "N", "answers that are made at a time for one key; default 100, then 429"),
            .init(
                "allow-origin", "ORIGIN", "an origin whose pages may read answers, or '*'; may be given several times"),
            .init("certificate", "FILE", "the server's certificate chain (PEM); needs --certificate-key"),
            .init("certificate-key", "FILE", "the certificate's key (PEM)"),
            .init(
                "base-url", "URL",
                "the server of models, such as https://api.openai.com/v1; environment CHAPPIE_BASE_URL, then OPENAI_BASE_URL"
            ),
            EndpointOption.option,
            .init("api-key", "KEY", "its key; environment CHAPPIE_API_KEY, then OPENAI_API_KEY"),
            DialectOption.option,
            .init("model", "NAME", "the model of requests that name none; environment CHAPPIE_MODEL"),
            .init("http-only", "never open a WebSocket to the server of models"),
            .init(
                "on-divergence", "WHICH",
                "what follows when a repeated request is answered differently: fail, or restart; default fail",
                values: Divergence.allCases.map(\.rawValue)),
            .init("status-page", "show the running streams at GET /, to the holders of a key where there are keys"),
            .init("log", "log requests as JSON lines on standard error"),
        ],
        notes: [
            "The first line of standard output is 'listening on' and the base URL. Clients of the Responses API use it "
                + "as theirs, over HTTP or a WebSocket, whatever API the server of models has: POST /v1/responses, "
                + "GET /v1/responses/ID?stream=true&starting_after=N, POST /v1/responses/ID/cancel, DELETE "
                + "/v1/responses/ID; POST /v1/responses/compact where the server of models has it. Browsers read GET /streams/ID with an EventSource, which POST /streams begins.",
            "An answer goes on when its clients leave. Behind SIGTERM, answers that run are left to the next process "
                + "with the same journal; behind kill -9 it takes them when the lease is over. The key of the server of models "
                + "and the fields of requests with credentials are not journaled.",
            "With CHAPPIE_JOURNAL_KEY, 64 hexadecimal digits (openssl rand -hex 32), the journal is encrypted; several keys with "
                + "commas between are read, and the first one encrypts.",
            "An Idempotency-Key of a request names its answer: a second request with it gets the first one's. "
                + "GET /healthz, /readyz and /metrics (Prometheus) are for operation.",
        ]
    )

    /// The console for the output.
    let console: Console
    /// The environment variables.
    let environment: [String: String]

    /// Serves until a signal.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let upstream = try self.upstream(arguments)
        var configuration = try self.configuration(arguments)
        configuration.model =
            arguments.text("model") ?? self.environment["CHAPPIE_MODEL"].flatMap { $0.isEmpty ? nil : $0 }
        var settings = ChappieHubConfiguration()
        if let seconds = try arguments.integer("retention", in: 1...31_536_000) {
            settings.retention = .seconds(seconds)
        }
        if let count = try arguments.integer("streams", in: 1...100_000) { settings.streamLimit = count }
        if let seconds = try arguments.number("lease", in: 0.3...3600) { settings.lease = .seconds(seconds) }
        if let seconds = try arguments.number("stop-without-readers", in: 0.3...86_400) {
            settings.stopsWithoutReadersAfter = .seconds(seconds)
        }
        let end = EndSignal()
        let journal: any ChappieJournal
        do {
            journal = try self.journal(arguments)
        } catch let error as ChappieJournalError {
            self.console.complain("\(error)")
            return .unavailable
        }
        let hub = ChappieHub(
            configuration: settings, transport: ChappieStreamingTransport(configuration: upstream), journal: journal)
        let relay = Relay(hub, configuration)
        let port: UInt16
        do {
            port = try await relay.start()
        } catch let failure as HTTPServer.Failure {
            self.console.complain(Self.words(failure, configuration.server))
            return .unavailable
        }
        let hangUp = self.rereadsKeys(arguments, of: relay)
        let address =
            configuration.server.address.contains(":")
            ? "[\(configuration.server.address)]" : configuration.server.address
        try self.console.write(
            "listening on \(configuration.server.tls == nil ? "http" : "https")://\(address):\(port)/v1\n")
        await end.wait()
        await relay.stop(gracePeriod: .seconds(5))
        await journal.shutdown()
        withExtendedLifetime(hangUp) {}
        return .success
    }

    /// The engine's configuration for the server of models.
    private func upstream(_ arguments: ParsedArguments) throws -> ChappieTransportConfiguration {
        let known = try EndpointOption.read(arguments)
        let key = self.value(arguments.text("api-key"), EndpointOption.keyVariables(of: known))
        let address = arguments.text("base-url") ?? known?.baseURL.absoluteString ?? self.value(nil, BaseURL.variables)
        guard let address = address ?? (key == nil ? nil : BaseURL.byDefault) else {
            throw UsageError("there is no server of models: give --base-url or --endpoint, or a key of the environment")
        }
        var configuration = ChappieConfiguration(harness: .none)
        let url = try BaseURL.read(address)
        configuration.endpoint = known ?? .other(url)
        configuration.endpoint.baseURL = url
        configuration.endpoint.dialect = try DialectOption.read(arguments, environment: self.environment, of: known)
        if arguments.has("http-only") { configuration.streamingTransportPolicy = .httpSSEOnly }
        if try arguments.choice("on-divergence", of: Divergence.self) == .restart {
            configuration.streamingTransportPolicy.divergence = .restarts
        }
        let credential = key.map { ChappieCredential(bearerToken: $0) }
        configuration.credential = { _ in credential }
        configuration.rawEvents = .none
        return configuration.engine
    }

    private func value(_ option: String?, _ names: [String]) -> String? {
        option ?? names.lazy.compactMap { self.environment[$0] }.first { !$0.isEmpty }
    }

    private func configuration(_ arguments: ParsedArguments) throws -> RelayConfiguration {
        var configuration = RelayConfiguration()
        configuration.server.port = UInt16(try arguments.integer("port", in: 0...65535) ?? 8080)
        if let address = arguments.text("listen") { configuration.server.address = address }
        configuration.keys = try Self.keys(arguments)
        let isLocal = configuration.server.address.hasPrefix("127.") || configuration.server.address == "::1"
        guard isLocal || configuration.keys != nil else {
            throw UsageError("--listen with an address that others reach needs --keys")
        }
        if let count = try arguments.integer("streams-per-key", in: 1...100_000) { configuration.streamsPerKey = count }
        configuration.allowedOrigins = arguments.texts("allow-origin")
        switch (arguments.text("certificate"), arguments.text("certificate-key")) {
        case (let chain?, let key?): configuration.server.tls = .init(certificateChain: chain, privateKey: key)
        case (nil, nil): break
        default: throw UsageError("--certificate and --certificate-key need each other")
        }
        configuration.showsStatus = arguments.has("status-page")
        if arguments.has("log") {
            let console = self.console
            configuration.logLine = { console.note($0) }
        }
        return configuration
    }

    private static func keys(_ arguments: ParsedArguments) throws -> RelayKeys? {
        guard let path = arguments.text("keys") else { return nil }
        let text = String(decoding: try DescriptorReader.bytes(ofFile: path), as: UTF8.self)
        do {
            return try RelayKeys(text)
        } catch {
            throw UsageError("\(path): \(self.words(error))")
        }
    }

    private static func words(_ failure: RelayKeys.Failure) -> String {
        switch failure {
        case .empty: "there is no key in it"
        case .noKey(let line): "line \(line) is not a name and a key"
        case .shortKey(let line): "the key in line \(line) has fewer than 16 characters"
        case .repeatedKey(let line): "the key in line \(line) was there before"
        }
    }

    private func journal(_ arguments: ParsedArguments) throws -> any ChappieJournal {
        let journal = try Self.journal(arguments)
        guard let text = self.environment[Self.keyVariable], !text.isEmpty else { return journal }
        guard let keys = ChappieSealedJournal.keys(of: text) else {
            throw UsageError(
                "\(Self.keyVariable) is not 64 hexadecimal digits, or several such keys with commas between")
        }
        return try ChappieSealedJournal(journal, keys: keys)
    }

    private static let keyVariable = "CHAPPIE_JOURNAL_KEY"

    private static func journal(_ arguments: ParsedArguments) throws -> any ChappieJournal {
        let place = arguments.text("journal") ?? "chappie-relay.sqlite"
        if place == "memory" { return ChappieMemoryJournal() }
        if place.hasPrefix("redis") && place.contains("://") {
            do {
                return try ChappieRedisJournal(url: place)
            } catch let error as ChappieArgumentError {
                throw UsageError("option --journal: \(error)")
            }
        }
        let synchronous: ChappieSQLiteJournal.Synchronous? = try arguments.choice("synchronous")
        return try ChappieSQLiteJournal(path: place, synchronous: synchronous ?? .normal)
    }

    private static func words(_ failure: HTTPServer.Failure, _ server: HTTPServerConfiguration) -> String {
        switch failure {
        case .invalidAddress(let address): "'\(address)' is not a numeric address"
        case .cannotListen(let code):
            "cannot listen on \(server.address) port \(server.port): \(DescriptorError.failed(code: code).message)"
        case .invalidCertificate: "the certificate or its key cannot be used"
        case .resourcesExhausted: "there is no memory, or there are no descriptors, for a server"
        }
    }

    /// Reads the keys again at SIGHUP; a file that cannot be used changes nothing.
    private func rereadsKeys(_ arguments: ParsedArguments, of relay: Relay) -> SignalWatcher {
        let console = self.console
        return SignalWatcher([SIGHUP]) { _ in
            do {
                if let keys = try Self.keys(arguments) { relay.replaceKeys(keys) }
            } catch {
                console.complain("the keys stay as they were: \(error)")
            }
        }
    }
}
